//! `histfactory combine`: combines two workspaces.

use histfactory::Workspace;
use histfactory::workspace::Join;

use super::made;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::printer::Printer;
use crate::settings::CombineSettings;

pub(crate) fn combine(settings: &CombineSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let left = opening::workspace(&settings.left)?;
    let right = opening::workspace(&settings.right)?;
    match settings.join {
        Join::None | Join::Outer => {}
        Join::LeftOuter | Join::RightOuter => printer.warning(
            "this join takes what both have from one of them, without looking whether they differ",
        ),
    }
    let both = Workspace::combine(&left, &right, settings.join, settings.merge_channels)?;
    made(&both, &settings.destination, printer)
}
