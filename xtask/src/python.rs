//! The Python environments of the tests, each created from its lock file once per content.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Result, output, root, step};
use crate::wheel;

/// The packages of all tests, with the oldest supported frameworks.
pub const OLDEST: Lane = Lane { lock: "python/requirements-dev.lock", folder: "python-tests" };
/// The newest supported frameworks, for the tests of the adapters.
pub const NEWEST: Lane = Lane { lock: "python/requirements-newest.lock", folder: "python-newest" };
/// The Python of all other tests.
pub const OLDEST_PYTHON: &str = "3.11";
/// The Python of the newest frameworks.
pub const NEWEST_PYTHON: &str = "3.13";
/// PyTorch, for the tests of its adapter and of histfactory.
pub const TORCH: Lane = Lane { lock: "python/requirements-torch.lock", folder: "python-torch" };

/// The compiler of the CUDA kernels.
const KERNELS: Lane =
    Lane { lock: "crates/histfactory-cuda/kernels/requirements.lock", folder: "python-kernels" };

/// An environment and the file that pins its packages.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    pub lock: &'static str,
    /// Below `target`.
    folder: &'static str,
}

/// The interpreter of the environment for all tests.
pub fn environment() -> Result<PathBuf> {
    let found = wheel::interpreter(OLDEST_PYTHON).map(|path| path.display().to_string());
    OLDEST.made_with(&found.map_or_else(real_interpreter, Ok)?)
}

/// The interpreter of the environment with the newest frameworks; uv fetches a Python where there is none.
pub fn newest() -> Result<PathBuf> {
    wheel::provide_uv()?;
    let found = wheel::interpreter(NEWEST_PYTHON).map(|path| path.display().to_string());
    NEWEST.made_with(found.as_deref().unwrap_or(NEWEST_PYTHON))
}

/// The interpreter of the environment that compiles the CUDA kernels.
pub fn kernels() -> Result<PathBuf> {
    KERNELS.made_with(&real_interpreter()?)
}

impl Lane {
    /// The interpreter of the environment, which is created if necessary.
    pub fn made_with(self, interpreter: &str) -> Result<PathBuf> {
        let folder = root().join("target").join(self.folder);
        let python = folder.join("bin/python");
        let lock = root().join(self.lock);
        let pinned = fs::read(&lock).map_err(|error| format!("{}: {error}", self.lock))?;
        let record = folder.join("installed.lock");
        if fs::read(&record).is_ok_and(|installed| installed == pinned) && python.exists() {
            return Ok(python);
        }
        let _ = fs::remove_dir_all(&folder);
        make(&folder, &python, interpreter, &lock)?;
        fs::write(&record, pinned).map_err(|error| format!("{}: {error}", record.display()))?;
        Ok(python)
    }
}

/// A version manager's shim may be in front of the interpreter; the interpreter itself must create a virtual
/// environment.
pub fn real_interpreter() -> Result<String> {
    let real = output(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
    Ok(real.trim().to_owned())
}

fn make(folder: &Path, python: &Path, real: &str, lock: &Path) -> Result {
    if wheel::has_uv() {
        step(
            "a Python environment (uv)",
            wheel::uv(&["venv", "--quiet", "--python", real]).arg(folder),
        )?;
        let mut install = wheel::uv(&["pip", "install", "--quiet", "--python"]);
        step("its packages (uv)", install.arg(python).arg("--requirement").arg(lock))
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
