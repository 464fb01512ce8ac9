//! `histfactory rename`: renames parts of a workspace.

use super::made;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::printer::Printer;
use crate::settings::RenameSettings;

pub(crate) fn rename(settings: &RenameSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let workspace = opening::workspace(&settings.source)?.rename(&settings.renaming)?;
    made(&workspace, &settings.destination, printer)
}
