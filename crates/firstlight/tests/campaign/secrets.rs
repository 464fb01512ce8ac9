//! Secrets in variables, arguments, output and files of the suite.

use std::fs;
use std::path::Path;

use super::random::Random;
use super::stage::{Place, Stage, expect};
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

const SUITE: &str = "name = \"s\"\nregimes = [\"cold-clean\"]\n[comparison]\nverdicts = false\n\
                     [[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\n";

pub(super) fn secrets(stage: &Stage<'_>, size: Size) -> Row {
    stage.cases(size.secrets, |number, random| {
        let place = stage.place();
        let secret = format!("planted-{number}-{:x}", random.next());
        if random.below(3) == 0 {
            return in_suite(&place, stage, random, &secret);
        }
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

/// A suite that contains a secret is rejected, and the secret is not repeated.
fn in_suite(
    place: &Place<'_>,
    stage: &Stage<'_>,
    random: &mut Random,
    secret: &str,
) -> Result<(), String> {
    let (option, name) =
        (random.pick(&OPTIONS), random.pick(&["HF_TOKEN", "MY_SECRET", "API_KEY"]));
    let arm = match random.below(4) {
        0 => format!("process = [\"true\", \"{option}\", \"{secret}\"]\n"),
        1 => format!("process = [\"sh\", \"-c\", \"true {option} {secret}\"]\n"),
        2 => format!("process = [\"true\", \"{option}={secret}\"]\n"),
        _ => format!("process = [\"true\"]\nvariables = {{ {name} = \"{secret}\" }}\n"),
    };
    let folder = place.path().join("suite");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    fs::write(folder.join("suite.toml"), format!("{SUITE}{arm}")).map_err(|e| e.to_string())?;
    let mut command = place.command(&stage.programs.firstlight);
    let ended = place.end(command.args(["run", "suite", "--processes", "2", "--output", "run"]))?;
    expect(&ended, &[2])?;
    if ended.text.contains(secret) || place.path().join("run").exists() {
        return Err(format!("{arm}: the secret was not kept"));
    }
    Ok(())
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
