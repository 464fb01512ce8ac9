//! Whether two shards are parts of one computation.

use std::fmt::Debug;

use super::{FitsQuestion, LimitsQuestion, ModelRecord, Question, ShardDocument, TestQuestion};

/// Fits to the same data on two kinds of processors differ by less than this, relative to one.
const ROUNDING: f64 = 1e-8;

/// A fact in which two shards differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) key: &'static str,
    pub(super) first: String,
    pub(super) other: String,
}

/// The first fact that must be the same and is not.
pub(super) fn mismatch(first: &ShardDocument, other: &ShardDocument) -> Option<Mismatch> {
    let (a, b) = (&first.model, &other.model);
    differs("histfactory", &first.histfactory, &other.histfactory)
        .or_else(|| of_models(a, b))
        .or_else(|| match (&first.question, &other.question) {
            (Question::Fits(a), Question::Fits(b)) => of_fits(a, b),
            (Question::Test(a), Question::Test(b)) => of_tests(a, b),
            (Question::Limits(a), Question::Limits(b)) => of_limits(a, b),
            (a, b) => differs("question", &kind(a), &kind(b)),
        })
}

/// Whether the observed data gave the same value to the last bit. Processors of different kinds may round
/// differently.
pub(super) fn same_bits(first: &ShardDocument, other: &ShardDocument) -> bool {
    observed(first).map(f64::to_bits) == observed(other).map(f64::to_bits)
}

fn observed(shard: &ShardDocument) -> Option<f64> {
    match &shard.question {
        Question::Fits(fits) => Some(fits.drawn_at),
        Question::Test(test) => Some(test.observed),
        Question::Limits(_) => None,
    }
}

const fn kind(question: &Question) -> &'static str {
    match question {
        Question::Fits(_) => "fits",
        Question::Test(_) => "test",
        Question::Limits(_) => "limits",
    }
}

fn of_models(a: &ModelRecord, b: &ModelRecord) -> Option<Mismatch> {
    differs("workspace", &a.workspace, &b.workspace)
        .or_else(|| differs("measurement", &a.measurement, &b.measurement))
        .or_else(|| differs("poi", &a.poi, &b.poi))
        .or_else(|| differs("normsys", &a.normsys, &b.normsys))
        .or_else(|| differs("histosys", &a.histosys, &b.histosys))
}

fn of_fits(a: &FitsQuestion, b: &FitsQuestion) -> Option<Mismatch> {
    differs("toys", &a.toys, &b.toys)
        .or_else(|| differs("seed", &a.seed, &b.seed))
        .or_else(|| differs("test-poi", &a.test_poi, &b.test_poi))
        .or_else(|| far("drawn_at", a.drawn_at, b.drawn_at))
}

fn of_tests(a: &TestQuestion, b: &TestQuestion) -> Option<Mismatch> {
    differs("toys", &a.toys, &b.toys)
        .or_else(|| differs("seed", &a.seed, &b.seed))
        .or_else(|| differs("test-stat", &a.test_stat, &b.test_stat))
        .or_else(|| differs("test-poi", &a.test_poi, &b.test_poi))
        .or_else(|| differs("search", &a.search, &b.search))
        .or_else(|| far("observed", a.observed, b.observed))
}

fn of_limits(a: &LimitsQuestion, b: &LimitsQuestion) -> Option<Mismatch> {
    differs("patchset", &a.patchset, &b.patchset)
        .or_else(|| differs("signals", &a.signals, &b.signals))
        .or_else(|| differs("level", &a.level, &b.level))
        .or_else(|| differs("search", &a.search, &b.search))
        .or_else(|| differs("extend-bound", &a.extend_bound, &b.extend_bound))
}

fn differs<T: PartialEq + Debug>(key: &'static str, first: &T, other: &T) -> Option<Mismatch> {
    (first != other).then(|| Mismatch {
        key,
        first: format!("{first:?}"),
        other: format!("{other:?}"),
    })
}

fn far(key: &'static str, first: f64, other: f64) -> Option<Mismatch> {
    let apart = (first - other).abs() > ROUNDING * first.abs().max(1.0);
    if apart { differs(key, &first, &other) } else { None }
}
