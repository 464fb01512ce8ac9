//! Writes a document to wherever it was asked for.

use std::fs::File;
use std::path::Path;

use firstlight_engine::store::{RunFolder, write_whole};
use serde::Serialize;

use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::Destination;

/// Makes sure, before the first process starts, that the export can be written.
pub(crate) fn open_export(destination: &Destination) -> Result<(), Error> {
    let Some(path) = &destination.export_json else { return Ok(()) };
    match File::options().append(true).create(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Usage(format!("cannot write `{}`: {error}", path.display()))),
    }
}

/// Writes the document as far as it has come: into the run's folder and to the export.
pub(crate) fn save(
    document: &impl Serialize,
    store: &RunFolder,
    destination: &Destination,
) -> Result<String, Error> {
    let mut json = serde_json::to_string(document)?;
    json.push('\n');
    store.write_document(&json)?;
    if let Some(path) = &destination.export_json {
        write_whole(path, &json)?;
    }
    Ok(json)
}

/// Shows the finished result.
pub(crate) fn show(
    json: &str,
    text: impl FnOnce(usize) -> String,
    folder: &Path,
    destination: &Destination,
    printer: &mut Printer,
) {
    match destination.format {
        Format::Json => printer.data(json),
        Format::Text => {
            let text = text(printer.width());
            printer.data(&text);
            printer.aside(&format!("\nraw readings and result: {}", folder.display()));
        }
    }
}
