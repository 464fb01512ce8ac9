//! Findings of a document: one entry for each finding, with all its messages.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};

/// A finding with all its messages and places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingText {
    pub finding: Finding,
    pub places: Vec<Place>,
}

/// The place of a finding, and its message there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub place: String,
    pub text: String,
}

#[derive(Default)]
struct Collection(Vec<FindingText>);

impl Collection {
    fn add(&mut self, place: &str, reason: &Reason) {
        let place = Place { place: place.to_owned(), text: reason.text.clone() };
        match self.0.iter_mut().find(|entry| entry.finding == reason.finding) {
            Some(entry) => entry.places.push(place),
            None => self.0.push(FindingText { finding: reason.finding, places: vec![place] }),
        }
    }
}

/// All findings of a case, those that make samples invalid first.
pub(crate) fn of_the_case(case: &CaseResult) -> Vec<FindingText> {
    let mut collection = Collection::default();
    for arm in &case.arms {
        for regime in &arm.regimes {
            invalid(arm, regime, &mut collection);
        }
        for finding in arm.stopped.iter().chain(&arm.findings) {
            collection.add(&arm.name, finding);
        }
    }
    for arm in &case.arms {
        for regime in &arm.regimes {
            let place = format!("{}, {}", arm.name, regime.regime);
            regime.notices.iter().for_each(|notice| collection.add(&place, notice));
        }
    }
    collection.0
}

/// Findings about the machine as a whole.
pub(crate) fn of_the_machine(document: &RunDocument) -> Vec<FindingText> {
    let mut collection = Collection::default();
    document.machine_notices.iter().for_each(|notice| collection.add("the machine", notice));
    collection.0
}

/// The reasons of invalid samples: the first of each kind, and the number of samples with it.
fn invalid(arm: &ArmResult, regime: &RegimeResult, collection: &mut Collection) {
    let mut seen: Vec<Finding> = Vec::new();
    for reason in regime.samples.iter().flat_map(|sample| &sample.reasons) {
        if seen.contains(&reason.finding) {
            continue;
        }
        seen.push(reason.finding);
        let carries = |reasons: &[Reason]| reasons.iter().any(|one| one.finding == reason.finding);
        let invalid = regime.samples.iter().filter(|sample| carries(&sample.reasons)).count();
        let text =
            format!("{} (invalid: {invalid} of {} processes)", reason.text, regime.samples.len());
        let place = format!("{}, {}", arm.name, regime.regime);
        collection.add(&place, &Reason::new(reason.finding, text));
    }
}
