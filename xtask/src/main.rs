//! Development tasks of firstlight: `cargo xtask test`, `cargo xtask generate`, `cargo xtask bench`.
//!
//! The driver has no dependencies, so that a fresh clone starts testing immediately. Tasks that need the
//! product are passed on to `workbench`.

#![expect(clippy::print_stdout, reason = "a chore talks to whoever started it")]

use std::path::Path;
use std::process::ExitCode;

use xtask::shell::{Result, cargo, step};
use xtask::wheel::Product;
use xtask::{dist, kernels, prebuilt, release, suite, test, wheel};

const HELP: &str = "\
firstlight's own chores

Usage: cargo xtask <CHORE>

Chores:
  test                everything that must pass: formatting, lints, layers, licences,
                      generated files, snapshots, Rust and Python tests
  generate [--check]  write the JSON Schemas, reference pages and figures, or check them
  kernels [--check]   compile the CUDA kernels of histfactory, or check the compiled ones
  docs                build the documentation site into target/book/site
  bench [NAME]...     measure firstlight itself beside its peers; needs a quiet machine
  faults [SEED]       try to break firstlight: faults, signals, full disks, forged snapshots
  fuzz [MINUTES]      run the seeded fuzzers, an hour in total before a release
  sanitize            run the tests of crates with unsafe code under AddressSanitizer
  coverage [RUNS]     print how often intervals cover known truths, scenario by scenario
  simulate-cluster    play a scheduler with 1,000 nodes, failures and pre-emptions on paper
  wheel [FILE]...     build both wheels into target/wheels, for this machine; with files, try these
                      wheels in empty environments and on other systems
  dist [--twice]      build and check what is published into target/dist
  release VERSION     check everything that a release needs, and tag it [--dry-run]
  suite [OPTION]...   run the suite `histfactory` on the wheel and runner of this repository
";

/// The complete hostile campaign of firstlight's own tests.
fn faults(arguments: &[String]) -> Result {
    let seed = arguments.first().map_or("1", String::as_str);
    let programs =
        ["build", "--quiet", "--package", "firstlight", "--package", "firstlight-replay"];
    step("the programs", cargo().args(programs).arg("--bins"))?;
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "firstlight", "--example", "faults"]);
    step("the campaign", command.arg(seed))
}

/// Every fuzzer is a test, and each gets the same share of the time. `cargo test` runs as many at once as
/// there are cores, so the elapsed time is shorter than the sum.
fn fuzz(arguments: &[String]) -> Result {
    /// The package, the file of its tests, and the number of fuzzers in that file.
    const FUZZERS: [(&str, &str, u64); 3] = [
        ("firstlight", "fuzz", 4),
        ("firstlight-trace", "fuzz", 6),
        ("histfactory", "mutation", 4),
    ];
    let minutes = arguments.first().map_or("60", String::as_str);
    let minutes: u64 = minutes.parse().map_err(|_| format!("invalid minutes `{minutes}`"))?;
    let count: u64 = FUZZERS.iter().map(|(_, _, count)| count).sum();
    let seconds = (minutes * 60).div_ceil(count).to_string();
    for (package, test, count) in FUZZERS {
        let mut command = cargo();
        command.args(["test", "--release", "--package", package, "--test", test]);
        command.args(["--", "--nocapture"]);
        command.env("FIRSTLIGHT_FUZZ_SECONDS", &seconds).env("HISTFACTORY_FUZZ_SECONDS", &seconds);
        step(&format!("{count} fuzzers of {package}, {seconds} s each"), &mut command)?;
    }
    Ok(())
}

/// Tests crates with unsafe code in a separate target folder, because every dependency is compiled
/// differently.
fn sanitize() -> Result {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let mut command = cargo();
    command.args(["test", "--target", TARGET, "--target-dir", "target/sanitize"]);
    command.args(["--package", "firstlight-engine", "--package", "firstlight-runner"]);
    // The sanitizer needs an unstable flag of an otherwise normal compiler. Leaks are not checked, because
    // watchers live as long as the process on purpose.
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    step("AddressSanitizer", command.env("ASAN_OPTIONS", "detect_leaks=0"))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Ok(real) = std::env::var(prebuilt::REAL_CARGO) {
        return prebuilt::cargo(&real, &arguments);
    }
    let (chore, rest) = match arguments.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("help", &[][..]),
    };
    let result = match chore {
        "test" => test::test(),
        "kernels" => kernels::kernels(rest),
        "wheel" => wheels(rest),
        "dist" => dist::dist(rest),
        "release" => release::release(rest),
        "suite" => suite::suite(rest),
        "coverage" => coverage(rest),
        "simulate-cluster" => simulate_cluster(),
        "faults" => faults(rest),
        "fuzz" => fuzz(rest),
        "sanitize" => sanitize(),
        "generate" | "docs" | "bench" => workbench(chore, rest),
        "help" | "-h" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => Err(format!("unknown chore `{unknown}`\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("\nfailed: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn workbench(chore: &str, arguments: &[String]) -> Result {
    let run = ["run", "--quiet", "--package", "workbench", "--", chore];
    step(chore, cargo().args(run).args(arguments))
}

fn wheels(files: &[String]) -> Result {
    if !files.is_empty() {
        if let Some(file) = files.iter().find(|file| !Path::new(file).is_file()) {
            return Err(format!("{file}: no such file"));
        }
        for line in dist::try_wheels(&files.iter().map(Path::new).collect::<Vec<_>>())? {
            println!("{line}");
        }
        return Ok(());
    }
    for product in Product::ALL {
        println!("{}", wheel::build(product, "release")?.display());
    }
    Ok(())
}

/// The planner and gatherer of `run --on slurm` with a simulated scheduler.
fn simulate_cluster() -> Result {
    let mut command = cargo();
    command.args(["run", "--release", "--quiet", "--package", "firstlight-analysis"]);
    step("a simulated cluster", command.args(["--example", "simulate_cluster"]))
}

/// The simulations of the analysis's tests, with enough runs for precise figures.
fn coverage(arguments: &[String]) -> Result {
    let runs = arguments.first().map_or("2000", String::as_str);
    let mut command = cargo();
    command.args(["run", "--release", "--quiet", "--package", "firstlight-analysis"]);
    step("coverage of the intervals", command.args(["--example", "coverage", runs]))
}
