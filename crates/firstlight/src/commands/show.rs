//! `firstlight show`: a stored result, printed again.

use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;

use crate::args::Format;
use crate::error::Error;
use crate::opening;
use crate::printer::Printer;
use crate::settings::ShowSettings;

pub(crate) fn show(settings: &ShowSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::run(&settings.result)?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).run(&document, settings.report),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    if let (Format::Text, Some(traced)) = (settings.format, opening::traced(&settings.result)?) {
        printer.data("\n");
        printer.data(&Terminal::new(printer.width()).suite_trace(&traced, 0));
    }
    Ok(Exit::Ok)
}
