//! Imports of foreign files, and rejections with their places.

use firstlight_schema::finding::Finding;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Regime;
use firstlight_schema::version::Build;
use firstlight_schema::window::SteadyState;
use proptest::prelude::*;
use serde_json::json;

use super::{ImportError, Origin, Source, document, read};

fn imported(text: &str) -> RunDocument {
    let origin = Origin {
        firstlight: Build::new("0.1.0", None),
        file: "file.json".to_owned(),
        digest: "sha256:00".to_owned(),
    };
    document(&read(text, None).unwrap(), origin)
}

fn refused(text: &str) -> String {
    read(text, None).unwrap_err().to_string()
}

#[test]
fn the_loops_of_pyperf_keep_fractions_of_a_nanosecond() {
    let file = json!({"version": "1.0", "metadata": {"loops": 1000, "inner_loops": 10},
        "benchmarks": [{"metadata": {"name": "tiny"}, "runs": [
            {"warmups": [[1, 9e-8]], "metadata": {"calibrate_loops": 1000}},
            {"values": [2.25e-9, 2.35e-9], "warmups": [[1000, 3e-9]]},
            {"values": [2.45e-9, 2.35e-9]}]}]});
    let document = imported(&file.to_string());
    let result = &document.cases[0].arms[0].regimes[0];
    assert_eq!((result.regime, result.samples.len()), (Regime::Warm, 2));
    let window = result.samples[0].window.as_ref().unwrap();
    assert_eq!((window.state, window.warm_up_calls, window.calls), (SteadyState::Unknown, 1, 2));
    assert!((window.steady.as_ref().unwrap().mean_ns - 2.3).abs() < 1e-12);
    assert_eq!(result.warm.as_ref().unwrap().states.unknown, 2);
    assert!(result.notices.iter().any(|notice| notice.finding == Finding::NotProved));
}

#[test]
fn each_format_is_detected_by_its_content() {
    let google = json!({"context": {"num_cpus": 8}, "benchmarks": [
        {"name": "BM/1", "run_type": "iteration", "iterations": 10, "real_time": 2.0, "time_unit": "us"},
        {"name": "BM/1", "run_type": "iteration", "iterations": 10, "real_time": 4.0, "time_unit": "us"},
        {"name": "BM/1_mean", "run_type": "aggregate", "iterations": 2, "real_time": 3.0},
        {"name": "BM/2", "run_type": "iteration", "error_occurred": true, "iterations": 0, "real_time": 0}]});
    let document = imported(&google.to_string());
    assert_eq!(document.machine.cores, Some(8));
    let [case] = document.cases.as_slice() else { panic!("aggregates and failures are not cases") };
    let unknown = &document.imported.as_ref().unwrap().unknown;
    assert_eq!(unknown.last().unwrap(), "how long `BM/2` takes: it failed");
    assert!((case.arms[0].regimes[0].warm.as_ref().unwrap().per_call.point - 3000.0).abs() < 1e-9);
    for (text, source) in [
        (r#"{"results": []}"#, Source::Hyperfine),
        (r#"{"benchmarks": [], "machine_info": {}}"#, Source::PytestBenchmark),
        (r#"{"benchmarks": [], "context": {}}"#, Source::GoogleBenchmark),
    ] {
        assert_eq!(read(text, None), Err(ImportError::Empty), "{source}");
    }
    assert_eq!(read("[]", None), Err(ImportError::UnknownFormat));
}

#[test]
fn commands_of_hyperfine_are_arms_and_failed_ones_do_not_count() {
    let file = json!({"results": [
        {"command": "a\n b", "times": [0.5, 0.75], "exit_codes": [0, 3]},
        {"command": "c", "times": [0.5]}, {"command": "c", "times": [0.25]}]});
    let document = imported(&file.to_string());
    let arms = &document.cases[0].arms;
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["a  b", "c", "c (2)"]);
    let comparison = &arms[0].regimes[0];
    assert_eq!(comparison.regime, Regime::Fresh);
    assert_eq!(
        comparison.samples.iter().map(|sample| sample.valid).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(comparison.spread.unwrap().n, 1);
    let [one, _] = document.cases[0].comparisons.as_slice() else { panic!("two comparisons") };
    let why = one.why.as_ref().unwrap();
    assert!(why.ends_with("imported: unpaired, and no condition was proved"), "{why}");
}

#[test]
fn invalid_times_are_rejected_with_their_place() {
    let pyperf = |values: &str, name: &str| {
        format!(
            r#"{{"version": "1.0", "benchmarks": [{{"metadata": {{"name": {name}}},
                "runs": [{{"values": {values}}}]}}]}}"#
        )
    };
    let values = "benchmarks[0].runs[0].values";
    for (value, words) in [
        ("[1.0, -2.5]", format!("`{values}[1]` is -2.5, not a time above zero")),
        ("[0]", format!("`{values}[0]` is 0, not a time above zero")),
        ("[1e-12]", format!("`{values}[0]` is 1e-12, not a time of a nanosecond or more")),
        ("[[[1.0]]]", format!("`{values}[0]` is [[1.0]], not a number")),
        ("\"many\"", format!("`{values}` is \"many\", not a list")),
        ("[1e300]", format!("`{values}[0]` is 1e+300, not a time above zero")),
    ] {
        assert_eq!(refused(&pyperf(value, "\"x\"")), words);
    }
    assert!(refused(&pyperf("[NaN]", "\"x\"")).contains("invalid JSON: expected value at line 2"));
    assert!(refused(&pyperf("[1]", r#""\u001b[31m""#)).contains("name with control characters"));
    assert!(refused(&pyperf("[1]", "\" \"")).contains("is empty"));
    assert!(refused(&"[".repeat(10_000)).contains("recursion limit"));
    let nested = pyperf(&("[".repeat(100) + &"]".repeat(100)), "\"x\"");
    assert!(refused(&nested).contains("[0]` is [[[["), "{}", refused(&nested));
    let long = ["9e8"; 2].join(",");
    assert!(refused(&pyperf(&format!("[{long}]"), "\"x\"")).contains("more than ten years"));
}

#[test]
fn other_units_and_missing_values_are_distinguished() {
    let unit = json!({"version": "1.0", "metadata": {"unit": "byte"},
        "benchmarks": [{"metadata": {"name": "x"}, "runs": [{"values": [1]}]}]});
    assert_eq!(refused(&unit.to_string()), "`metadata.unit` is `byte`, only `second` is a time");
    let bare = json!({"machine_info": {}, "benchmarks": [{"name": "x", "stats": {"mean": 1}}]});
    assert!(refused(&bare.to_string()).starts_with("`benchmarks[0].stats` has no `data`"));
    let bare = json!({"results": [{"command": "x", "mean": 1}]});
    assert!(refused(&bare.to_string()).starts_with("`results[0]` has no `times`"));
    let old = json!({"version": 6, "benchmarks": [{"runs": []}]});
    assert!(refused(&old.to_string()).starts_with("`version` is not `1.0`"));
}

#[test]
fn a_mean_of_several_processes_is_not_treated_as_one_value() {
    let file = |loops: u32| {
        json!({"version": "1.0", "metadata": {"command": "x", "loops": loops}, "benchmarks": [
            {"metadata": {"name": "x"}, "runs": [{"values": [0.5, 0.25]}]}]})
        .to_string()
    };
    let result = &imported(&file(1)).cases[0].arms[0].regimes[0];
    assert_eq!((result.regime, result.samples.len()), (Regime::Fresh, 2));
    let words = "`benchmarks[0].runs[0].values` are means of several processes each";
    assert!(refused(&file(4)).starts_with(words));
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in "\\PC{0,200}") {
        let _ = read(&text, None);
        for source in [Source::Pyperf, Source::Hyperfine] {
            let _ = read(&format!("{{\"benchmarks\": [{text}], \"results\": []}}"), Some(source));
        }
    }
}
