//! `firstlight import`: another tool's result as a stored run.

use firstlight_analysis::import::{self, Origin};
use firstlight_engine::store::{keep_import, read_foreign};
use firstlight_report::terminal::{Report, Terminal};
use firstlight_schema::exit_code::Exit;

use crate::args::Format;
use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;
use crate::settings::ImportSettings;

pub(crate) fn import(settings: &ImportSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let path = &settings.file;
    let (text, digest) = read_foreign(path)?;
    let foreign = import::read(&text, settings.from)
        .map_err(|error| Error::Import { path: path.clone(), error })?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let file = name.replace(char::is_control, "\u{fffd}");
    let document = import::document(&foreign, Origin { firstlight: build(), file, digest });
    let json = serde_json::to_string(&document)? + "\n";
    let folder = keep_import(&settings.runs, settings.output.as_deref(), &text, &json)?;
    match settings.format {
        Format::Json => printer.data(&json),
        Format::Text => {
            let terminal = Terminal::new(printer.width());
            printer.data(&terminal.run(&document, Report::Usual));
            printer.aside(&format!("\nresult: {}", folder.display()));
        }
    }
    Ok(Exit::Ok)
}
