//! `firstlight show`: a stored result, printed again.

use firstlight_report::terminal::{Report, Terminal};
use firstlight_schema::exit_code::Exit;

use crate::args::Format;
use crate::error::Error;
use crate::opening;
use crate::printer::Printer;
use crate::settings::ShowSettings;

pub(crate) fn show(settings: &ShowSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::current(&settings.result)?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).run(&document, settings.report),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    // The cost of recording is shown separately, because the short report has no room for it.
    let whole = matches!(settings.report, Report::Full | Report::All);
    if whole
        && settings.format == Format::Text
        && let Some(traced) = opening::traced(&settings.result)?
    {
        printer.data("\n");
        printer.data(&Terminal::new(printer.width()).suite_trace(&traced, 0));
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use firstlight_report::terminal::{Report, Terminal};

    use crate::opening;

    /// The output of `firstlight run` when the published snapshots were measured.
    #[test]
    fn every_published_result_fits_a_screen_of_24_lines_and_80_columns() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots");
        let mut seen = 0;
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|end| end != "zst") {
                continue;
            }
            let document = opening::current(&path).unwrap();
            for width in [80, 120] {
                let text = Terminal::new(width).run(&document, Report::Usual);
                let plain = anstream::adapter::strip_str(&text).to_string();
                let place = path.display();
                assert!(plain.lines().count() <= 24, "{place}, {width}:\n{plain}");
                let widest = plain.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(width), "{place}, {width}:\n{plain}");
                let first = document.cases[0].name.chars().take(16).collect::<String>();
                assert!(plain.contains(&first), "{place}:\n{plain}");
            }
            seen += 1;
        }
        assert!(seen > 20, "{seen} snapshots");
    }
}
