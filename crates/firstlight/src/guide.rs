//! Decides how a case continues: passes the engine's readings to the analysis.

use std::collections::BTreeMap;

use firstlight_analysis::rebuild::sample;
use firstlight_analysis::stopping::{GiveUp, Terms, calls, is_narrow_enough};
use firstlight_engine::sampling::{ArmReadings, Guidance, Guide};
use firstlight_schema::finding::Reason;
use firstlight_schema::reading::{RawRecord, RawSample, Subject};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{CaseFile, SuiteFile};

/// Follows the analysis's rules for one case.
pub(crate) struct CaseGuide<'a> {
    suite: &'a SuiteFile,
    case: &'a CaseFile,
    /// By arm, with its second measurement as a control separate.
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

    /// Whether the case needs more warm processes, and the number of calls of each.
    fn guide(&mut self, arms: &mut [&mut ArmReadings]) -> Guidance {
        let taken: Vec<Vec<Sample>> = arms.iter_mut().map(|arm| self.take_warm(arm)).collect();
        let iterations = taken.iter().map(|samples| calls(samples)).collect();
        // The reference comes first; its control, which has the same name, comes after it.
        let reference = self.suite.reference_of(self.case);
        let mut order: Vec<usize> = (0..arms.len()).collect();
        order.sort_by_key(|&place| reference != Some(&arms[place].arm));
        let samples: Vec<&[Sample]> = order.into_iter().map(|place| &taken[place][..]).collect();
        let enough = is_narrow_enough(&samples, self.suite.target_of(self.case));
        for (arm, samples) in arms.iter_mut().zip(taken) {
            put_back(arm, samples);
        }
        Guidance { enough, iterations }
    }
}

impl CaseGuide<'_> {
    /// Moves the warm processes out of an arm's readings and examines them. A second copy of all calls would
    /// double the memory of the measuring process.
    fn take_warm(&self, arm: &mut ArmReadings) -> Vec<Sample> {
        let mut samples = Vec::new();
        for of in arm.regimes.iter_mut().filter(|of| !of.regime.is_cold()) {
            for (round, raw) in std::mem::take(&mut of.samples) {
                let subject = Subject {
                    case: self.case.name.get_ref().clone(),
                    arm: arm.arm.clone(),
                    regime: Some(of.regime),
                    round: Some(round),
                    again: false,
                };
                let record = RawRecord { subject: Some(subject), sample: raw };
                samples.push(sample(record, of.regime, self.suite));
            }
        }
        samples
    }
}

/// Moves the readings of the warm processes back.
fn put_back(arm: &mut ArmReadings, samples: Vec<Sample>) {
    if let Some(of) = arm.regimes.iter_mut().find(|of| !of.regime.is_cold()) {
        let raw = |sample: Sample| (sample.round.unwrap_or_default(), sample.raw);
        of.samples = samples.into_iter().map(raw).collect();
    }
}
