//! `firstlight report`: a stored result as one HTML file, or as Markdown for a pull request.

use firstlight_engine::store::write_whole;
use firstlight_report::export::markdown;
use firstlight_report::html::{Around, page};
use firstlight_schema::exit_code::Exit;

use crate::error::Error;
use crate::opening;
use crate::printer::Printer;
use crate::settings::{ReportSettings, Wanted};

pub(crate) fn report(settings: &ReportSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::run(&settings.result)?;
    let traced = opening::traced(&settings.result)?;
    let question = opening::question(&settings.result);
    let around = Around { home: None, question: question.as_deref(), traced: traced.as_ref() };
    let page = || page(&document, around);
    match &settings.wanted {
        Wanted::Markdown => printer.data(&markdown(&document)),
        Wanted::PrintedPage => printer.data(&page()),
        Wanted::Page(path) => {
            write_whole(path, &page())?;
            printer.aside(&format!("report: {}", path.display()));
        }
    }
    Ok(Exit::Ok)
}
