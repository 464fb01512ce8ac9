//! `cargo xtask bench`: measures firstlight and other tools in one run.
//!
//! Each bench prints its figures and whether they meet the limits of the design. Nothing here is a test: on a
//! noisy machine a figure may fall short, which the bench reports.

mod analysis;
mod arms;
mod histfactory;
mod hooks;
mod ledger;
mod losses;
mod memory;
mod merge;
mod publish;
mod published;
mod report;
mod scaling;
mod spawn;
mod suites;
mod torch;
mod trace;
mod verify;

use std::path::PathBuf;
use std::process::Command;

use firstlight_schema::run::{RegimeResult, RunDocument};
use tempfile::TempDir;

use xtask::python;
use xtask::shell::{Result, cargo, root, step};

/// The requirements of a bench: the release binary, an interpreter with JAX, a separate folder.
struct Workshop {
    binary: PathBuf,
    python: PathBuf,
    folder: TempDir,
}

/// Benches with large dependencies or long run times, which only run on request.
const LARGE: [&str; 7] = ["losses", "merge", "published", "scaling", "suites", "torch", "trace"];

/// Benches of other programs.
const WITHOUT_FIRSTLIGHT: [&str; 4] = ["histfactory", "losses", "published", "scaling"];

/// Benches that measure the environment of the tests.
const WITH_JAX: [&str; 4] = ["arms", "hooks", "ledger", "memory"];

type Bench = fn(&Workshop) -> Result;

const BENCHES: [(&str, Bench); 17] = [
    ("spawn", spawn::bench),
    ("memory", memory::bench),
    ("ledger", ledger::bench),
    ("hooks", hooks::bench),
    ("arms", arms::bench),
    ("analysis", analysis::bench),
    ("report", report::bench),
    ("verify", verify::bench),
    ("merge", merge::bench),
    ("publish", publish::bench),
    ("histfactory", histfactory::bench),
    ("losses", losses::bench),
    ("published", published::bench),
    ("scaling", scaling::bench),
    ("suites", suites::bench),
    ("torch", torch::bench),
    ("trace", trace::bench),
];

pub(crate) fn names() -> [&'static str; BENCHES.len()] {
    BENCHES.map(|(name, _)| name)
}

pub(crate) fn bench(names: &[String]) -> Result {
    let wanted = |name: &str| match names {
        [] => !LARGE.contains(&name),
        names => names.iter().any(|one| one == name),
    };
    if BENCHES.iter().any(|(name, _)| wanted(name) && !WITHOUT_FIRSTLIGHT.contains(name)) {
        let build = ["build", "--release", "--quiet", "--package", "firstlight"];
        step("the release binary", cargo().args(build))?;
    }
    let python = WITH_JAX.into_iter().any(wanted);
    let workshop = Workshop {
        binary: root().join("target/release/firstlight"),
        python: if python { python::environment()? } else { PathBuf::new() },
        folder: tempfile::tempdir().map_err(|error| error.to_string())?,
    };
    for (name, bench) in BENCHES {
        if wanted(name) {
            bench(&workshop)?;
        }
    }
    Ok(())
}

impl Workshop {
    fn firstlight(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .env("FIRSTLIGHT_RUNS", self.folder.path().join("runs"))
            .env("JAX_PLATFORMS", "cpu");
        command
    }

    fn script(name: &str) -> String {
        root().join("benches").join(name).display().to_string()
    }

    /// The result of `firstlight cold` with these options for this command, in its only regime.
    fn cold(&self, options: &[&str], command: &[&str]) -> Result<RegimeResult> {
        let mut whole = vec!["cold", "--format", "json", "--quiet"];
        whole.extend(options);
        whole.push("--");
        whole.extend(command);
        let json = xtask::shell::output(&mut self.firstlight(&whole))?;
        let document: RunDocument =
            serde_json::from_str(&json).map_err(|error| error.to_string())?;
        let arms = document.cases.into_iter().flat_map(|case| case.arms);
        arms.flat_map(|arm| arm.regimes).next().ok_or_else(|| "nothing was measured".to_owned())
    }
}

/// A line of a bench's result.
fn judge(what: &str, figure: &str, wanted: &str, met: bool) {
    let verdict = if met { "meets" } else { "FALLS SHORT OF" };
    println!("   {what}: {figure}, {verdict} {wanted}");
}

/// The same for a figure with an interval and a limit.
fn judge_interval(what: &str, figure: &str, wanted: &str, (low, high): (f64, f64), limit: f64) {
    let verdict = if high <= limit {
        "meets"
    } else if low > limit {
        "FALLS SHORT OF"
    } else {
        "cannot be distinguished from"
    };
    println!("   {what}: {figure}, {verdict} {wanted}");
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}
