//! `firstlight run --on slurm` and `--attach`, and `firstlight status`.

use std::path::Path;

use firstlight_engine::helper::closing_output;
use firstlight_engine::interrupt::Interrupt;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::launch::StatusDocument;
use firstlight_slurm::Slurm;

use super::merge::show;
use crate::args::Format;
use crate::cluster::{self, Followed, LaunchFolder};
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::{RunSettings, StatusSettings};

/// Measures a suite on a cluster.
pub(super) fn run_on_slurm(
    suite: &str,
    settings: &RunSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let slurm = Slurm::find(closing_output)?;
    let interrupt = Interrupt::install()?;
    let folder = cluster::launch(suite, settings, &slurm, printer)?;
    follow(folder, &slurm, settings, &interrupt, printer)
}

/// Follows a run that was submitted before.
pub(super) fn attach(
    path: &Path,
    settings: &RunSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let folder = LaunchFolder::open(path)?;
    let merged = folder.merged();
    if merged.exists() {
        return Err(Error::Complete { folder: merged });
    }
    let slurm = Slurm::find(closing_output)?;
    let interrupt = Interrupt::install()?;
    follow(folder, &slurm, settings, &interrupt, printer)
}

fn follow(
    mut folder: LaunchFolder,
    slurm: &Slurm,
    settings: &RunSettings,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let argv = settings.argv.clone();
    match cluster::follow(&mut folder, slurm, argv, interrupt, printer)? {
        Followed::Left(exit) => Ok(exit),
        Followed::Merged(merged) => {
            show(&merged, settings.report, settings.destination.format, printer)
        }
    }
}

pub(crate) fn status(settings: &StatusSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let folder = LaunchFolder::open(&settings.folder)?;
    let found = cluster::status(&folder, &Slurm::find(closing_output)?)?;
    match settings.format {
        Format::Json => printer.data(&(serde_json::to_string(&found)? + "\n")),
        Format::Text => printer.data(&table(&found, &folder)),
    }
    Ok(Exit::Ok)
}

/// A line for each task.
fn table(found: &StatusDocument, folder: &LaunchFolder) -> String {
    let (tasks, rounds) = (found.tasks.len(), found.rounds);
    let mut lines = vec![format!("{}: {tasks} tasks of {rounds} rounds\n", found.suite)];
    for task in &found.tasks {
        let nodes = if task.nodes.is_empty() { "-".to_owned() } else { task.nodes.join(", ") };
        let reason = task.reason.as_ref().map_or_else(String::new, |why| format!("  {why}"));
        let processes = format!("{} of {}", task.processes, folder.launch.processes);
        let (task, state) = (task.task, task.state.name());
        lines.push(format!("{task:>5}  {state:8}  {processes:>11} processes  {nodes}{reason}"));
    }
    let folder = folder.path().display();
    lines.push(if found.merged {
        format!("\nmerged: firstlight show {folder}/merged\n")
    } else {
        format!("\nto follow it: firstlight run --attach {folder}\n")
    });
    lines.join("\n")
}
