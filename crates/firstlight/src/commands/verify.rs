//! `firstlight verify`: recomputes every number of a snapshot and checks every rule.

use std::path::Path;

use firstlight_engine::snapshot::Files;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;

use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::VerifySettings;
use crate::verification::validate;

pub(crate) fn verify(settings: &VerifySettings, printer: &mut Printer) -> Result<Exit, Error> {
    if let [only] = &settings.snapshots[..] {
        return verify_one(settings, only, printer);
    }
    let mut exits = Vec::new();
    for path in &settings.snapshots {
        if settings.format == Format::Text {
            printer.data(&format!("{}\n", path.display()));
        }
        exits.push(verify_one(settings, path, printer).unwrap_or_else(|error| {
            printer.error(&error);
            error.exit()
        }));
        if settings.format == Format::Text {
            printer.data("\n");
        }
    }
    // An invalid snapshot has priority over an invalid path.
    let failed = exits.contains(&Exit::VerificationFailed).then_some(Exit::VerificationFailed);
    Ok(failed.or(exits.into_iter().find(|&exit| exit != Exit::Ok)).unwrap_or(Exit::Ok))
}

fn verify_one(
    settings: &VerifySettings,
    path: &Path,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let files = Files::read(path)?;
    let document = validate(&files, path, settings.key.as_deref())?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).validation(&document),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    Ok(if document.passed { Exit::Ok } else { Exit::VerificationFailed })
}
