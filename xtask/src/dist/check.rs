//! The checks of every published file.

use std::path::Path;
use std::process::Command;

use super::{committed, is_wheel, name, size};
use crate::python::real_interpreter;
use crate::shell::{Result, output, step};
use crate::wheel;

const LARGEST_WHEEL: u64 = 8 << 20;
const AUDITWHEEL: &str = "auditwheel==6.8.2";
const CLEAN: &str = include_str!("clean.py");

/// Removes what differs from machine to machine, and fails if a path of this machine is left.
pub(super) fn clean(path: &Path, paths: &[(String, &str)]) -> Result {
    let mut python = Command::new(real_interpreter()?);
    python.args(["-c", CLEAN, &committed()?]).arg(path);
    python.args(paths.iter().rev().map(|(path, name)| format!("{path}={name}")));
    step(&format!("paths in {}", name(path)), &mut python)
}

/// The size of a wheel, and the oldest system that it runs on. Other files have no policy.
pub(super) fn policy(path: &Path) -> Result<Option<String>> {
    if !is_wheel(&path) {
        return Ok(None);
    }
    let bytes = size(path)?;
    if bytes > LARGEST_WHEEL {
        return Err(format!("{}: {bytes} bytes, limit {LARGEST_WHEEL}", name(path)));
    }
    let mut audit = wheel::uv(&["tool", "run", AUDITWHEEL, "show"]);
    let words = output(audit.arg(path))?;
    if !words.contains("\"manylinux_2_17_") {
        return Err(format!("{} does not run on glibc 2.17:\n{words}", name(path)));
    }
    Ok(Some(words.trim().to_owned()))
}
