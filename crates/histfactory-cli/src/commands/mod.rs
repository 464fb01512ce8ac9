//! One file per command: settings in, exit code out.

mod attach;
mod cls;
mod combine;
mod digest;
mod fit;
mod inspect;
mod limits;
mod merge;
mod patchset;
mod prune;
mod rank;
mod rename;
mod scan;
mod significance;
mod sort;
mod toys;
mod upper_limit;

pub(crate) use attach::attach;
pub(crate) use cls::cls;
pub(crate) use combine::combine;
pub(crate) use digest::digest;
pub(crate) use fit::fit;
pub(crate) use inspect::inspect;
pub(crate) use limits::limits;
pub(crate) use merge::{merge, merge_files, report, write_shard};
pub(crate) use patchset::patchset;
pub(crate) use prune::prune;
pub(crate) use rank::rank;
pub(crate) use rename::rename;
pub(crate) use scan::scan;
pub(crate) use significance::significance;
pub(crate) use sort::sort;
pub(crate) use toys::toys;
pub(crate) use upper_limit::upper_limit;

use histfactory::Workspace;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::show;
use crate::printer::Printer;
use crate::settings::Destination;
use crate::shard::ShardDocument;

/// Outputs a workspace that a command made from others.
fn made(
    workspace: &Workspace,
    destination: &Destination,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    show(workspace, || workspace.to_json() + "\n", destination, printer)?;
    Ok(Exit::Ok)
}

/// The schema of each document that `--format json` prints, by the document's name.
pub(crate) fn schemas() -> [(&'static str, Schema); 11] {
    [
        ("histfactory-cls", printed::<cls::ClsDocument<'_>>()),
        ("histfactory-fit", printed::<fit::FitDocument<'_>>()),
        ("histfactory-inspect", printed::<inspect::Inspection<'_>>()),
        ("histfactory-limits", printed::<limits::LimitsDocument<'_>>()),
        ("histfactory-rank", printed::<rank::RankDocument<'_>>()),
        ("histfactory-scan", printed::<scan::ScanDocument<'_>>()),
        ("histfactory-shard", printed::<ShardDocument>()),
        ("histfactory-significance", printed::<significance::SignificanceDocument<'_>>()),
        ("histfactory-toy-test", printed::<toys::ToyTestDocument<'_>>()),
        ("histfactory-toys", printed::<toys::ToysDocument<'_>>()),
        ("histfactory-upper-limit", printed::<upper_limit::LimitDocument<'_>>()),
    ]
}

/// The schema of what is written, not of what could be read: a key that may be left out is not required.
fn printed<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
