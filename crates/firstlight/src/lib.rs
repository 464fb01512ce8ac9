//! The shell: arguments become settings, settings become a command, its result an exit code.

mod args;
mod cluster;
mod cold_suite;
mod commands;
mod config;
mod environment;
mod error;
mod escaping;
mod gate;
mod guide;
mod harness;
mod merging;
mod opening;
mod output;
mod printer;
mod progress;
mod publishing;
mod recorder;
mod sealing;
mod settings;
mod verification;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use firstlight_engine::interrupt::outlive_file_limits;
use firstlight_engine::process::{WATCH_ARGUMENT, watch_over};
use firstlight_engine::snapshot::Files;
use firstlight_schema::exit_code::Exit;

use args::{Args, Command, DoctorArgs, ListArgs};
use error::Error;
use printer::Printer;
use settings::{
    BisectSettings, ColdSettings, CompareSettings, ConformanceSettings, DoctorSettings,
    ExportSettings, GateSettings, ImportSettings, ListSettings, MergeSettings, NewSettings,
    PublishSettings, ReportSettings, RunSettings, ShowSettings, SnapshotSettings, StatusSettings,
    TraceSettings, VerifySettings, WarmSettings,
};

/// Runs the program with the given arguments, the first of which is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [_, argument, mark] = arguments.as_slice()
        && argument == WATCH_ARGUMENT
    {
        watch_over(&mark.to_string_lossy());
        return ExitCode::SUCCESS;
    }
    // Without it, a limit on file sizes kills the program instead of causing an error.
    let _ = outlive_file_limits();
    let typed: Vec<String> =
        arguments.iter().map(|one| one.to_string_lossy().into_owned()).collect();
    let args = match Args::try_parse_from(&arguments) {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let mut printer = Printer::new(args.color, args.quiet);
    let configured = config::configured(args, &interface(), &arguments);
    let done = configured.and_then(|args| run(args, &typed, &mut printer));
    let exit = done.unwrap_or_else(|error| {
        printer.error(&error);
        error.exit()
    });
    ExitCode::from(finish(exit, &mut printer).code())
}

/// A command whose result could not be written has failed.
fn finish(exit: Exit, printer: &mut Printer) -> Exit {
    let Some(error) = printer.take_unwritten() else { return exit };
    printer.error(&error);
    if exit == Exit::Ok { error.exit() } else { exit }
}

fn run(args: Args, typed: &[String], printer: &mut Printer) -> Result<Exit, Error> {
    match args.command {
        Command::Cold(cold) => {
            commands::cold(&ColdSettings::resolve(cold, args.format, typed)?, printer)
        }
        Command::Doctor(DoctorArgs {}) => {
            commands::doctor(&DoctorSettings::resolve(args.format), printer)
        }
        Command::Gate(gate) => {
            commands::gate(&GateSettings::resolve(gate, args.format, typed)?, printer)
        }
        Command::Bisect(bisect) => {
            commands::bisect(&BisectSettings::resolve(bisect, args.format, typed)?, printer)
        }
        Command::Compare(compare) => {
            commands::compare(&CompareSettings::resolve(compare, args.format), printer)
        }
        Command::Conformance(conformance) => {
            let settings = ConformanceSettings::resolve(conformance, args.format);
            commands::conformance(&settings, printer)
        }
        Command::Publish(publish) => {
            commands::publish(&PublishSettings::resolve(publish, args.format), printer)
        }
        Command::Report(report) => commands::report(&ReportSettings::resolve(report), printer),
        Command::Export(export) => commands::export(&ExportSettings::resolve(export), printer),
        Command::Import(import) => {
            commands::import(&ImportSettings::resolve(import, args.format), printer)
        }
        Command::Show(show) => commands::show(&ShowSettings::resolve(show, args.format), printer),
        Command::Run(run) => commands::run(&RunSettings::resolve(run, args.format, typed), printer),
        Command::Snapshot(snapshot) => {
            commands::snapshot(&SnapshotSettings::resolve(snapshot, args.format), printer)
        }
        Command::Status(status) => {
            commands::status(&StatusSettings::resolve(status, args.format), printer)
        }
        Command::Trace(trace) => {
            commands::trace(&TraceSettings::resolve(trace, args.format)?, printer)
        }
        Command::List(ListArgs {}) => commands::list(&ListSettings::resolve(args.format), printer),
        Command::Merge(merge) => {
            commands::merge(&MergeSettings::resolve(merge, args.format, typed), printer)
        }
        Command::New(new) => commands::new(&NewSettings::resolve(new), printer),
        Command::Warm(warm) => {
            commands::warm(&WarmSettings::resolve(warm, args.format, typed)?, printer)
        }
        Command::Verify(verify) => {
            commands::verify(&VerifySettings::resolve(verify, args.format), printer)
        }
    }
}

fn usage(error: &clap::Error) -> ExitCode {
    // clap returns help and version as errors; here they are not.
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
    let mut printer = Printer::new(clap::ColorChoice::Auto, false);
    printer.note(error.print());
    ExitCode::from(finish(exit, &mut printer).code())
}

/// Whether a snapshot passes every rule, for the campaign that tries to hide errors from them.
#[doc(hidden)]
pub fn is_sound(files: &Files, key: Option<&str>) -> Result<bool, String> {
    let checked = verification::validate(files, Path::new("snapshot"), key);
    checked.map(|document| document.passed).map_err(|error| error.to_string())
}

/// The command-line interface, for the generated reference.
pub fn interface() -> clap::Command {
    Args::command()
}
