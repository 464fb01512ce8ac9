//! Where runs are kept: raw readings as they are taken, then the document made of them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::{self, RunDocument};
use firstlight_schema::snapshot::RAW;
use firstlight_schema::variables;
use firstlight_schema::version::SchemaId;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::EngineError;
use crate::clock::utc;

pub use crate::clock::utc as now_utc;

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
        fs::create_dir_all(&path).map_err(EngineError::file("make", &path))?;
        let raw_path = path.join("raw.jsonl");
        let raw = File::options()
            .append(true)
            .create_new(true)
            .open(&raw_path)
            .map_err(EngineError::file("start", &raw_path))?;
        Ok(Self { path, raw })
    }

    /// Opens the folder of a run that ended early, with its first so many bytes of raw readings.
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

    /// Replaces the run's document as a whole.
    pub fn write_document(&self, json: &str) -> Result<PathBuf, EngineError> {
        let path = self.path.join(RESULT);
        write_whole(&path, json)?;
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
        refuse(format!("it is no text from byte {} on", error.utf8_error().valid_up_to()))
    })?;
    Ok((text, digest))
}

/// Keeps a foreign file as it came beside the document made of it, in a new folder.
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

/// Reads the document of a run, from its folder or its file; the version is looked at first.
pub fn read_run(path: &Path) -> Result<RunDocument, EngineError> {
    #[derive(Deserialize)]
    struct Head {
        schema: SchemaId,
    }
    let file = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
    let text = fs::read_to_string(&file).map_err(EngineError::file("read", &file))?;
    let not = |reason: String| EngineError::NotAResult { path: file.clone(), reason };
    let head: Head = serde_json::from_str(&text).map_err(|error| not(error.to_string()))?;
    let (name, version) = (&head.schema.name, head.schema.version);
    if name != run::NAME {
        return Err(not(format!("it is a document `{name}`")));
    }
    if version.major != run::VERSION.major {
        return Err(not(format!(
            "it has version {version}, this firstlight reads {}",
            run::VERSION
        )));
    }
    serde_json::from_str(&text).map_err(|error| not(error.to_string()))
}

/// Writes a file so that a reader sees the old content or the new, never a part.
pub fn write_whole(path: &Path, text: &str) -> Result<(), EngineError> {
    write_bytes(path, text.as_bytes())
}

/// The same for what is no text.
pub fn write_bytes(path: &Path, content: &[u8]) -> Result<(), EngineError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file =
        tempfile::NamedTempFile::new_in(folder).map_err(EngineError::file("write", path))?;
    file.write_all(content).map_err(EngineError::file("write", path))?;
    file.as_file().sync_all().map_err(EngineError::file("write", path))?;
    file.persist(path).map_err(|error| EngineError::file("write", path)(error.error))?;
    // A temporary file is private; a result is for whoever may read the folder.
    let _ = fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644));
    Ok(())
}

/// Writes a file that can be made again, unless it is there with this content; whether it was
/// written. A reader sees the old content or the new; after a loss of power it may be neither.
pub fn write_changed(path: &Path, text: &str) -> Result<bool, EngineError> {
    let same_size = fs::metadata(path).is_ok_and(|known| known.len() == text.len() as u64);
    if same_size && fs::read(path).is_ok_and(|known| known == text.as_bytes()) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(EngineError::file("make", folder))?;
    let mut file =
        tempfile::NamedTempFile::new_in(folder).map_err(EngineError::file("write", path))?;
    file.write_all(text.as_bytes()).map_err(EngineError::file("write", path))?;
    let _ = file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    file.persist(path).map_err(|error| EngineError::file("write", path)(error.error))?;
    Ok(true)
}

fn unused(parent: &Path, name: &str) -> PathBuf {
    let stamp: String = utc().chars().take(19).filter(char::is_ascii_alphanumeric).collect();
    let base = parent.join(format!("{stamp}-{name}"));
    let numbered = (2..).map(|number| parent.join(format!("{stamp}-{name}-{number}")));
    std::iter::once(base).chain(numbered).find(|path| !path.exists()).expect("numbers do not end")
}

/// The folder below which runs are kept.
pub fn runs_folder() -> PathBuf {
    folder(variables::RUNS, variables::XDG_STATE_HOME, ".local/state", "firstlight/runs")
}

/// The folder for what can be made again: environments, the Python side.
pub fn cache_folder() -> PathBuf {
    folder(variables::CACHE, variables::XDG_CACHE_HOME, ".cache", "firstlight")
}

fn folder(own: &str, xdg: &str, below_home: &str, name: &str) -> PathBuf {
    let set = |variable: &str| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    set(own)
        .or_else(|| set(xdg).map(|path| path.join(name)))
        .or_else(|| set(variables::HOME).map(|path| path.join(below_home).join(name)))
        .unwrap_or_else(|| std::env::temp_dir().join(name))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{RunFolder, write_whole};

    #[test]
    fn a_run_never_writes_into_another_ones_folder() {
        let parent = tempfile::tempdir().unwrap();
        let first = RunFolder::create(parent.path(), "cold", None).unwrap();
        let second = RunFolder::create(parent.path(), "cold", None).unwrap();
        assert_ne!(first.path(), second.path());
        let error = RunFolder::create(parent.path(), "cold", Some(first.path())).unwrap_err();
        assert!(error.to_string().starts_with("cannot start `"), "{error}");
    }

    #[test]
    fn a_document_is_replaced_as_a_whole() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("result.json");
        write_whole(&path, "long old text").unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
