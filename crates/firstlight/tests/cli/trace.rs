//! `firstlight trace`, through the command line.

use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::trace::{Bucket, TraceDocument};
use firstlight_schema::trace_comparison::TraceComparisonDocument;
use serde_json::Value;

use crate::support::{Finished, Sandbox};

fn trace(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.arg("trace").args(arguments);
    Finished::new(command)
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    folder.join(name).display().to_string()
}

#[test]
fn a_recording_shows_its_steps_and_why_it_recompiled() {
    let sandbox = Sandbox::new();
    let finished = trace(&sandbox, &[&fixture("jax-gpu.xplane.pb.gz")]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let answer = "Step 5 took 2.52 s: `step` recompiled because `x` changed from f32[512,1024] to \
                  f32[520,1024]";
    assert!(finished.stdout.starts_with(answer), "{}", finished.stdout);
    for words in [
        "8 steps, marked in the program",
        "(hidden)    peak",
        "memory: 35.7 MB of arguments, 33.6 MB of outputs, 0 B of constants, 56.6 MB of temporaries",
        "step 5: `step` recompiled, by the compiler",
        "why: argument 8 `x`: f32[512,1024] → f32[520,1024]",
        "host outside of the compiled program (w + h): 836 µs",
        "cuda-graphs: ",
    ] {
        assert!(finished.stdout.contains(words), "{words}\n{}", finished.stdout);
    }
    assert!(!finished.stdout.contains("\\u001b"), "{}", finished.stdout);
}

#[test]
fn the_document_and_the_other_files_can_be_read() {
    let sandbox = Sandbox::new();
    let (page, scope) = ("steps.html", "steps.json");
    let finished = trace(
        &sandbox,
        &[
            &fixture("torch-gpu.json.gz"),
            "--format",
            "json",
            "--html",
            page,
            "--export",
            "speedscope",
            "--output",
            scope,
        ],
    );
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document: TraceDocument = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((document.schema.name.as_str(), document.steps.len()), ("trace", 6));
    let html = fs::read_to_string(sandbox.path().join(page)).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"));
    assert!(html.contains("Timeline of step 4") && html.contains("float[520,1024]"));
    let scope = fs::read(sandbox.path().join(scope)).unwrap();
    let scope: Value = serde_json::from_slice(&scope).unwrap();
    assert!(scope["profiles"].as_array().unwrap().len() > 2);
}

#[test]
fn two_recordings_are_compared_and_differences_are_reported() {
    let sandbox = Sandbox::new();
    let (first, second) =
        (fixture("jax-cpu-manual-python.xplane.pb.gz"), fixture("jax-cpu-filter-jit.xplane.pb.gz"));
    let finished = trace(&sandbox, &[&second, "--against", &first, "--format", "json"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let of: TraceComparisonDocument = serde_json::from_str(&finished.stdout).unwrap();
    let wall = of.wall.unwrap();
    let sum: f64 = of.waterfall.iter().map(|fall| fall.by_ns).sum();
    assert!((sum - (wall.second_ns - wall.first_ns)).abs() < 1.0);
    assert!(of.not_comparable.iter().any(|reason| reason.starts_with("tracer levels")));
    assert_eq!(of.findings[0].finding.name(), "tracer-inflated");
    let host = of.buckets.iter().find(|row| row.bucket == Some(Bucket::Host)).unwrap();
    assert!(host.second_ns > host.first_ns);

    let outside = of.host_outside.unwrap();
    assert!(outside.second_ns > outside.first_ns);

    let page = sandbox.path().join("page.html").display().to_string();
    let text = trace(&sandbox, &[&second, "--against", &first, "--html", &page]).stdout;
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("Waterfall") && html.contains("rest: medians do not add up"));
    assert!(text.contains("not comparable: tracer levels"), "{text}");
    assert!(text.contains("from jax-cpu-manual-py… to jax-cpu-filter-jit"), "{text}");
    assert!(!text.contains("second"), "files are named: {text}");
    for name in ["jax-cpu-manual-python", "jax-cpu-filter-jit"] {
        assert!(html.matches(name).count() >= 5, "the heading, the waterfall and both tables");
    }
    let same = trace(&sandbox, &[&first, "--against", &first]).stdout;
    assert!(!same.contains("not comparable"), "{same}");
}

#[test]
fn a_file_that_is_not_a_trace_is_reported_with_a_hint() {
    let sandbox = Sandbox::new();
    let empty = sandbox.file("host.xplane.pb", "");
    let cases: [(PathBuf, &str); 4] = [
        (empty, "is empty"),
        (sandbox.file("notes.txt", "hello"), "is not a trace that firstlight knows"),
        (sandbox.file("cut.json", "{\"schemaVersion\": 1, \"tr"), "is truncated at byte"),
        (sandbox.path().join("nowhere"), "cannot be read"),
    ];
    for (path, words) in cases {
        let finished = trace(&sandbox, &[&path.display().to_string()]);
        assert_eq!(finished.code, 2, "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
        assert!(
            words == "cannot be read" || finished.stderr.contains("hint: "),
            "{}",
            finished.stderr
        );
    }
    let nothing = trace(&sandbox, &[]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("pass a trace"), "{}", nothing.stderr);
}

#[test]
fn a_command_without_steps_gets_a_hint_how_to_mark_them() {
    let sandbox = Sandbox::new();
    let finished = trace(&sandbox, &["--record", "--", "true"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("marked no step"), "{}", finished.stderr);
    assert!(finished.stderr.contains("StepTraceAnnotation"), "{}", finished.stderr);
    let failing = trace(&sandbox, &["--record", "--", "sh", "-c", "echo oh >&2; exit 3"]);
    assert!(failing.stderr.contains("oh"), "{}", failing.stderr);
}

#[test]
fn the_requirements_of_a_recording_are_reported() {
    let sandbox = Sandbox::new();
    let no_suite = trace(&sandbox, &["--suite", "nowhere"]);
    assert_eq!(no_suite.code, 2);
    assert!(no_suite.stderr.contains("no suite `nowhere`"), "{}", no_suite.stderr);
    let keep = trace(&sandbox, &[&fixture("torch-cpu.json.gz"), "--keep", "folder"]);
    assert_eq!(keep.code, 2);
    assert!(keep.stderr.contains("--keep needs --record or --suite"), "{}", keep.stderr);
    let text =
        "name = \"s\"\n[[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\ncommand = [\"true\"]\n";
    let suite = sandbox.file("suite.toml", text);
    let folder = suite.parent().unwrap().display().to_string();
    let own = trace(&sandbox, &["--suite", &folder]);
    assert_eq!(own.code, 2);
    assert!(own.stderr.contains("no arm of `c` is a Python workload"), "{}", own.stderr);
}

#[test]
fn a_declared_cache_policy_is_checked_against_the_recording() {
    let sandbox = Sandbox::new();
    let check = |name: &str, policy: &str| trace(&sandbox, &[&fixture(name), "--cache", policy]);
    let (cached, compiled) = ("torch-cpu.json.gz", "jax-gpu.xplane.pb.gz");
    let against = check(cached, "clean");
    let words = "cache-not-clean: declared clean, and 1 of 1 programs served by a disk cache";
    assert!(against.stdout.contains(words), "{}", against.stdout);
    assert_eq!(against.code, 6, "{}", against.stderr);
    let against = check(compiled, "primed");
    assert!(against.stdout.contains("cache-never-hit: declared primed"), "{}", against.stdout);
    assert_eq!(against.code, 6, "{}", against.stderr);
    for (name, policy) in [(cached, "primed"), (compiled, "clean"), (compiled, "as-found")] {
        assert_eq!(check(name, policy).code, 0, "{name}, {policy}");
    }
    assert_eq!(check(compiled, "dirty").code, 2);
}

/// Steps of a thousand Python frames each.
fn long_recording(steps: u64) -> String {
    let mut events = Vec::new();
    let event = |cat: &str, name: &str, at: u64, long: u64| {
        format!(
            "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":1,\"tid\":1,\"ts\":{at},\"dur\":{long}}}"
        )
    };
    for step in 0..steps {
        let at = step * 2_000;
        events.push(event("user_annotation", &format!("ProfilerStep#{step}"), at, 1_999));
        let frame = |index| event("python_function", "a.py(1): f", at + 1 + index, 1);
        events.extend((0..1_000).map(frame));
    }
    format!("{{\"schemaVersion\":1,\"traceEvents\":[\n{}\n]}}", events.join(",\n"))
}

#[test]
fn a_recording_beyond_the_memory_is_read_in_pieces_with_the_same_result() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("long.json"), long_recording(60)).unwrap();
    let whole = trace(&sandbox, &["long.json", "--format", "json"]);
    let pieces = trace(&sandbox, &["long.json", "--format", "json", "--memory", "1"]);
    assert_eq!((whole.code, pieces.code), (0, 0), "{}", pieces.stderr);
    assert!(pieces.stderr.contains("reading the file once per piece"), "{}", pieces.stderr);
    assert!(!whole.stderr.contains("piece"), "{}", whole.stderr);
    assert_eq!(whole.stdout, pieces.stdout);
    let export = ["long.json", "--memory", "1", "--export", "speedscope", "--output", "out.json"];
    let export = trace(&sandbox, &export);
    assert_eq!(export.code, 2);
    assert!(export.stderr.contains("pass --memory 2"), "{}", export.stderr);
}

#[test]
fn a_step_beyond_the_memory_is_rejected_with_its_memory() {
    let sandbox = Sandbox::new();
    let one = long_recording(60).replace("ProfilerStep#", "Work#");
    fs::write(sandbox.path().join("long.json"), one).unwrap();
    let refused = trace(&sandbox, &["long.json", "--memory", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    for words in
        ["does not fit into 1048576 bytes of memory", "step 0 takes", "hint: raise --memory"]
    {
        assert!(refused.stderr.contains(words), "{words}\n{}", refused.stderr);
    }
}
