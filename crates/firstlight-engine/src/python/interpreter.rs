//! An interpreter and its self-description.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::resolve::resolve;
use crate::EngineError;
use crate::helper::{self, ANSWER};

const QUESTIONS: &str = r#"
import importlib.metadata as m, json, platform, sys, sysconfig
names = ((d.metadata["Name"], d.version) for d in m.distributions())
print(json.dumps({
    "executable": sys.executable,
    "version": list(sys.version_info[:3]),
    "runtime": sys.implementation.name + " " + platform.python_version(),
    "folders": sorted({sysconfig.get_path(p) for p in ("stdlib", "platstdlib", "purelib", "platlib")}),
    "packages": {n: v for n, v in names if n and v},
}))
"#;

/// The self-description of an interpreter.
#[derive(Clone, Debug, Deserialize)]
pub struct Interpreter {
    pub executable: PathBuf,
    pub version: (u32, u32, u32),
    pub runtime: String,
    /// The folders of its modules.
    pub folders: Vec<PathBuf>,
    /// Distributions installed for it.
    pub packages: BTreeMap<String, String>,
}

impl Interpreter {
    /// The one given, or the first `python3` or `python` on the path.
    pub fn find(given: Option<&Path>) -> Result<Self, EngineError> {
        let resolved = match given {
            Some(path) => resolve(&path.to_string_lossy())?,
            None => resolve("python3").or_else(|_| resolve("python"))?,
        };
        Self::ask(&resolved.program)
    }

    pub fn ask(path: &Path) -> Result<Self, EngineError> {
        let unusable = |reason: String| EngineError::NoPython { path: path.to_owned(), reason };
        let output = helper::output(Command::new(path).args(["-I", "-c", QUESTIONS]), ANSWER)
            .map_err(|error| helper::failure(&error, unusable))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(unusable(words.trim().lines().last().unwrap_or("it failed").to_owned()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| unusable(format!("its answer is not valid JSON: {error}")))
    }

    /// Refuses an interpreter older than a suite needs.
    pub fn at_least(self, needed: Option<&str>) -> Result<Self, EngineError> {
        let Some(needed) = needed else { return Ok(self) };
        let mut parts = needed.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let wanted =
            (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if self.version >= wanted {
            return Ok(self);
        }
        let (major, minor, patch) = self.version;
        Err(EngineError::OldPython {
            path: self.executable,
            needed: needed.to_owned(),
            found: format!("{major}.{minor}.{patch}"),
        })
    }
}
