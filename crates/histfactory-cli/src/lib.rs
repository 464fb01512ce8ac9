//! The shell: arguments become settings, settings become a command, its result an exit code.

mod args;
mod cluster;
mod commands;
mod error;
mod exit;
mod opening;
mod output;
mod plot;
mod printer;
mod progress;
mod proportion;
mod pulled;
mod settings;
mod shard;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{CommandFactory, Parser};
use signal_hook::consts::SIGXFSZ;

use args::{Args, Command};
use error::Error;
use exit::Exit;
use printer::Printer;
use settings::{
    AttachSettings, ClsSettings, CombineSettings, DigestSettings, FitSettings, InspectSettings,
    LimitsSettings, MergeSettings, PatchsetSettings, PruneSettings, RankSettings, RenameSettings,
    ScanSettings, SignificanceSettings, SortSettings, ToysSettings, UpperLimitSettings,
};

/// Runs the program with the given arguments, the first of which is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    // A file that exceeds a size limit is a write error, not the end of the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let mut printer = Printer::new(args.color, args.quiet);
    let finished = run(args, &mut printer);
    let finished = match printer.take_unwritten() {
        Some(error) if finished.is_ok() => Err(error),
        _ => finished,
    };
    let exit = match finished {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(&error);
            error.exit()
        }
    };
    ExitCode::from(exit.code())
}

fn run(args: Args, printer: &mut Printer) -> Result<Exit, Error> {
    let format = args.format;
    match args.command {
        Command::Inspect(args) => {
            commands::inspect(&InspectSettings::resolve(args, format), printer)
        }
        Command::Fit(args) => commands::fit(&FitSettings::resolve(args, format)?, printer),
        Command::Cls(args) => commands::cls(&ClsSettings::resolve(args, format), printer),
        Command::UpperLimit(args) => {
            commands::upper_limit(&UpperLimitSettings::resolve(args, format)?, printer)
        }
        Command::Significance(args) => {
            commands::significance(&SignificanceSettings::resolve(args, format), printer)
        }
        Command::Scan(args) => commands::scan(&ScanSettings::resolve(args, format)?, printer),
        Command::Rank(args) => commands::rank(&RankSettings::resolve(args, format), printer),
        Command::Toys(args) => commands::toys(&ToysSettings::resolve(args, format)?, printer),
        Command::Limits(args) => commands::limits(&LimitsSettings::resolve(args, format)?, printer),
        Command::Merge(args) => commands::merge(&MergeSettings::resolve(args, format), printer),
        Command::Attach(args) => commands::attach(&AttachSettings::resolve(args, format), printer),
        Command::Prune(args) => commands::prune(&PruneSettings::resolve(args), printer),
        Command::Rename(args) => commands::rename(&RenameSettings::resolve(args), printer),
        Command::Combine(args) => commands::combine(&CombineSettings::resolve(args)?, printer),
        Command::Sort(args) => commands::sort(&SortSettings::resolve(args), printer),
        Command::Digest(args) => commands::digest(&DigestSettings::resolve(args, format)?, printer),
        Command::Patchset(args) => commands::patchset(&PatchsetSettings::resolve(args), printer),
    }
}

fn usage(error: &clap::Error) -> ExitCode {
    // clap returns help and version as errors; here they are not.
    let _ = error.print();
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
    ExitCode::from(exit.code())
}

/// The command-line interface, for the generated reference.
pub fn interface() -> clap::Command {
    Args::command()
}

/// The JSON Schemas of its documents, by name.
pub fn schemas() -> impl Iterator<Item = (&'static str, schemars::Schema)> {
    commands::schemas().into_iter()
}
