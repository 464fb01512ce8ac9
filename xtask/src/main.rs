//! firstlight's own chores: `cargo xtask test`, `cargo xtask generate`, `cargo xtask bench`.

#![expect(clippy::print_stdout, reason = "a chore talks to whoever started it")]

mod bench;
mod generate;
mod layering;
mod licences;
mod pages;
mod python;
mod shell;
mod suite;
mod test;
mod wheel;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "firstlight's own chores")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must pass: formatting, lints, layers, licences, drift, Rust and Python tests
    Test,
    /// Write the JSON Schemas and the reference pages
    Generate {
        /// Only tell whether they are as they should be
        #[arg(long)]
        check: bool,
    },
    /// Build histfactory's wheel into target/wheels
    Wheel,
    /// Run the suite `histfactory` on the wheel and the runner of this repository
    ///
    /// `cargo xtask suite --profile tiny`; what follows goes to `firstlight run`
    Suite {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Print how often intervals cover truths that are known, scenario by scenario
    Coverage {
        /// Simulated runs of each scenario
        #[arg(default_value_t = 2000)]
        runs: u32,
    },
    /// Measure firstlight itself, beside its peers; needs a quiet machine and some minutes
    Bench {
        /// Which ones: spawn, hooks, ledger, memory, arms, analysis, report, verify, publish, histfactory,
        /// losses, suites, torch, trace; all but the last four when none is named
        names: Vec<String>,
    },
}

/// The fake runner of the analysis' tests, with enough runs for digits.
fn coverage(runs: u32) -> shell::Result {
    let mut command = shell::cargo();
    command.args(["run", "--release", "--quiet", "--package", "firstlight-analysis"]);
    command.args(["--example", "coverage", &runs.to_string()]);
    shell::step("coverage of the intervals", &mut command)
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Test => test::test(),
        Chore::Generate { check } => generate::generate(check),
        Chore::Wheel => wheel::build("release").map(|path| println!("{}", path.display())),
        Chore::Suite { arguments } => suite::suite(&arguments),
        Chore::Coverage { runs } => coverage(runs),
        Chore::Bench { names } => bench::bench(&names),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("\nfailed: {problem}");
            ExitCode::FAILURE
        }
    }
}
