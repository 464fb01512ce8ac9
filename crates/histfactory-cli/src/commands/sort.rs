//! `histfactory sort`: sorts a workspace.

use super::made;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::printer::Printer;
use crate::settings::SortSettings;

pub(crate) fn sort(settings: &SortSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let workspace = opening::workspace(&settings.source)?.sorted();
    made(&workspace, &settings.destination, printer)
}
