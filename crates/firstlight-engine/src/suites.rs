//! Finds a suite: a folder of the user's, or one that travels inside the binary.

use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::suite::SuiteFile;
use sha2::{Digest, Sha256};

use crate::EngineError;
use crate::python::{SUITES, unpack};
use crate::store::{hex, write_whole};

/// A suite that has been read and checked, in a folder on disk.
#[derive(Debug)]
pub struct Suite {
    pub folder: PathBuf,
    pub file: SuiteFile,
    /// SHA-256 over the names and contents of its files.
    pub digest: String,
}

/// The names of the suites inside the binary.
pub fn built_in() -> Vec<String> {
    SUITES.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The suites inside the binary: their names and their `suite.toml`.
pub fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    SUITES.iter().filter_map(|(name, files)| {
        let (_, content) = files.iter().find(|(file, _)| *file == "suite.toml")?;
        Some((*name, str::from_utf8(content).ok()?))
    })
}

/// Opens the folder if there is one, else the built-in suite of that name, laid out below `cache`.
pub fn open(name: &str, cache: &Path) -> Result<Suite, EngineError> {
    let folder = Path::new(name);
    if folder.join("suite.toml").is_file() {
        return read(folder);
    }
    let Some((name, files)) = SUITES.iter().find(|(known, _)| *known == name) else {
        return Err(EngineError::NoSuite { name: name.to_owned(), known: built_in() });
    };
    let digest = digest_of(files.iter().copied());
    let folder = cache.join("suites").join(format!("{name}-{}", &digest[..16]));
    unpack(files, &folder)?;
    read(&folder)
}

/// Writes a suite of one file into a folder, and opens it.
pub fn write(folder: &Path, text: &str) -> Result<Suite, EngineError> {
    fs::create_dir_all(folder).map_err(EngineError::file("make", folder))?;
    write_whole(&folder.join("suite.toml"), text)?;
    read(folder)
}

/// Opens the suite in a folder.
pub fn read(folder: &Path) -> Result<Suite, EngineError> {
    let path = folder.join("suite.toml");
    let text = fs::read_to_string(&path).map_err(EngineError::file("read", &path))?;
    let file = SuiteFile::parse(&text).map_err(|error| EngineError::Suite { path, error })?;
    let folder = folder.canonicalize().map_err(EngineError::file("find", folder))?;
    let files = files(&folder)?;
    let digest = digest_of(files.iter().map(|(name, content)| (name.as_str(), content.as_slice())));
    Ok(Suite { folder, file, digest })
}

/// The suite's files with their contents, sorted by name.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
    let mut names = Vec::new();
    list(folder, folder, &mut names)?;
    names.sort();
    let read = |name: String| {
        let path = folder.join(&name);
        let content = fs::read(&path).map_err(EngineError::file("read", &path))?;
        Ok((name, content))
    };
    names.into_iter().map(read).collect()
}

/// SHA-256 over names and contents, in the order of the names.
pub(crate) fn digest_of<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    files.for_each(|(name, content)| add(&mut hash, name, content));
    hex(&hash.finalize())
}

fn list(root: &Path, folder: &Path, names: &mut Vec<String>) -> Result<(), EngineError> {
    for entry in fs::read_dir(folder).map_err(EngineError::file("list", folder))? {
        let path = entry.map_err(EngineError::file("list", folder))?.path();
        let name = path.strip_prefix(root).expect("listed below the root").to_string_lossy();
        if path.is_dir() && !name.ends_with("__pycache__") && !name.starts_with('.') {
            list(root, &path, names)?;
        } else if path.is_file() && !name.ends_with(".pyc") {
            names.push(name.into_owned());
        }
    }
    Ok(())
}

fn add(hash: &mut Sha256, name: &str, content: &[u8]) {
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    hash.update((content.len() as u64).to_le_bytes());
    hash.update(content);
}
