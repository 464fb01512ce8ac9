//! Turns a run's folder into a snapshot. The facts at the start are written at once; the manifest is written
//! last and as a whole, and makes the folder a snapshot.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::thread;

use firstlight_schema::machine_state::MachineState;
use firstlight_schema::snapshot::{
    CITATION, FileEntry, MANIFEST, Manifest, ORIGIN, Origin, Privacy, RAW, Recomputed, SCHEMAS,
    SUITE, Sealed, VALIDATION, ZENODO, is_inventoried,
};
use firstlight_schema::validation;
use firstlight_schema::version::Build;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::files::{Files, LARGE, check_name};
use super::inventory::locks;
use super::shards::read_shards;
use super::sizes::Sizes;
use super::{citation, identify};
use crate::EngineError;
use crate::privacy::Identity;
use crate::python::SCHEMA_FILES;
use crate::store::{hex, write_whole};
use crate::suites::Suite;
use crate::writing::folder_below;

/// The schemas of the documents in a snapshot.
const DESCRIBED: [&str; 5] =
    ["raw-record.json", "run.json", "snapshot.json", "suite.json", "validation.json"];

/// Writes down how a run begins, and the suite's bytes, before the first process.
pub fn begin(folder: &Path, origin: &Origin, suite: &Suite) -> Result<(), EngineError> {
    for (name, content) in &suite.files {
        write_below(folder, &format!("{SUITE}{name}"), content)?;
    }
    write_origin(folder, origin)
}

/// Records the start of a run and its resumptions.
pub fn write_origin(folder: &Path, origin: &Origin) -> Result<(), EngineError> {
    let json = serde_json::to_string(origin).expect("an origin has plain fields");
    write_whole(&folder.join(ORIGIN), &json)
}

/// Turns a snapshot's folder back into a run; the manifest's description of its start is kept.
pub fn unseal(folder: &Path, origin: &Origin) -> Result<(), EngineError> {
    write_origin(folder, origin)?;
    for name in [MANIFEST, VALIDATION] {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(EngineError::file("remove", &path))?;
        }
    }
    Ok(())
}

/// How a run that has no manifest began.
pub fn read_origin(folder: &Path) -> Result<Origin, EngineError> {
    let path = folder.join(ORIGIN);
    let text = fs::read_to_string(&path).map_err(EngineError::file("read", &path))?;
    let not =
        |error: serde_json::Error| EngineError::NotAResult { path, reason: error.to_string() };
    serde_json::from_str(&text).map_err(not)
}

pub fn is_sealed(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

/// Turns a finished run into a snapshot.
pub fn seal(
    folder: &Path,
    after: Option<MachineState>,
    sealed_by: Build,
) -> Result<Manifest, EngineError> {
    let origin = read_origin(folder)?;
    for (name, content) in schemas() {
        write_below(folder, &name, content)?;
    }
    let raw = File::open(folder.join(RAW)).map_err(EngineError::file("read", folder.join(RAW)))?;
    let sizes = Sizes::read(BufReader::new(raw));
    write_whole(&folder.join(CITATION), &citation::cff(&origin, &sizes))?;
    write_whole(&folder.join(ZENODO), &citation::zenodo(&origin, &sizes))?;
    let files = Files::read_small(folder)?;
    let mut manifest = vouch(&files, origin, after, None, sealed_by);
    // Large files are searched and hashed side by side.
    let (privacy, entries) = thread::scope(|scope| {
        let hashed = LARGE.map(|name| scope.spawn(move || entry(folder, name)));
        let privacy = Identity::here().found(&files, folder, &LARGE);
        let joined = hashed.map(|one| one.join().expect("hashing does not panic"));
        (privacy, joined)
    });
    manifest.privacy = Some(with_shards(privacy?, &read_shards(&files, folder)?));
    for entry in entries {
        manifest.files.push(entry?);
    }
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    manifest.id = Some(identify(&manifest));
    write_whole(&folder.join(MANIFEST), &json(&manifest))?;
    let path = folder.join(ORIGIN);
    fs::remove_file(&path).map_err(EngineError::file("remove", &path))?;
    sync(folder)?;
    Ok(manifest)
}

/// Only the machine that sealed a shard can recognise its own names in it.
fn with_shards(mut found: Privacy, shards: &[Manifest]) -> Privacy {
    for of in shards.iter().filter_map(|shard| shard.privacy) {
        found.host_name |= of.host_name;
        found.user_name |= of.user_name;
        found.home_folder |= of.home_folder;
    }
    found
}

/// The schemas of this firstlight's documents, with their places in a snapshot.
fn schemas() -> impl Iterator<Item = (String, &'static [u8])> {
    let described = SCHEMA_FILES.iter().filter(|(name, _)| DESCRIBED.contains(name));
    described.map(|(name, content)| (format!("{SCHEMAS}{name}"), *content))
}

/// Puts the schemas of this firstlight's documents in the place of older ones.
pub fn describe(files: &mut Files) {
    for (name, content) in schemas() {
        files.put(&name, content.to_vec());
    }
}

/// The manifest that vouches for these files.
pub fn vouch(
    files: &Files,
    origin: Origin,
    after: Option<MachineState>,
    recomputed: Option<Recomputed>,
    sealed_by: Build,
) -> Manifest {
    let mut manifest = Manifest {
        schema: Manifest::schema_id(),
        id: None,
        origin,
        after,
        recomputed,
        sealed: Some(Sealed { firstlight: sealed_by, validation: validation::VERSION }),
        privacy: None,
        lock: locks(files).into_iter().next(),
        files: entries(files),
    };
    manifest.id = Some(identify(&manifest));
    manifest
}

/// A manifest as it is written.
pub fn json(manifest: &Manifest) -> String {
    serde_json::to_string(manifest).expect("a manifest has plain fields") + "\n"
}

/// The manifest's entries for these files.
pub fn entries(files: &Files) -> Vec<FileEntry> {
    files
        .iter()
        .filter(|(path, _)| is_inventoried(path))
        .map(|(path, content)| FileEntry {
            path: path.to_owned(),
            sha256: hex(&Sha256::digest(content)),
            bytes: content.len() as u64,
        })
        .collect()
}

/// A file of a folder, which is not read into memory.
fn entry(folder: &Path, name: &str) -> Result<FileEntry, EngineError> {
    let path = folder.join(name);
    let failed = || EngineError::file("read", &path);
    let mut hash = Sha256::new();
    let mut file = File::open(&path).map_err(failed())?;
    let bytes = io::copy(&mut file, &mut HashWriter(&mut hash)).map_err(failed())?;
    Ok(FileEntry { path: name.to_owned(), sha256: hex(&hash.finalize()), bytes })
}

/// Writes the validation, which the manifest does not cover because it can be recomputed.
pub fn write_validation(folder: &Path, json: &str) -> Result<(), EngineError> {
    write_whole(&folder.join(VALIDATION), json)
}

/// Copies a snapshot's files into a new folder, which appears as a whole or not at all.
pub fn copy(files: &Files, target: &Path) -> Result<(), EngineError> {
    let assembly = Assembly::new(target)?;
    for (path, content) in files.iter() {
        assembly.put(path, content)?;
    }
    assembly.finish().map(|_| ())
}

/// A run's folder that is put together from parts. It appears under its name as a whole or not at all.
#[derive(Debug)]
pub struct Assembly {
    fresh: TempDir,
    target: PathBuf,
}

impl Assembly {
    /// A hidden folder next to the target, which must not exist.
    pub fn new(target: &Path) -> Result<Self, EngineError> {
        if target.exists() {
            let source = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(EngineError::file("make", target)(source));
        }
        let parent = parent_of(target);
        fs::create_dir_all(parent).map_err(EngineError::file("make", parent))?;
        let fresh = folder_below(parent).map_err(EngineError::file("write to", parent))?;
        Ok(Self { fresh, target: target.to_owned() })
    }

    pub fn path(&self) -> &Path {
        self.fresh.path()
    }

    /// Writes a file below the folder.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<(), EngineError> {
        write_below(self.path(), name, content)
    }

    /// Gives the folder its name.
    pub fn finish(self) -> Result<PathBuf, EngineError> {
        sync(self.path())?;
        fs::rename(self.path(), &self.target).map_err(EngineError::file("make", &self.target))?;
        let _ = self.fresh.keep();
        sync(parent_of(&self.target))?;
        Ok(self.target)
    }
}

fn parent_of(target: &Path) -> &Path {
    let parent = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn write_below(folder: &Path, name: &str, content: &[u8]) -> Result<(), EngineError> {
    check_name(folder, name)?;
    let path = folder.join(name);
    let parent = path.parent().expect("a file in a folder has a parent");
    fs::create_dir_all(parent).map_err(EngineError::file("make", parent))?;
    let failed = || EngineError::file("write", &path);
    let mut file = File::create(&path).map_err(failed())?;
    io::Write::write_all(&mut file, content).map_err(failed())?;
    file.sync_all().map_err(failed())
}

fn sync(folder: &Path) -> Result<(), EngineError> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(EngineError::file("write to", folder))
}

/// SHA-256 of the running program, if it is readable.
pub fn binary_digest() -> Option<String> {
    let mut hash = Sha256::new();
    let mut file = File::open("/proc/self/exe").ok()?;
    io::copy(&mut file, &mut HashWriter(&mut hash)).ok()?;
    Some(hex(&hash.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
