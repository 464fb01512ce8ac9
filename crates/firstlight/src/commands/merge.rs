//! `firstlight merge`: shards of one suite as one snapshot.

use std::collections::BTreeSet;

use firstlight_engine::store::unused_folder;
use firstlight_report::terminal::{Report, Terminal};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::RunDocument;

use crate::args::Format;
use crate::error::Error;
use crate::merging::{self, Merged};
use crate::printer::Printer;
use crate::settings::MergeSettings;

pub(crate) fn merge(settings: &MergeSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let chosen = || unused_folder(&settings.runs, "merged");
    let target = settings.output.clone().unwrap_or_else(chosen);
    let merged = merging::merge(&settings.shards, &target, settings.argv.clone())?;
    show(&merged, settings.report, settings.format, printer)
}

/// Prints what was merged.
pub(super) fn show(
    merged: &Merged,
    report: Report,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    printer.aside(&describe(&merged.document));
    match format {
        Format::Json => printer.data(&(serde_json::to_string(&merged.document)? + "\n")),
        Format::Text => {
            let terminal = Terminal::new(printer.width());
            printer.data(&terminal.run(&merged.document, report));
            printer.aside(&format!("\nresult: {}", merged.folder.display()));
        }
    }
    if !merged.passed {
        let folder = merged.folder.display();
        printer.talk(&format!("warning: this snapshot fails `firstlight verify {folder}`"));
        return Ok(Exit::VerificationFailed);
    }
    Ok(Exit::Ok)
}

/// Such as: 3 shards from 2 nodes: a (12 processes), b (6 processes).
fn describe(document: &RunDocument) -> String {
    const SHOWN: usize = 8;
    let shards: BTreeSet<&str> = document
        .nodes
        .iter()
        .flat_map(|node| node.parts.iter().map(|part| part.shard.as_str()))
        .collect();
    let mut names: Vec<String> = Vec::new();
    for node in document.nodes.iter().take(SHOWN) {
        let processes: u32 = node.parts.iter().map(|part| part.processes).sum();
        names.push(format!("{} ({processes} processes)", node.name));
    }
    if document.nodes.len() > SHOWN {
        names.push(format!("and {} more", document.nodes.len() - SHOWN));
    }
    let plural = |count: usize, word: &str| {
        if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
    };
    let (shards, nodes) = (plural(shards.len(), "shard"), plural(document.nodes.len(), "node"));
    format!("merged {shards} from {nodes}: {}", names.join(", "))
}
