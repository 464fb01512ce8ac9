//! Checks `trace.json`, whose recordings are not stored: its summaries must follow from its own steps and
//! runs, and it must belong to this suite.

use firstlight_engine::snapshot::{Files, Shape, check_version, is_small_as_values, read_document};
use firstlight_schema::difference::{Difference, Kind, differences};
use firstlight_schema::snapshot::TRACE;
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::suite_trace::{self, SuiteTraceDocument};
use firstlight_schema::validation::{Place, Rule, RuleResult};
use firstlight_trace::{recomputed, tell_overheads};

use super::recompute::{SHOWN, place};
use super::shapes;

/// The checks of the result, and of the trace if the snapshot has one.
pub(super) fn beside(numbers: RuleResult, files: &Files, suite: &SuiteFile) -> RuleResult {
    let Some(content) = files.get(TRACE) else { return numbers };
    if !is_small_as_values(content) {
        let published = format!("{} bytes", content.len());
        return with(numbers, vec![Place::file(TRACE, published, "a document of usual size")]);
    }
    let published = check_version(content, suite_trace::NAME, suite_trace::VERSION)
        .and_then(|version| read_document(Shape::SuiteTrace, content, version));
    let published: SuiteTraceDocument = match published {
        Ok(published) => published.document,
        Err(error) => return with(numbers, vec![Place::file(TRACE, error, "a suite-trace")]),
    };
    let mut places = identity(&published, suite);
    let mut expected = published.clone();
    for trace in expected.arms.iter_mut().filter_map(|arm| arm.trace.as_mut()) {
        *trace = recomputed(trace);
    }
    tell_overheads(&mut expected);
    let found = differences(&shapes::value(&published), &shapes::value(&expected));
    let wrong = |one: &&Difference| one.kind != Kind::Rounding;
    places.extend(found.iter().filter(wrong).take(SHOWN).map(|one| place(TRACE, one)));
    with(numbers, places)
}

fn with(mut numbers: RuleResult, places: Vec<Place>) -> RuleResult {
    if places.is_empty() {
        numbers.evidence.push_str("; the trace adds up");
        return numbers;
    }
    let evidence = format!("{}; the trace does not add up", numbers.evidence);
    let places = std::mem::take(&mut numbers.places).into_iter().chain(places).collect();
    RuleResult::unless(Rule::Numbers, places, evidence)
}

/// Checks that it belongs to this suite, to its first case and to existing arms.
fn identity(published: &SuiteTraceDocument, suite: &SuiteFile) -> Vec<Place> {
    let mut places = Vec::new();
    let mut same = |path: &str, published: &str, expected: &str| {
        if published != expected {
            places.push(Place::file(TRACE, published, expected).at(path));
        }
    };
    same("/suite", &published.suite, &suite.name);
    let Some(case) = suite.cases.first() else { return places };
    same("/case", &published.case, case.name.get_ref());
    let reference = suite.reference_of(case).unwrap_or_default();
    same("/reference", published.reference.as_deref().unwrap_or_default(), reference);
    for (index, arm) in published.arms.iter().enumerate() {
        if !suite.arms_of(case).any(|own| *own.name.get_ref() == arm.arm) {
            same(&format!("/arms/{index}/arm"), &arm.arm, "an arm of the case");
        }
    }
    places
}
