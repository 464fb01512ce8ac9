//! Compares the published result with the one recomputed from the raw readings.

use std::thread;

use firstlight_analysis::rebuild::REVISION;
use firstlight_analysis::rules;
use firstlight_analysis::shards::rebuild;
use firstlight_engine::snapshot::{
    Files, Shape, check_shape, is_newer, is_small_as_values, understood,
};
use firstlight_schema::difference::{Difference, Kind, differences};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::{MANIFEST, Manifest, RAW, RESULT, TRACE, VALIDATION};
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::validation::{Place, Rule, RuleOutcome, RuleResult};
use firstlight_schema::version::Build;
use serde::Deserialize;
use serde_json::Value;

use super::{shapes, traced};
use crate::harness::build;

/// The inputs of a result, besides the raw readings.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) manifest: &'a Manifest,
    /// Of a merged snapshot.
    pub(crate) shards: &'a [Manifest],
    pub(crate) suite: &'a SuiteFile,
}

/// The largest number of listed places.
pub(super) const SHOWN: usize = 20;

/// Recomputes the result and checks both it and the published one against the rules. A caller that has just
/// computed it from these readings passes it on.
pub(super) fn check(
    files: &Files,
    whole: Whole<'_>,
    records: Vec<RawRecord>,
    mut wrong_shapes: Vec<Place>,
    known: Option<&RunDocument>,
) -> Vec<RuleResult> {
    let Whole { manifest, suite, .. } = whole;
    let processes = records.len();
    let newer = is_newer(manifest);
    let computed = known.cloned().or_else(|| recompute(whole, records));
    let Some(expected) = computed else {
        let place = Place::file(RAW, "times or counts that no process can have", "raw readings");
        return vec![RuleResult::unless(Rule::Numbers, vec![place], "nothing follows from them")];
    };
    let published = files.get(RESULT).unwrap_or_default();
    let body = published.strip_suffix(b"\n").unwrap_or(published);
    let same = shapes::is_written_as(body, &expected);
    let numbers = if same {
        let evidence = format!("the result follows from {processes} raw records, byte for byte");
        RuleResult::pass(Rule::Numbers, evidence)
    } else {
        compare(published, &expected, manifest, &mut wrong_shapes)
    };
    let numbers = traced::beside(numbers, files, suite);
    let documents =
        [(Shape::Manifest, MANIFEST), (Shape::Validation, VALIDATION), (Shape::SuiteTrace, TRACE)];
    for (shape, file) in documents {
        let Some(content) = files.get(file) else { continue };
        wrong_shapes.extend(check_document(shape, file, content, newer));
    }
    let mut rules = vec![
        numbers,
        rules::complete(&expected),
        rules::cache_evidence(&expected),
        rules::no_compile_in_window(&expected),
        rules::minimum_samples(&expected),
        rules::correctness(&expected),
        rules::control(&expected),
    ];
    if same {
        let short = shapes::shortened_run(expected);
        wrong_shapes.extend(check_shape(Shape::Run, RESULT, "", &short));
    }
    let mut evidence = format!("the manifest, the result and {processes} raw records");
    if newer {
        evidence.push_str(", as far as this firstlight knows them");
    }
    rules.push(RuleResult::unless(Rule::Schemas, wrong_shapes, evidence));
    rules
}

fn check_document(shape: Shape, file: &str, content: &[u8], newer: bool) -> Vec<Place> {
    if !is_small_as_values(content) {
        let published = format!("{} bytes", content.len());
        return vec![Place::file(file, published, "a document of usual size")];
    }
    match serde_json::from_slice::<Value>(content) {
        Ok(document) => {
            let document = if newer { understood(shape, document).document } else { document };
            check_shape(shape, file, "", &document)
        }
        Err(error) => vec![Place::file(file, error.to_string(), "a document")],
    }
}

/// Runs in a separate thread, which may panic on impossible readings.
pub(crate) fn recompute(whole: Whole<'_>, records: Vec<RawRecord>) -> Option<RunDocument> {
    let Whole { manifest, shards, suite } = whole;
    let work = || rebuild(manifest, shards, suite, records);
    thread::scope(|scope| scope.spawn(work).join().ok().flatten())
}

/// Compares place by place if the bytes differ.
fn compare(
    published: &[u8],
    expected: &RunDocument,
    manifest: &Manifest,
    wrong_shapes: &mut Vec<Place>,
) -> RuleResult {
    let newer = is_newer(manifest);
    let analysis = match revision(published) {
        Ok(analysis) => analysis,
        Err(error) => {
            let place = Place::file(RESULT, error, "a document `run`");
            return RuleResult::unless(Rule::Numbers, vec![place], "the result cannot be read");
        }
    };
    let small = is_small_as_values(published);
    let values = if small { serde_json::from_slice(published) } else { Ok(Value::Null) };
    let values = match values {
        Ok(values) => values,
        Err(error) => {
            let place = Place::file(RESULT, error.to_string(), "a document `run`");
            return RuleResult::unless(Rule::Numbers, vec![place], "the result cannot be read");
        }
    };
    let (values, left_out) = if newer && small {
        let known = understood(Shape::Run, values);
        (known.document, known.left_out)
    } else {
        (values, 0)
    };
    if small {
        wrong_shapes.extend(check_shape(Shape::Run, RESULT, "", &values));
    }
    if analysis != u64::from(REVISION) {
        let advice = if analysis > u64::from(REVISION) {
            "verify it with the firstlight that computed it"
        } else {
            "`firstlight snapshot --recompute` updates it"
        };
        let evidence = format!(
            "the result was computed by revision {analysis} of the analysis, this firstlight has \
             revision {REVISION}; {advice}"
        );
        return RuleResult::new(Rule::Numbers, RuleOutcome::Warn, evidence);
    }
    if !small {
        let at = shapes::first_difference(published, expected);
        let place = Place::file(RESULT, "another text", "what was recomputed");
        let evidence = format!("the result differs from what was recomputed, from byte {at} on");
        return RuleResult::unless(Rule::Numbers, vec![place], evidence);
    }
    let published = values;
    let found = differences(&published, &shapes::value(expected));
    let is_wrong = |one: &&Difference| match one.kind {
        Kind::Differs => !(newer && one.path == "/schema/version/minor"),
        Kind::Unknown => !newer,
        Kind::Rounding => false,
    };
    let count = |kind| found.iter().filter(|one| one.kind == kind).count();
    let wrong: Vec<&Difference> = found.iter().filter(is_wrong).collect();
    if !wrong.is_empty() {
        let (theirs, ours) = (&manifest.origin.firstlight.build, build());
        let other = if *theirs == ours {
            String::new()
        } else {
            format!("; measured by firstlight {}, checked by {}", named(theirs), named(&ours))
        };
        let evidence = format!("{} places differ from what was recomputed{other}", wrong.len());
        let places = wrong.into_iter().take(SHOWN).map(|one| place(RESULT, one)).collect();
        return RuleResult::unless(Rule::Numbers, places, evidence);
    }
    let (rounded, unknown) = (count(Kind::Rounding), count(Kind::Unknown) + left_out);
    let evidence = match (rounded, unknown) {
        (0, 0) => "the same values, written in another way".to_owned(),
        (0, _) => format!("all but {unknown} values of a newer version, which were not checked"),
        _ => format!("{rounded} fractions differ in their last digits, as two machines' may"),
    };
    let rounded_places = found.iter().filter(|one| one.kind == Kind::Rounding);
    let places = rounded_places.take(SHOWN).map(|one| place(RESULT, one));
    RuleResult {
        places: places.collect(),
        ..RuleResult::new(Rule::Numbers, RuleOutcome::Warn, evidence)
    }
}

/// The revision of the analysis that computed a result; the rest is dropped.
pub(super) fn revision(result: &[u8]) -> Result<u64, String> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(default = "first")]
        analysis: u64,
    }
    fn first() -> u64 {
        1
    }
    serde_json::from_slice::<Head>(result).map(|head| head.analysis).map_err(|e| e.to_string())
}

pub(super) fn named(build: &Build) -> String {
    match &build.commit {
        Some(commit) => format!("{} ({commit})", build.version),
        None => build.version.clone(),
    }
}

pub(super) fn place(file: &str, one: &Difference) -> Place {
    Place {
        file: file.to_owned(),
        path: Some(one.path.clone()),
        published: one.published.clone(),
        expected: one.expected.clone(),
    }
}
