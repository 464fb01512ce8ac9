//! The conditions of valid samples: caches in their declared state, no compilation in a window.

use firstlight_schema::cache::Policy;
use firstlight_schema::message::{Message, Part};
use firstlight_schema::nanos::Moment;
use firstlight_schema::reading::Outcome;
use firstlight_schema::run::{ArmResult, RegimeResult, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::snapshot::RESULT;
use firstlight_schema::suite::Regime;
use firstlight_schema::validation::{Place, Rule, RuleOutcome, RuleResult};

/// The valid samples of a run, with their arm, their regime and their path in the document.
fn valid(
    document: &RunDocument,
) -> impl Iterator<Item = (&ArmResult, &RegimeResult, &Sample, String)> {
    document.cases.iter().enumerate().flat_map(|(c, case)| {
        case.arms.iter().enumerate().flat_map(move |(a, arm)| {
            arm.regimes.iter().enumerate().flat_map(move |(r, result)| {
                let samples = result.samples.iter().enumerate().filter(|(_, sample)| sample.valid);
                samples.map(move |(s, sample)| {
                    (arm, result, sample, format!("/cases/{c}/arms/{a}/regimes/{r}/samples/{s}"))
                })
            })
        })
    })
}

/// Checks that every valid sample has its caches counted, in the state that its regime declares.
pub fn cache_evidence(document: &RunDocument) -> RuleResult {
    let mut places = Vec::new();
    let (mut samples, mut layers) = (0, 0);
    for (arm, result, sample, at) in valid(document) {
        samples += 1;
        let mut wrong = |path: &str, published: String, expected: &str| {
            places.push(Place::file(RESULT, published, expected).at(format!("{at}{path}")));
        };
        let counted = &sample.raw.caches;
        layers += counted.len();
        if counted.is_empty() && result.policy.compilers != Policy::AsFound {
            wrong("/raw/caches", "nothing counted".to_owned(), "every cache counted");
        }
        for (place, reading) in counted.iter().enumerate() {
            let path = format!("/raw/caches/{place}");
            let declared = result.policy.for_layer(reading.layer);
            // Earlier versions gave a cold start empty caches that were switched on.
            let earlier = declared == Policy::AsConfigured && reading.policy == Policy::Clean;
            if reading.policy != declared && !earlier {
                wrong(&format!("{path}/policy"), reading.policy.to_string(), declared.name());
            }
            let empty = declared.starts_empty();
            if empty && reading.directory.is_some() && reading.before.entries > 0 {
                wrong(&format!("{path}/before/entries"), reading.before.entries.to_string(), "0");
            }
        }
        let primed = arm.priming.iter().any(|raw| raw.outcome == Outcome::Completed);
        if result.policy.needs_priming() && !primed {
            wrong("", "no priming process".to_owned(), "one that completed");
        }
    }
    let evidence = format!("{layers} inventories before and after {samples} valid samples");
    RuleResult::unless(Rule::CacheEvidence, places, evidence)
}

/// Checks that nothing was traced, lowered or compiled in the window of a valid warm sample.
pub fn no_compile_in_window(document: &RunDocument) -> RuleResult {
    let mut places = Vec::new();
    let (mut windows, mut calls) = (0, 0);
    for (_, _, sample, at) in valid(document).filter(|(_, one, ..)| one.regime == Regime::Warm) {
        let Some((open, close, count)) = bounds(sample) else {
            places.push(Place::file(RESULT, "no window", "measured calls").at(at));
            continue;
        };
        windows += 1;
        calls += count;
        for (place, message) in sample.raw.messages.iter().enumerate() {
            if let Message::Phase(edge) = message
                && edge.name.is_compilation()
                && (open..=close).contains(&edge.at)
            {
                let published = format!("{} at {}", edge.name, edge.at.0);
                let expected = format!("none between {} and {}", open.0, close.0);
                let at = format!("{at}/raw/messages/{place}");
                places.push(Place::file(RESULT, published, expected).at(at));
            }
        }
    }
    if windows == 0 && places.is_empty() {
        let evidence = "there is no valid warm sample";
        return RuleResult::new(Rule::NoCompileInWindow, RuleOutcome::NotChecked, evidence);
    }
    let evidence = format!("{calls} calls in {windows} windows of valid samples");
    RuleResult::unless(Rule::NoCompileInWindow, places, evidence)
}

fn bounds(sample: &Sample) -> Option<(Moment, Moment, usize)> {
    let mut spans = sample.raw.messages.iter().filter_map(|message| match message {
        Message::Iterations(block) if block.part == Part::Window => Some(&block.spans),
        _ => None,
    });
    let first = spans.next()?;
    let (open, mut close) = (first.first()?.0, first.last()?.1);
    let mut count = first.len();
    for block in spans {
        close = block.last().map_or(close, |span| span.1);
        count += block.len();
    }
    Some((open, close, count))
}
