//! Lays the embedded Python side out on disk, once per content, where any interpreter finds it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use firstlight_schema::variables;
use sha2::{Digest, Sha256};

use super::embedded::{PYTHON, lay_out};
use crate::EngineError;
use crate::folders::own_folder;
use crate::helper::{self, ANSWER};
use crate::store::hex;

/// The folder that goes in front of `PYTHONPATH`.
#[derive(Clone, Debug)]
pub struct Hooks {
    folder: PathBuf,
}

impl Hooks {
    /// Writes the files below the cache folder unless identical ones exist.
    pub fn lay_out(cache: &Path) -> Result<Self, EngineError> {
        own_folder(cache)?;
        let folder = cache.join("python").join(digest());
        lay_out(PYTHON, &folder)?;
        Ok(Self { folder })
    }

    /// Has the interpreter compile the hooks now, so that no measured process does. A program that is not an
    /// interpreter is skipped; the first process that it starts writes the byte code.
    pub fn compile_for(&self, program: &Path) {
        let python =
            program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
        if python {
            let mut bundle = Command::new(program);
            bundle.arg("-I").arg(self.folder.join("bootstrap/bundle.py"));
            let _ = helper::output(bundle.env_remove("PYTHONPYCACHEPREFIX"), ANSWER);
        }
    }

    /// The folder of the package `firstlight`, for processes that import it without the hooks.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::python::resolve;

    #[test]
    fn compiled_hooks_lie_in_one_file_and_load_from_it() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let hooks = Hooks::lay_out(cache.path()).expect("an empty folder takes the files");
        let python = resolve("python3").expect("the tests need Python").program;
        hooks.compile_for(&python);
        let bundle = |entry: &fs::DirEntry| {
            entry.file_name().to_string_lossy().starts_with("bundle.cpython")
        };
        let files = fs::read_dir(hooks.folder.join("bootstrap")).expect("it was laid out");
        assert_eq!(files.flatten().filter(bundle).count(), 1);

        let printed = Command::new(&python)
            .args(["-c", "import firstlight; print(firstlight.__spec__.loader)"])
            .envs(hooks.variables().into_iter().filter_map(|(name, value)| Some((name, value?))))
            .output()
            .expect("Python starts");
        assert_eq!(String::from_utf8_lossy(&printed.stdout).trim(), "None", "{printed:?}");
    }
}
