//! `firstlight verify`: recompute every number of a snapshot, check every rule.

use firstlight_engine::snapshot::Files;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;

use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::VerifySettings;
use crate::verification::validate;

pub(crate) fn verify(settings: &VerifySettings, printer: &mut Printer) -> Result<Exit, Error> {
    let files = Files::read(&settings.snapshot)?;
    let document = validate(&files, &settings.snapshot, settings.key.as_deref())?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).validation(&document),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    Ok(if document.passed { Exit::Ok } else { Exit::VerificationFailed })
}
