//! Lays the embedded Python side out on disk, once per content, where any interpreter finds it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use firstlight_schema::variables;
use sha2::{Digest, Sha256};

use super::embedded::{PYTHON, unpack};
use crate::EngineError;
use crate::store::hex;

/// The folder that goes in front of `PYTHONPATH`.
#[derive(Clone, Debug)]
pub struct Hooks {
    folder: PathBuf,
}

impl Hooks {
    /// Writes the files below the cache folder unless the same ones are there already.
    pub fn lay_out(cache: &Path) -> Result<Self, EngineError> {
        let parent = cache.join("python");
        let folder = parent.join(digest());
        if !folder.is_dir() {
            fs::create_dir_all(&parent).map_err(EngineError::file("make", &parent))?;
            let fresh =
                tempfile::tempdir_in(&parent).map_err(EngineError::file("write to", &parent))?;
            unpack(PYTHON, fresh.path())?;
            let fresh = fresh.keep();
            // Another firstlight may have been faster; then its files are as good as ours.
            if fs::rename(&fresh, &folder).is_err() {
                let _ = fs::remove_dir_all(&fresh);
            }
        }
        Ok(Self { folder })
    }

    /// Has the interpreter compile the hooks now, so that no measured process does. A program that
    /// is no interpreter is left alone: the first process it starts will write the byte code.
    pub fn compile_for(&self, program: &Path) {
        let python =
            program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
        if python {
            let _ = Command::new(program)
                .args([
                    "-I",
                    "-c",
                    "import compileall, sys; compileall.compile_dir(sys.argv[1], quiet=2)",
                ])
                .arg(&self.folder)
                .env_remove("PYTHONPYCACHEPREFIX")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }

    /// The folder in which `firstlight` lies, for whoever imports it without the hooks.
    pub(crate) fn package(&self) -> PathBuf {
        self.folder.join("package")
    }

    /// The settings with which a process loads the hooks and then forgets them. A process without
    /// a descriptor to report to loads none, and can import `firstlight` all the same.
    pub fn variables(&self) -> Vec<(OsString, Option<OsString>)> {
        let original = std::env::var_os(variables::PYTHONPATH);
        let mut path = self.folder.join("bootstrap").into_os_string();
        if let Some(original) = &original {
            path.push(":");
            path.push(original);
        }
        vec![
            (variables::PYTHONPATH.into(), Some(path)),
            (variables::ORIGINAL_PYTHONPATH.into(), original),
            (variables::PARENT.into(), Some(std::process::id().to_string().into())),
        ]
    }
}

fn digest() -> String {
    let mut hash = Sha256::new();
    for (name, content) in PYTHON {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(content);
        hash.update([0]);
    }
    hex(&hash.finalize()[..8])
}
