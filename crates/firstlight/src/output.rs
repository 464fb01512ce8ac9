//! Writes a document to its destination.

use std::fs::File;
use std::path::Path;

use firstlight_engine::store::{RunFolder, copy_whole, is_replaceable};
use firstlight_schema::snapshot::RESULT;
use serde::Serialize;

use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::Destination;

/// Makes sure, before the first process starts, that the export can be written.
pub(crate) fn open_export(destination: &Destination) -> Result<(), Error> {
    let Some(path) = &destination.export_json else { return Ok(()) };
    if !is_replaceable(path) && !path.is_dir() {
        // Opening a pipe would wait here for its reader.
        return Ok(());
    }
    match File::options().append(true).create(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::io("write", path, &error)),
    }
}

/// The progress of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Begun,
    Whole,
}

/// Writes the present state of the document to the run's folder and to the export. A pipe or a device cannot
/// be rewritten, so it only gets the complete document.
pub(crate) fn save(
    document: &impl Serialize,
    store: &RunFolder,
    destination: &Destination,
    progress: Progress,
) -> Result<(), Error> {
    let written = store.write_document(document)?;
    if let Some(path) = &destination.export_json
        && (progress == Progress::Whole || is_replaceable(path))
    {
        copy_whole(&written, path)?;
    }
    Ok(())
}

/// Shows the finished result.
pub(crate) fn show(
    text: impl FnOnce(usize) -> String,
    folder: &Path,
    destination: &Destination,
    printer: &mut Printer,
) -> Result<(), Error> {
    match destination.format {
        Format::Json => {
            let path = folder.join(RESULT);
            printer.file(&path).map_err(|error| Error::io("read", &path, &error))?;
        }
        Format::Text => {
            let text = text(printer.width());
            printer.data(&text);
            let folder = folder.display();
            printer.aside(&format!(
                "\nnext: firstlight show {folder} --full\n      firstlight report {folder}"
            ));
        }
    }
    Ok(())
}
