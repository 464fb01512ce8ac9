//! How a case goes on: from what the engine took to what the analysis says of it.

use std::collections::BTreeMap;

use firstlight_analysis::rebuild::sample;
use firstlight_analysis::stopping::{GiveUp, Terms, calls, is_narrow_enough};
use firstlight_engine::sampling::{ArmReadings, Guidance, Guide, RegimeReadings};
use firstlight_schema::finding::Reason;
use firstlight_schema::reading::{RawRecord, RawSample, Subject};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{CaseFile, SuiteFile};

/// Follows the analysis' rules for one case.
pub(crate) struct CaseGuide<'a> {
    suite: &'a SuiteFile,
    case: &'a CaseFile,
    /// By arm, its second measurement as a control apart.
    give_up: BTreeMap<(String, bool), GiveUp>,
}

impl<'a> CaseGuide<'a> {
    pub(crate) fn new(suite: &'a SuiteFile, case: &'a CaseFile) -> Self {
        Self { suite, case, give_up: BTreeMap::new() }
    }
}

impl Guide for CaseGuide<'_> {
    fn gives_up(&mut self, subject: &Subject, sample: &RawSample) -> Option<Reason> {
        let terms = Terms::new(self.suite, &subject.arm, subject.regime);
        let arm = (subject.arm.clone(), subject.again);
        self.give_up.entry(arm).or_default().after(sample, subject.regime, terms)
    }

    /// Whether the case needs more warm processes, and how many calls they are to make.
    fn guide(&mut self, arms: &[&ArmReadings]) -> Guidance {
        let mut samples: Vec<(bool, Vec<Sample>)> = arms
            .iter()
            .map(|arm| {
                let is_reference = self.suite.reference_of(self.case) == Some(&arm.arm);
                let warm = |of| warm_samples(of, &arm.arm, self.suite, self.case);
                (is_reference, arm.regimes.iter().flat_map(warm).collect())
            })
            .collect();
        let iterations = samples.iter().map(|(_, samples)| calls(samples)).collect();
        // The reference stands first; its control, which has its name, comes after it.
        samples.sort_by_key(|&(is_reference, _)| !is_reference);
        let samples: Vec<Vec<Sample>> = samples.into_iter().map(|(_, samples)| samples).collect();
        let target = self.suite.target_of(self.case);
        Guidance { enough: is_narrow_enough(&samples, target), iterations }
    }
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
