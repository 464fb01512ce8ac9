//! Finds a suite: a folder of the user's, or one that travels inside the binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::suite::{ArmFile, SuiteFile};
use sha2::{Digest, Sha256};

use crate::EngineError;
use crate::packing::{Packed, pack};
use crate::python::{SUITES, lay_out};
use crate::secrets;
use crate::snapshot::Files;
use crate::store::{hex, write_whole};

/// A suite that has been read and checked, in a folder on disk.
#[derive(Debug)]
pub struct Suite {
    pub folder: PathBuf,
    pub file: SuiteFile,
    /// The files for a snapshot, as they were when the suite was opened.
    pub files: Packed,
    /// SHA-256 over the names and contents of these files.
    pub digest: String,
    /// The suite as it is started, if the published one lacks a secret or a name.
    pub started: Option<SuiteFile>,
    /// Arms whose processes do not run in the suite's folder, by their names.
    pub places: BTreeMap<String, Place>,
}

/// Where an arm of a gate comes from and where its processes run.
#[derive(Clone, Debug)]
pub struct Place {
    pub folder: PathBuf,
    /// The interpreter of its workload.
    pub python: Option<PathBuf>,
    /// Its name in its own suite, and the names of its cases there.
    pub arm: String,
    pub cases: BTreeMap<String, String>,
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
        let suite = read(folder)?;
        secrets::refuse(&suite.file, &suite.files)?;
        return Ok(suite);
    }
    let Some((name, files)) = SUITES.iter().find(|(known, _)| *known == name) else {
        return Err(EngineError::NoSuite { name: name.to_owned(), known: built_in() });
    };
    let digest = digest_of(files.iter().copied());
    let folder = cache.join("suites").join(format!("{name}-{}", &digest[..16]));
    lay_out(files, &folder)?;
    read(&folder)
}

/// Writes a suite of one file into a folder, and opens it.
pub fn write(folder: &Path, text: &str) -> Result<Suite, EngineError> {
    fs::create_dir_all(folder).map_err(EngineError::file("make", folder))?;
    write_whole(&folder.join("suite.toml"), text)?;
    read(folder)
}

/// Writes a suite of several files into a folder, and opens it.
pub fn write_all(
    folder: &Path,
    text: &str,
    files: &[(String, Vec<u8>)],
) -> Result<Suite, EngineError> {
    for (name, content) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(EngineError::file("make", parent))?;
        fs::write(&path, content).map_err(EngineError::file("write", &path))?;
    }
    write(folder, text)
}

/// A generated suite as its processes need it. It is not stored.
pub fn parse(text: &str) -> Result<SuiteFile, EngineError> {
    let path = PathBuf::from("suite.toml");
    SuiteFile::parse(text).map_err(|error| EngineError::Suite { path, error })
}

/// Opens the suite in a folder.
pub fn read(folder: &Path) -> Result<Suite, EngineError> {
    let path = folder.join("suite.toml");
    let text = fs::read_to_string(&path).map_err(EngineError::file("read", &path))?;
    let file = SuiteFile::parse(&text).map_err(|error| EngineError::Suite { path, error })?;
    let folder = folder.canonicalize().map_err(EngineError::file("find", folder))?;
    let files = pack(&folder, &file)?;
    let digest = digest_of(files.iter().map(|(name, content)| (name.as_str(), content.as_slice())));
    Ok(Suite { folder, file, files, digest, started: None, places: BTreeMap::new() })
}

/// Opens the suite of a started run: every file in the folder was packed.
pub fn read_packed(folder: &Path, file: SuiteFile) -> Result<Suite, EngineError> {
    let folder = folder.canonicalize().map_err(EngineError::file("find", folder))?;
    let mut files = Vec::new();
    let packed = Files::read(&folder)?;
    for (name, content) in packed.iter().filter(|(name, _)| !is_byte_code(name)) {
        files.push((name.to_owned(), content.to_vec()));
    }
    let digest = digest_of(files.iter().map(|(name, content)| (name.as_str(), content.as_slice())));
    Ok(Suite { folder, file, files, digest, started: None, places: BTreeMap::new() })
}

fn is_byte_code(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "pyc")
        || name.split('/').any(|part| part == "__pycache__")
}

impl Suite {
    /// The suite with everything that its processes need.
    pub(crate) fn started(&self) -> &SuiteFile {
        self.started.as_ref().unwrap_or(&self.file)
    }

    /// An arm with everything that its processes need.
    pub(crate) fn started_arm<'a>(&'a self, arm: &'a ArmFile) -> &'a ArmFile {
        let arms = &self.started().arms;
        arms.iter().find(|known| known.name.get_ref() == arm.name.get_ref()).unwrap_or(arm)
    }

    /// The packed files that changed since the suite was opened.
    pub fn changes(&self) -> Vec<String> {
        let changed = |(name, content): &&(String, Vec<u8>)| {
            fs::read(self.folder.join(name)).ok().as_ref() != Some(content)
        };
        self.files.iter().filter(changed).map(|(name, _)| name.clone()).collect()
    }
}

/// SHA-256 over names and contents, in the order of the names.
pub(crate) fn digest_of<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    files.for_each(|(name, content)| add(&mut hash, name, content));
    hex(&hash.finalize())
}

fn add(hash: &mut Sha256, name: &str, content: &[u8]) {
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    hash.update((content.len() as u64).to_le_bytes());
    hash.update(content);
}
