//! What is wrong or worth knowing: each finding once, where it was found, and what to do about it.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};

use super::page::{BOLD, Page};

const SHOWN_PLACES: usize = 4;

/// A finding with everything that was said of it, and where.
struct Told {
    finding: Finding,
    places: Vec<(String, String)>,
}

#[derive(Default)]
struct Collection(Vec<Told>);

impl Collection {
    fn add(&mut self, place: &str, reason: &Reason) {
        let said = (place.to_owned(), reason.text.clone());
        match self.0.iter_mut().find(|told| told.finding == reason.finding) {
            Some(told) => told.places.push(said),
            None => self.0.push(Told { finding: reason.finding, places: vec![said] }),
        }
    }

    fn print(&self, page: &mut Page) {
        for told in &self.0 {
            page.gap();
            for (index, (place, text)) in told.places.iter().take(SHOWN_PLACES).enumerate() {
                match index {
                    0 => page.sentence(&format!("{BOLD}{}{BOLD:#}: {place}: {text}", told.finding)),
                    _ => page.sentence(&format!("  {place}: {text}")),
                }
            }
            if told.places.len() > SHOWN_PLACES {
                let rest = &told.places[SHOWN_PLACES..];
                let places: Vec<&str> = rest.iter().map(|(place, _)| place.as_str()).collect();
                page.sentence(&format!("  and in {}", places.join("; ")));
            }
            if let Some(advice) = told.finding.advice() {
                page.sentence(&format!("  → {advice}"));
            }
        }
    }
}

/// All findings of a case: what makes samples invalid first.
pub(super) fn findings(page: &mut Page, case: &CaseResult) {
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
    collection.print(page);
}

/// Findings about the machine as a whole.
pub(super) fn of_the_machine(page: &mut Page, document: &RunDocument) {
    let mut collection = Collection::default();
    document.machine_notices.iter().for_each(|notice| collection.add("the machine", notice));
    collection.print(page);
}

/// The reasons of invalid samples: the first of each kind, and how many samples carry it.
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
