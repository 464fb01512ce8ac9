//! The shell: arguments become settings, settings become a command, its result an exit code.

mod args;
mod cold_suite;
mod commands;
mod environment;
mod error;
mod guide;
mod harness;
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
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use firstlight_schema::exit_code::Exit;

use args::{Args, Command, DoctorArgs, ListArgs};
use error::Error;
use printer::Printer;
use settings::{
    ColdSettings, CompareSettings, DoctorSettings, ExportSettings, ImportSettings, ListSettings,
    NewSettings, PublishSettings, ReportSettings, RunSettings, ShowSettings, SnapshotSettings,
    TraceSettings, VerifySettings, WarmSettings,
};

/// Runs the program with the given arguments, the first of which is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let typed = arguments.iter().map(|one| one.to_string_lossy().into_owned()).collect();
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let mut printer = Printer::new(args.color, args.quiet);
    let exit = match run(args, typed, &mut printer) {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(&error);
            error.exit()
        }
    };
    ExitCode::from(exit.code())
}

fn run(args: Args, typed: Vec<String>, printer: &mut Printer) -> Result<Exit, Error> {
    match args.command {
        Command::Cold(cold) => {
            commands::cold(&ColdSettings::resolve(cold, args.format, typed)?, printer)
        }
        Command::Doctor(DoctorArgs {}) => {
            commands::doctor(&DoctorSettings::resolve(args.format), printer)
        }
        Command::Compare(compare) => {
            commands::compare(&CompareSettings::resolve(compare, args.format), printer)
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
        Command::Trace(trace) => {
            commands::trace(&TraceSettings::resolve(trace, args.format)?, printer)
        }
        Command::List(ListArgs {}) => commands::list(&ListSettings::resolve(args.format), printer),
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
    // Help and version are errors to clap, and no errors to anyone else.
    let _ = error.print();
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
    ExitCode::from(exit.code())
}

/// The command-line interface, for the generated reference.
pub fn interface() -> clap::Command {
    Args::command()
}
