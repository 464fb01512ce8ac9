//! Secrets in variables, arguments, output and files of the suite.

use std::fs;
use std::path::Path;

use super::stage::{Stage, expect};
use super::{Row, Size};

const NAMES: [&str; 8] = [
    "TORCH_HUB_CREDS",
    "JAX_COORDINATOR_ADDRESS",
    "CUDA_API_KEY",
    "XLA_TOKEN",
    "OMP_SECRET",
    "NUMBA_THING",
    "AWS_SECRET_ACCESS_KEY",
    "HF_TOKEN",
];
const OPTIONS: [&str; 6] =
    ["--token", "--api-key", "--password", "--auth-token", "--client-secret", "--hf_token"];

pub(super) fn secrets(stage: &Stage<'_>, size: Size) -> Row {
    stage.cases(size.secrets, |number, random| {
        let place = stage.place();
        let secret = format!("planted-{number}-{:x}", random.next());
        let mut command = place.command(&stage.programs.firstlight);
        command.env(random.pick(&NAMES), &secret);
        command.args([
            "cold",
            "--runs",
            "1",
            "--output",
            "run",
            "--",
            "sh",
            "-c",
            "echo \"$2\"",
            "sh",
        ]);
        let option = random.pick(&OPTIONS);
        match random.below(2) {
            0 => command.args([option, &secret]),
            _ => command.arg(format!("{option}={secret}")),
        };
        expect(&place.end(&mut command)?, &[0])?;
        match holder(&place.path().join("run"), &secret) {
            None => Ok(()),
            Some(file) => Err(format!("{option}: the secret is in {file}")),
        }
    })
}

fn holder(folder: &Path, secret: &str) -> Option<String> {
    fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return holder(&path, secret);
        }
        let content = fs::read(&path).unwrap_or_default();
        let found = String::from_utf8_lossy(&content).contains(secret);
        found.then(|| path.display().to_string())
    })
}
