//! Where runs are kept: raw readings as they are taken, then the document made of them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::{self, RunDocument};
use firstlight_schema::snapshot::RAW;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::EngineError;
use crate::clock::utc;
use crate::snapshot::{Shape, check_version, read_document, with_notice};

pub use crate::clock::utc as now_utc;
pub use crate::folders::{cache_folder, runs_folder};
use crate::writing::write_streamed;
pub use crate::writing::{copy_whole, is_replaceable, write_bytes, write_changed, write_whole};

const RESULT: &str = "result.json";

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    raw: File,
}

impl RunFolder {
    /// Makes a new folder below `parent`, or uses `exact` if it is given and empty or new.
    pub fn create(parent: &Path, name: &str, exact: Option<&Path>) -> Result<Self, EngineError> {
        let path = match exact {
            Some(path) => path.to_owned(),
            None => unused(parent, name),
        };
        Self::check_new(&path)?;
        fs::create_dir_all(&path).map_err(EngineError::file("make", &path))?;
        let raw_path = path.join(RAW);
        let raw = File::options()
            .append(true)
            .create_new(true)
            .open(&raw_path)
            .map_err(EngineError::file("start", &raw_path))?;
        Ok(Self { path, raw })
    }

    /// An error if a new run cannot begin in this folder.
    pub fn check_new(path: &Path) -> Result<(), EngineError> {
        if path.join(RAW).exists() {
            return Err(EngineError::HoldsRun { path: path.to_owned() });
        }
        Ok(())
    }

    /// Opens the folder of an unfinished run and truncates its raw readings to this length.
    pub fn reopen(path: &Path, bytes: u64) -> Result<Self, EngineError> {
        let raw_path = path.join(RAW);
        let failed = || EngineError::file("reopen", &raw_path);
        let raw = File::options().append(true).open(&raw_path).map_err(failed())?;
        raw.set_len(bytes).map_err(failed())?;
        Ok(Self { path: path.to_owned(), raw })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one process's readings; they are in the file when this returns.
    pub fn append(&mut self, record: &RawRecord) -> Result<(), EngineError> {
        let mut line = serde_json::to_vec(record).expect("raw readings have only plain fields");
        line.push(b'\n');
        self.raw
            .write_all(&line)
            .map_err(EngineError::file("write to", self.path.join("raw.jsonl")))
    }

    /// Replaces the run's document as a whole. It is written piece by piece, because it is as long as all raw
    /// readings together.
    pub fn write_document(&self, document: &impl Serialize) -> Result<PathBuf, EngineError> {
        let path = self.path.join(RESULT);
        write_streamed(&path, |file| {
            let mut writer = BufWriter::new(file);
            serde_json::to_writer(&mut writer, document)?;
            writer.write_all(b"\n")?;
            writer.flush()
        })?;
        Ok(path)
    }
}

/// The largest foreign file that is read.
const LARGEST_IMPORT: u64 = 64 << 20;
const IMPORTED: &str = "imported.json";

/// A foreign file's content and its digest.
pub fn read_foreign(path: &Path) -> Result<(String, String), EngineError> {
    let problem = || EngineError::file("read", path);
    let refuse = |why: String| problem()(std::io::Error::other(why));
    let file = File::open(path).map_err(problem())?;
    let mut bytes = Vec::new();
    file.take(LARGEST_IMPORT + 1).read_to_end(&mut bytes).map_err(problem())?;
    if bytes.len() as u64 > LARGEST_IMPORT {
        return Err(refuse(format!("it is larger than {} MiB", LARGEST_IMPORT >> 20)));
    }
    let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
    let text = String::from_utf8(bytes).map_err(|error| {
        refuse(format!("invalid UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })?;
    Ok((text, digest))
}

/// Stores an imported file and its document in a new folder.
pub fn keep_import(
    parent: &Path,
    exact: Option<&Path>,
    foreign: &str,
    json: &str,
) -> Result<PathBuf, EngineError> {
    let path = exact.map_or_else(|| unused(parent, "imported"), Path::to_owned);
    fs::create_dir_all(&path).map_err(EngineError::file("make", &path))?;
    let result = path.join(RESULT);
    if result.exists() || path.join(RAW).exists() {
        let taken = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(EngineError::file("start", &result)(taken));
    }
    write_whole(&path.join(IMPORTED), foreign)?;
    write_whole(&result, json)?;
    Ok(path)
}

/// Reads the document of a run from its folder or its file; the version is checked first.
pub fn read_run(path: &Path) -> Result<RunDocument, EngineError> {
    let file = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
    let content = fs::read(&file).map_err(EngineError::file("read", &file))?;
    let not = |reason: String| EngineError::NotAResult { path: file.clone(), reason };
    let version = check_version(&content, run::NAME, run::VERSION)
        .map_err(|reason| not(format!("it {reason}")))?;
    read_document(Shape::Run, &content, version).map(with_notice).map_err(not)
}

/// The folder below `parent` that a new run of this name gets.
pub fn unused_folder(parent: &Path, name: &str) -> PathBuf {
    unused(parent, name)
}

fn unused(parent: &Path, name: &str) -> PathBuf {
    let stamp: String = utc().chars().take(19).filter(char::is_ascii_alphanumeric).collect();
    let name = folder_name(name);
    let base = parent.join(format!("{stamp}-{name}"));
    let numbered = (2..).map(|number| parent.join(format!("{stamp}-{name}-{number}")));
    std::iter::once(base).chain(numbered).find(|path| !path.exists()).expect("numbers do not end")
}

/// A name for a single folder: characters that could lead elsewhere become dashes.
pub fn folder_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-+= ".contains(c) { c } else { '-' };
    let safe: String = name.chars().take(100).map(plain).collect();
    if safe.trim_matches('.').is_empty() { "unnamed".to_owned() } else { safe }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{RunFolder, folder_name};

    #[test]
    fn a_run_never_writes_into_another_ones_folder() {
        let parent = tempfile::tempdir().unwrap();
        let first = RunFolder::create(parent.path(), "cold", None).unwrap();
        let second = RunFolder::create(parent.path(), "cold", None).unwrap();
        assert_ne!(first.path(), second.path());
        let error = RunFolder::create(parent.path(), "cold", Some(first.path())).unwrap_err();
        assert!(error.to_string().ends_with("` already holds a run"), "{error}");
    }

    #[test]
    fn a_name_never_leads_out_of_the_folder_of_runs() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["x/../../y", "..", ".", "/etc", "a\0b", "\u{1b}[2J"] {
            let run = RunFolder::create(parent.path(), name, None).unwrap();
            assert_eq!(run.path().parent().unwrap(), parent.path(), "{name}");
            assert!(!folder_name(name).contains('/'));
        }
    }
}
