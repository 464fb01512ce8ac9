//! `histfactory prune`: removes parts of a workspace.

use super::made;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::printer::Printer;
use crate::settings::PruneSettings;

pub(crate) fn prune(settings: &PruneSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let workspace = opening::workspace(&settings.source)?.prune(&settings.pruning)?;
    made(&workspace, &settings.destination, printer)
}
