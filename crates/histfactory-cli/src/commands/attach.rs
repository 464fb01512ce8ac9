//! `histfactory attach`: follows tasks of a cluster that were submitted before.

use crate::cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::AttachSettings;

pub(crate) fn attach(settings: &AttachSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let AttachSettings { folder, destination, plot } = settings;
    cluster::attach(folder, destination, plot.as_deref(), printer)
}
