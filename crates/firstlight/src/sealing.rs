//! Seals the folder of a run that has ended: from then on it is a snapshot.

use std::fs;
use std::path::Path;

use firstlight_engine::snapshot::{Files, seal, write_validation};
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::validation::ValidationDocument;

use crate::error::Error;
use crate::verification::validate;

/// Seals a run that has ended, and writes down what the rules say of it.
pub(crate) fn finish(
    folder: &Path,
    after: Option<MachineState>,
) -> Result<ValidationDocument, Error> {
    remove_leftovers(folder)?;
    seal(folder, after, None)?;
    let files = Files::read(folder)?;
    let document = validate(&files, folder, None)?;
    write_validation(folder, &(serde_json::to_string(&document)? + "\n"))?;
    Ok(document)
}

/// Workloads that run from the folder may have left their byte code beside their source.
fn remove_byte_code(folder: &Path) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.ends_with("__pycache__") {
            let _ = fs::remove_dir_all(&path);
        } else if path.is_dir() && !path.is_symlink() {
            remove_byte_code(&path);
        }
    }
}

/// What a process that was ended in the middle of its work may have left behind.
fn remove_leftovers(folder: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Error::Usage(format!("cannot list `{}`: {error}", folder.display())))?;
    remove_byte_code(&folder.join("suite"));
    for entry in entries.flatten() {
        let temporary = entry.file_name().to_string_lossy().starts_with(".tmp");
        if temporary && entry.path().is_file() {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}
