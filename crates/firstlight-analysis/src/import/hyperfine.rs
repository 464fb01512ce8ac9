//! hyperfine: commands with `times`, seconds of whole processes. The file contains neither the machine nor
//! the date.
//!
//! The commands of one file are alternatives, so they are the arms of one case.

use std::num::NonZeroU64;

use firstlight_schema::suite::Regime;

use super::foreign::{Foreign, ForeignArm, ForeignCase, Process, unknown_machine, unused};
use super::place::Place;
use super::{ImportError, Source};

pub(super) fn read(root: &Place<'_>) -> Result<Foreign, ImportError> {
    let mut arms: Vec<ForeignArm> = Vec::new();
    for result in root.key("results")?.items()? {
        let taken: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        let name = unused(result.key("command")?.name()?, &taken);
        let Some(times) = result.maybe("times") else {
            return result.error("has no `times`, the values behind its mean");
        };
        let times: Vec<Place<'_>> = times.items()?.collect();
        let codes = exit_codes(&result, times.len())?;
        let processes: Result<Vec<Process>, ImportError> = times
            .iter()
            .zip(codes)
            .map(|(time, exit_code)| {
                let values = vec![time.timed(NonZeroU64::MIN, 1.0)?];
                Ok(Process { exit_code, values, ..Process::default() })
            })
            .collect();
        let processes = processes?;
        if !processes.is_empty() {
            arms.push(ForeignArm { name, regime: Regime::Fresh, processes });
        }
    }
    let name = Source::Hyperfine.name().to_owned();
    let cases = if arms.is_empty() { Vec::new() } else { vec![ForeignCase { name, arms }] };
    Ok(Foreign {
        source: Source::Hyperfine,
        version: None,
        created: None,
        machine: unknown_machine(),
        python: None,
        failed: Vec::new(),
        unknown: vec![
            "the machine",
            "when it was measured",
            "when the first result was there",
            "the packages and their versions",
        ],
        cases,
    })
}

/// Codes exist since hyperfine 1.12; `null` is a process killed by a signal.
fn exit_codes(result: &Place<'_>, wanted: usize) -> Result<Vec<i32>, ImportError> {
    let Some(place) = result.maybe("exit_codes") else { return Ok(vec![0; wanted]) };
    let mut codes = Vec::new();
    for code in place.items()? {
        codes.push(if code.is_null() { -1 } else { i32::try_from(code.integer()?).unwrap_or(-1) });
    }
    if codes.len() == wanted {
        return Ok(codes);
    }
    place.error(format!("has {} codes for {wanted} times", codes.len()))
}
