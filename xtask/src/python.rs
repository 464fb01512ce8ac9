//! The Python environment of the tests, made from its lock file once per content.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Result, exists, output, root, step};

const LOCK: &str = "python/requirements-dev.lock";

/// The interpreter of the environment, which is made if need be.
pub(crate) fn environment() -> Result<PathBuf> {
    let folder = root().join("target/python-tests");
    let python = folder.join("bin/python");
    let lock = fs::read(root().join(LOCK)).map_err(|error| format!("{LOCK}: {error}"))?;
    let record = folder.join("installed.lock");
    if fs::read(&record).is_ok_and(|installed| installed == lock) && python.exists() {
        return Ok(python);
    }
    let _ = fs::remove_dir_all(&folder);
    make(&folder, &python)?;
    fs::write(&record, lock).map_err(|error| format!("{}: {error}", record.display()))?;
    Ok(python)
}

/// A version manager's shim may stand in front of the interpreter; a virtual environment must be made
/// by the interpreter itself.
pub(crate) fn real_interpreter() -> Result<String> {
    let real = output(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
    Ok(real.trim().to_owned())
}

fn make(folder: &Path, python: &Path) -> Result {
    let real = real_interpreter()?;
    let real = real.as_str();
    let lock = root().join(LOCK);
    if exists("uv") {
        step(
            "a Python environment (uv)",
            Command::new("uv").args(["venv", "--quiet", "--python", real]).arg(folder),
        )?;
        let mut install = Command::new("uv");
        install
            .args(["pip", "install", "--quiet", "--python"])
            .arg(python)
            .arg("--requirement")
            .arg(lock);
        step("its packages (uv)", &mut install)
    } else {
        step("a Python environment (venv)", Command::new(real).args(["-m", "venv"]).arg(folder))?;
        let mut install = Command::new(python);
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ]);
        step("its packages (pip)", install.arg(lock))
    }
}
