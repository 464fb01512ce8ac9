//! Tasks that need the product: checked and generated files, pages, benches. Started by `cargo xtask`.

#![expect(clippy::print_stdout, reason = "a chore talks to whoever started it")]

mod api;
mod bench;
mod book;
mod captions;
mod checklist;
mod generate;
mod layering;
mod licences;
mod links;
mod pages;
mod share;
mod support;
mod unsafety;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Chores that need the product itself", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check layers, licences, links and generated files
    Check,
    /// Build the documentation site into target/book/site
    Docs,
    /// Write the JSON Schemas, the reference pages and the figures
    Generate {
        /// Report outdated files without writing anything
        #[arg(long)]
        check: bool,
    },
    /// Write completions, manual pages and the licences of dependencies of a program
    Share {
        /// firstlight or histfactory
        program: String,
        /// The folder that gets `share`
        folder: PathBuf,
        /// The target whose crates are listed
        #[arg(long)]
        target: String,
    },
    /// Measure firstlight itself and other tools; needs a quiet machine and some minutes
    Bench {
        /// Benches to run; without names, all except the long ones
        #[arg(value_parser = bench::names())]
        names: Vec<String>,
    },
}

fn check() -> xtask::shell::Result {
    layering::check()?;
    licences::check()?;
    links::check()?;
    checklist::check()?;
    generate::generate(true)
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Check => check(),
        Chore::Docs => book::build(),
        Chore::Generate { check } => generate::generate(check),
        Chore::Share { program, folder, target } => share::write(&program, &folder, &target),
        Chore::Bench { names } => bench::bench(&names),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("failed: {problem}");
            ExitCode::FAILURE
        }
    }
}
