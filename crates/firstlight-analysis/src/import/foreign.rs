//! The common form of all foreign files: cases, arms and processes with their times.

use std::num::NonZeroU64;

use firstlight_schema::machine::Machine;
use firstlight_schema::suite::Regime;

use super::Source;

/// A foreign file, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    pub source: Source,
    /// The version of the tool.
    pub version: Option<String>,
    /// The time of the measurement, as given in the file.
    pub created: Option<String>,
    pub machine: Machine,
    pub python: Option<String>,
    /// The facts that this format never contains, as text.
    pub(super) unknown: Vec<&'static str>,
    /// Benchmarks that failed according to the file: they have no times.
    pub(super) failed: Vec<String>,
    pub(super) cases: Vec<ForeignCase>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ForeignCase {
    pub(super) name: String,
    pub(super) arms: Vec<ForeignArm>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ForeignArm {
    pub(super) name: String,
    pub(super) regime: Regime,
    pub(super) processes: Vec<Process>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Process {
    pub(super) started: Option<String>,
    pub(super) exit_code: i32,
    pub(super) peak_rss_bytes: Option<u64>,
    pub(super) warm_ups: Vec<Timed>,
    /// The times of the calls, or of the process as a whole.
    pub(super) values: Vec<Timed>,
}

/// The total time of a number of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) calls: NonZeroU64,
    pub(super) ns: u64,
}

pub(super) fn unknown_machine() -> Machine {
    Machine { cpu: None, cores: None, memory_bytes: None, kernel: None }
}

/// A unique name: the second of two equal ones gets a number.
pub(super) fn unused(name: String, taken: &[&str]) -> String {
    if !taken.contains(&name.as_str()) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    numbered
        .into_iter()
        .find(|name| !taken.contains(&name.as_str()))
        .expect("there is always a larger number")
}

/// Adds a case with a single arm, named like the tool.
pub(super) fn add_case(
    cases: &mut Vec<ForeignCase>,
    name: String,
    source: Source,
    regime: Regime,
    processes: Vec<Process>,
) {
    let taken: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let name = unused(name, &taken);
    let arm = ForeignArm { name: source.name().to_owned(), regime, processes };
    cases.push(ForeignCase { name, arms: vec![arm] });
}
