//! Whether a case has been measured enough: from what the engine took to what the analysis says.

use firstlight_analysis::guide::{calls, is_narrow_enough};
use firstlight_analysis::rebuild::sample;
use firstlight_engine::sampling::{ArmReadings, Guidance, RegimeReadings};
use firstlight_schema::reading::{RawRecord, Subject};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{CaseFile, SuiteFile};

/// Whether a case needs more warm processes, and how many calls they are to make.
pub(super) fn guidance(arms: &[&ArmReadings], suite: &SuiteFile, case: &CaseFile) -> Guidance {
    let mut samples: Vec<(bool, Vec<Sample>)> = arms
        .iter()
        .map(|arm| {
            let is_reference = suite.reference_of(case) == Some(&arm.arm);
            let warm = |of| warm_samples(of, &arm.arm, suite, case);
            (is_reference, arm.regimes.iter().flat_map(warm).collect())
        })
        .collect();
    let iterations = samples.iter().map(|(_, samples)| calls(samples)).collect();
    // The reference stands first; its control, which has its name, comes after it.
    samples.sort_by_key(|&(is_reference, _)| !is_reference);
    let samples: Vec<Vec<Sample>> = samples.into_iter().map(|(_, samples)| samples).collect();
    Guidance { enough: is_narrow_enough(&samples, suite.warm.target), iterations }
}

fn warm_samples(of: &RegimeReadings, arm: &str, suite: &SuiteFile, case: &CaseFile) -> Vec<Sample> {
    if of.regime.is_cold() {
        return Vec::new();
    }
    let subject = |round| Subject {
        case: case.name.get_ref().clone(),
        arm: arm.to_owned(),
        regime: Some(of.regime),
        round: Some(round),
        again: false,
    };
    let examined = |(round, raw): &(u32, _)| {
        let record = RawRecord { subject: Some(subject(*round)), sample: Clone::clone(raw) };
        sample(record, of.regime, suite)
    };
    of.samples.iter().map(examined).collect()
}
