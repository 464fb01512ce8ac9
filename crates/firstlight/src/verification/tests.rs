//! A forger who knows the format: every number is changed separately, and hashes and id are corrected.

use std::collections::BTreeMap;
use std::path::Path;

use firstlight_analysis::rebuild::rebuild;
use firstlight_engine::snapshot::{
    Files, json, raw_lines, read_manifest, read_result, read_suite, vouch,
};
use firstlight_schema::difference::{Kind, differences};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::{MANIFEST, Manifest, RAW, RESULT, TRACE, VALIDATION};
use firstlight_schema::suite_trace::{ArmTrace, SuiteTraceDocument};
use firstlight_schema::trace::{TraceDocument, Tracing};
use firstlight_schema::validation::{Rule, RuleOutcome, ValidationDocument};
use firstlight_trace::{Limits, Run, combined, open, tell_overheads};
use serde::Deserialize as _;
use serde_json::{Number, Value};

use super::records::on_all_cores;
use super::{parse_records, shapes, validate};
use crate::harness::build;

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/snapshots/jax-1.0.tar.zst")
}

/// The fixture with its result computed by this firstlight.
fn snapshot() -> (Files, Manifest) {
    let path = fixture();
    let mut files = Files::read(&path).unwrap();
    let manifest = read_manifest(&files, &path).unwrap();
    let suite = read_suite(&files, &path, &manifest).unwrap();
    let records = parse_records(&raw_lines(&files, &path).unwrap()).unwrap();
    let result = rebuild(&manifest.origin, &suite, manifest.after.clone(), records);
    files.put(RESULT, (serde_json::to_string(&result).unwrap() + "\n").into_bytes());
    files.remove(VALIDATION);
    seal(&mut files, &manifest);
    (files, manifest)
}

/// Corrects the hashes and the id, as a forger would.
fn seal(files: &mut Files, manifest: &Manifest) {
    let forged = vouch(files, manifest.origin.clone(), manifest.after.clone(), None, build());
    files.put(MANIFEST, json(&forged).into_bytes());
}

fn checked(files: &Files) -> Result<ValidationDocument, String> {
    validate(files, Path::new("snapshot"), None).map_err(|error| error.to_string())
}

fn with(files: &Files, manifest: &Manifest, path: &str, content: Vec<u8>) -> Files {
    let mut forged = files.clone();
    forged.put(path, content);
    seal(&mut forged, manifest);
    forged
}

/// The paths of all numbers of a document.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(values) => {
            let below = |(place, value)| numbers(value, &format!("{path}/{place}"), found);
            values.iter().enumerate().for_each(below);
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                numbers(value, &format!("{path}/{key}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The same number with another digit.
fn changed(number: &Number) -> Number {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(value), ..) => Number::from(value ^ 1),
        (None, Some(value), _) => Number::from(value ^ 1),
        (.., Some(value)) => Number::from_f64(value * 1.000_001 + 1e-6).unwrap(),
        (.., None) => unreachable!("a number is one of these"),
    }
}

fn change(document: &mut Value, path: &str) {
    let place = document.pointer_mut(path).unwrap();
    let Value::Number(number) = place else { unreachable!("the path of a number") };
    *place = Value::Number(changed(number));
}

/// One path for every kind of number: indices in lists do not make another kind.
fn kinds(paths: Vec<String>) -> Vec<String> {
    let mut kinds = BTreeMap::new();
    for path in paths {
        let kind: Vec<&str> = path
            .split('/')
            .map(|part| if part.parse::<u32>().is_ok() { "*" } else { part })
            .collect();
        kinds.insert(kind.join("/"), path);
    }
    kinds.into_values().collect()
}

#[test]
fn the_fixture_is_read_and_its_result_follows_from_its_raw_readings() {
    let path = fixture();
    let published = read_result(&Files::read(&path).unwrap(), &path).unwrap();
    assert_eq!(published.cases.len(), 1);
    let (files, _) = snapshot();
    let document = checked(&files).unwrap();
    let failed: Vec<_> =
        document.rules.iter().filter(|rule| rule.outcome == RuleOutcome::Fail).collect();
    assert!(document.passed, "{failed:#?}");
}

#[test]
fn every_number_of_the_result_is_compared_with_the_recomputed_one() {
    let (files, _) = snapshot();
    let expected: Value = serde_json::from_slice(files.get(RESULT).unwrap()).unwrap();
    let mut paths = Vec::new();
    numbers(&expected, "", &mut paths);
    let mut forged = expected.clone();
    for path in &paths {
        change(&mut forged, path);
    }
    let found = differences(&forged, &expected);
    let caught: Vec<&String> = found.iter().map(|one| &one.path).collect();
    assert_eq!(caught, paths.iter().collect::<Vec<_>>());
    let lenient: Vec<_> = found.iter().filter(|one| one.kind != Kind::Differs).collect();
    assert!(lenient.is_empty(), "{lenient:#?}");
    assert!(paths.len() > 1000);
}

#[test]
fn one_changed_number_of_the_result_is_caught_and_named() {
    let (files, manifest) = snapshot();
    let published: Value = serde_json::from_slice(files.get(RESULT).unwrap()).unwrap();
    let mut paths = Vec::new();
    numbers(&published, "", &mut paths);
    // Parts of the result that repeat the raw readings are changed at their source, below.
    paths.retain(|path| !path.contains("/raw/") && !path.contains("/priming/"));
    // All are compared, as the test above shows; these go through the whole check.
    let paths: Vec<String> = kinds(paths).into_iter().step_by(5).collect();
    let escaped: Vec<String> = on_all_cores(&paths, |_, path| {
        let mut forged = published.clone();
        change(&mut forged, path);
        let content = (forged.to_string() + "\n").into_bytes();
        let Ok(document) = checked(&with(&files, &manifest, RESULT, content)) else {
            return None;
        };
        let numbers = document.rules.iter().find(|rule| rule.rule == Rule::Numbers).unwrap();
        let named = numbers.places.iter().any(|place| place.path.as_ref() == Some(path));
        (document.passed || !named).then(|| path.clone())
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(escaped.is_empty(), "{} of {} escaped: {escaped:#?}", escaped.len(), paths.len());
}

#[test]
fn one_changed_number_of_the_raw_readings_is_caught_whatever_its_kind() {
    let (files, manifest) = snapshot();
    let text = str::from_utf8(files.get(RAW).unwrap()).unwrap().to_owned();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut paths = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        numbers(line, &format!("/{place}"), &mut paths);
    }
    let paths = kinds(paths);
    let whole = Value::Array(lines);
    let escaped: Vec<String> = on_all_cores(&paths, |_, path| {
        let mut forged = whole.clone();
        change(&mut forged, path);
        let lines: String =
            forged.as_array().unwrap().iter().map(|line| line.to_string() + "\n").collect();
        let document = checked(&with(&files, &manifest, RAW, lines.into_bytes()));
        document.is_ok_and(|document| document.passed).then(|| path.clone())
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(escaped.is_empty(), "{} of {} escaped: {escaped:#?}", escaped.len(), paths.len());
}

/// The result repeats every record, so a record that is read differently gives another result.
#[test]
fn no_number_of_the_raw_readings_is_overlooked_when_they_are_read() {
    let (files, _) = snapshot();
    let text = str::from_utf8(files.get(RAW).unwrap()).unwrap().to_owned();
    let lines: Vec<&str> = text.lines().collect();
    let counts = on_all_cores(&lines, |_, line| {
        let original: RawRecord = serde_json::from_str(line).unwrap();
        let mut value: Value = serde_json::from_str(line).unwrap();
        let mut paths = Vec::new();
        numbers(&value, "", &mut paths);
        for path in &paths {
            let before = value.pointer(path).unwrap().clone();
            change(&mut value, path);
            let read = RawRecord::deserialize(&value);
            assert!(read.is_ok_and(|read| read != original), "{path}");
            *value.pointer_mut(path).unwrap() = before;
        }
        paths.len()
    });
    assert!(counts.iter().sum::<usize>() > 1000);
}

#[test]
fn a_last_digit_that_two_machines_may_round_differently_is_a_warning_with_its_place() {
    let (files, manifest) = snapshot();
    let mut published: Value = serde_json::from_slice(files.get(RESULT).unwrap()).unwrap();
    let path = "/cases/0/arms/0/regimes/0/spread/mean-ns";
    let place = published.pointer_mut(path).unwrap();
    *place = Value::from(place.as_f64().unwrap().next_up());
    let content = (published.to_string() + "\n").into_bytes();
    let document = checked(&with(&files, &manifest, RESULT, content)).unwrap();
    assert!(document.passed);
    let numbers = document.rules.iter().find(|rule| rule.rule == Rule::Numbers).unwrap();
    assert_eq!(numbers.outcome, RuleOutcome::Warn);
    assert_eq!(numbers.places[0].path.as_deref(), Some(path));
}

#[test]
fn a_newer_minor_version_is_read_and_its_new_fields_are_not_judged() {
    let (files, manifest) = snapshot();
    let mut published: Value = serde_json::from_slice(files.get(RESULT).unwrap()).unwrap();
    published["schema"]["version"]["minor"] = Value::from(9);
    published["invented-later"] = Value::from(3);
    let content = (published.to_string() + "\n").into_bytes();
    let refused = checked(&with(&files, &manifest, RESULT, content.clone())).unwrap();
    assert!(!refused.passed, "the manifest does not say that it is newer");
    let mut newer = files.clone();
    newer.put(RESULT, content);
    let mut forged = vouch(&newer, manifest.origin.clone(), manifest.after.clone(), None, build());
    forged.schema.version.minor = 9;
    forged.id = None;
    forged.id = Some(firstlight_engine::snapshot::identify(&forged));
    newer.put(MANIFEST, json(&forged).into_bytes());
    let document = checked(&newer).unwrap();
    assert!(document.passed, "{:#?}", document.rules);
    let of = |rule| document.rules.iter().find(|one| one.rule == rule).unwrap();
    assert_eq!(of(Rule::Versions).outcome, RuleOutcome::Warn);
    assert!(of(Rule::Numbers).evidence.contains("1 values of a newer version"));
}

#[test]
fn a_process_without_a_place_in_the_plan_is_described_in_words() {
    let (files, manifest) = snapshot();
    let text = String::from_utf8(files.get(RAW).unwrap().to_vec()).unwrap();
    let forged = text.replacen("\"round\":1", "\"round\":77", 1);
    assert_ne!(forged, text);
    let document = checked(&with(&files, &manifest, RAW, forged.into_bytes())).unwrap();
    let order = document.rules.iter().find(|rule| rule.rule == Rule::Interleaved).unwrap();
    let published: Vec<&str> =
        order.places.iter().filter_map(|place| place.published.as_deref()).collect();
    assert!(published.contains(&"cold-clean, round 77"), "{published:?}");
}

#[test]
fn what_is_written_is_compared_to_the_last_byte() {
    let document = serde_json::json!({ "a": [1, 2.5] });
    assert!(shapes::is_written_as(br#"{"a":[1,2.5]}"#, &document));
    assert!(!shapes::is_written_as(br#"{"a":[1,2.5]} "#, &document));
    assert!(!shapes::is_written_as(br#"{"a":[1,2.5]"#, &document));
    assert!(!shapes::is_written_as(br#"{"a":[1,2.6]}"#, &document));
}

#[test]
fn a_dropped_sample_is_detected_although_all_else_was_recomputed() {
    let (files, manifest) = snapshot();
    let path = Path::new("snapshot");
    let suite = read_suite(&files, path, &manifest).unwrap();
    let mut records = parse_records(&raw_lines(&files, path).unwrap()).unwrap();
    records.remove(5);
    for (record, number) in records.iter_mut().zip(1..) {
        record.sample.number = number;
    }
    let line = |record| serde_json::to_string(record).unwrap() + "\n";
    let lines: String = records.iter().map(line).collect();
    let result = rebuild(&manifest.origin, &suite, manifest.after.clone(), records);
    let mut forged = files.clone();
    forged.put(RAW, lines.into_bytes());
    forged.put(RESULT, (serde_json::to_string(&result).unwrap() + "\n").into_bytes());
    seal(&mut forged, &manifest);
    let document = checked(&forged).unwrap();
    let of = |rule| document.rules.iter().find(|one| one.rule == rule).unwrap();
    assert_eq!(of(Rule::Numbers).outcome, RuleOutcome::Pass);
    assert_eq!(of(Rule::Interleaved).outcome, RuleOutcome::Fail);
    assert!(!document.passed);
}

/// The snapshot with a document of the cost of recording the arms of its first case, from one of the
/// recordings.
fn with_trace() -> (Files, Manifest, Value) {
    let (files, manifest) = snapshot();
    let suite = read_suite(&files, &fixture(), &manifest).unwrap();
    let recording = fixture().with_file_name("../traces/jax-gpu.xplane.pb.gz");
    let mut opened = open(&recording, &Limits::default()).unwrap();
    let document = opened.document("host.xplane.pb", None, build()).unwrap();
    let run = |tracing, document: Option<TraceDocument>| Run {
        tracing,
        steps: vec![3e6, 2e6, 4e6],
        baselines: vec![1e6, 1e6, 1e6],
        wall: Nanos(9_000_000),
        document,
    };
    let runs = [run(Tracing::Untraced, None), run(Tracing::HostOnly, Some(document))];
    let case = suite.cases.first().unwrap();
    let reference = suite.reference_of(case).map(str::to_owned);
    let name = case.name.get_ref().clone();
    let mut traced = SuiteTraceDocument::new(build(), suite.name.clone(), name, reference);
    for arm in suite.arms_of(case) {
        let (arm, trace) = (arm.name.get_ref().clone(), combined(&runs));
        traced.arms.push(ArmTrace { arm, trace, failed: None, overheads: Vec::new() });
    }
    tell_overheads(&mut traced);
    let value = serde_json::to_value(&traced).unwrap();
    let files = with(&files, &manifest, TRACE, value.to_string().into_bytes());
    (files, manifest, value)
}

#[test]
fn a_trace_that_contradicts_itself_is_found() {
    let (files, manifest, honest) = with_trace();
    let of = |files: &Files, rule: Rule| {
        let document = checked(files).unwrap();
        document.rules.into_iter().find(|result| result.rule == rule).unwrap()
    };
    let numbers = of(&files, Rule::Numbers);
    assert_ne!(numbers.outcome, RuleOutcome::Fail, "{numbers:?}");
    assert!(numbers.evidence.ends_with("the trace adds up"), "{}", numbers.evidence);
    assert_eq!(of(&files, Rule::Schemas).outcome, RuleOutcome::Pass);
    let trace = "/arms/0/trace";
    let forgeries = [
        (format!("{trace}/steps/1/parts/0/ns"), Value::from(1), Rule::Numbers),
        (format!("{trace}/steps/1/duration-ns"), Value::from(1), Rule::Numbers),
        (format!("{trace}/steady/0/share"), Value::from(0.5), Rule::Numbers),
        (format!("{trace}/host-outside/median/point"), Value::from(1.5), Rule::Numbers),
        (format!("{trace}/inflation/factor"), Value::from(7.5), Rule::Numbers),
        ("/suite".to_owned(), Value::from("another"), Rule::Numbers),
        ("/arms/0/arm".to_owned(), Value::from("another"), Rule::Numbers),
        ("/schema".to_owned(), Value::from("none"), Rule::Versions),
    ];
    for (path, value, rule) in forgeries {
        let mut forged = honest.clone();
        *forged.pointer_mut(&path).unwrap_or_else(|| panic!("{path} is there")) = value;
        let forged = with(&files, &manifest, TRACE, forged.to_string().into_bytes());
        let found = of(&forged, rule);
        assert_eq!(found.outcome, RuleOutcome::Fail, "{path}: {found:?}");
        assert!(found.places.iter().any(|place| place.file == TRACE), "{path}: {found:?}");
    }
}
