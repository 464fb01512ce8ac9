//! Seals the folder of a finished run, which turns it into a snapshot.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use firstlight_engine::helper::closing_output;
use firstlight_engine::snapshot::{Files, read_manifest, seal, write_validation};
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::{MANIFEST, Privacy};
use firstlight_schema::validation::ValidationDocument;

use crate::error::Error;
use crate::harness::build;
use crate::verification::{validate, validate_known, written};

/// Checking takes seconds; a check that takes this long is done by the process itself.
const LIMIT: Duration = Duration::from_mins(30);

/// Seals a finished run, and stores the results of the rules.
pub(crate) fn finish(
    folder: &Path,
    after: Option<MachineState>,
) -> Result<ValidationDocument, Error> {
    remove_leftovers(folder)?;
    seal(folder, after, build())?;
    let document = match verified_elsewhere(folder) {
        Some(document) => document,
        None => validate(&Files::read(folder)?, folder, None)?,
    };
    write_validation(folder, &written(&document))?;
    Ok(document)
}

/// The same for a merged result, which was just computed: thousands of shards are not computed twice.
/// `firstlight verify` recomputes it later.
pub(crate) fn finish_merged(
    folder: &Path,
    document: &RunDocument,
) -> Result<ValidationDocument, Error> {
    seal(folder, None, build())?;
    let checked = validate_known(&Files::read(folder)?, folder, None, Some(document))?;
    write_validation(folder, &written(&checked))?;
    Ok(checked)
}

/// The output of `firstlight verify` in a separate process. Checking needs the raw readings, the result and
/// the recomputed result at once, several times the memory of measuring. The measuring process stays small,
/// and the check shares no state with it.
fn verified_elsewhere(folder: &Path) -> Option<ValidationDocument> {
    let mut verify = Command::new("/proc/self/exe");
    verify.args(["verify", "--no-config", "--format", "json", "--"]).arg(folder);
    let output = closing_output(&mut verify, LIMIT).ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Workloads that run from the folder may have left byte code next to their source.
fn remove_byte_code(folder: &Path) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.ends_with("__pycache__") {
            let _ = fs::remove_dir_all(&path);
        } else if path.is_dir() && !path.is_symlink() {
            remove_byte_code(&path);
        }
    }
}

/// Files that a killed process may have left behind.
fn remove_leftovers(folder: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(folder).map_err(|error| Error::io("list", folder, &error))?;
    remove_byte_code(&folder.join("suite"));
    for entry in entries.flatten() {
        let temporary = entry.file_name().to_string_lossy().starts_with(".tmp");
        if temporary && entry.path().is_file() {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// The private data of the sealed run, from its manifest alone: readings may be larger than memory.
pub(crate) fn privacy(folder: &Path) -> Result<Option<Privacy>, Error> {
    let path = folder.join(MANIFEST);
    let content = fs::read(&path).map_err(|error| Error::io("read", &path, &error))?;
    let mut files = Files::default();
    files.put(MANIFEST, content);
    Ok(read_manifest(&files, folder)?.privacy)
}
