//! `export` and `import`, through the command line.

use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::comparison::ComparisonDocument;
use firstlight_schema::finding::Finding;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Regime;
use serde_json::Value;

use crate::support::{Finished, Sandbox};

const SUITE: &str = "name = \"small\"\nenvironment = \"as-found\"\n\
    regimes = [\"cold-clean\", \"warm\"]\ncache = { bytecode = \"as-found\" }\n\
    sampling = { timeout = \"30s\", processes = 2 }\ncomparison = { control = false, verdicts = false }\n\
    warm = { processes = 2, most-processes = 2, iterations = 12, warm-up = 1 }\n\
    [[case]]\nname = \"nap\"\n\
    [[arm]]\nname = \"short\"\nworkload = \"w.py\"\noptions = { ms = 2 }\n\
    [[arm]]\nname = \"broken\"\nworkload = \"w.py\"\noptions = { ms = -1 }\n";

const SLEEPS: &str = "import time, firstlight\n\
    def setup(case):\n    return firstlight.Workload(lambda: time.sleep(case['ms'] / 1000))\n";

fn start(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.args(arguments);
    Finished::new(command)
}

/// An arm that works and one that fails.
fn measured(sandbox: &Sandbox) -> RunDocument {
    sandbox.file("suite/suite.toml", SUITE);
    sandbox.file("suite/w.py", SLEEPS);
    let finished = start(sandbox, &["run", "suite", "--format", "json", "--output", "result"]);
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    finished.run()
}

fn export(sandbox: &Sandbox, format: &str) -> String {
    let finished = start(sandbox, &["export", "result", "--to", format]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    finished.stdout
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/exchange").join(name)
}

fn import(sandbox: &Sandbox, file: &Path, folder: &str) -> RunDocument {
    let file = file.to_str().unwrap();
    let finished = start(sandbox, &["import", file, "--output", folder, "--format", "json"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    finished.run()
}

#[test]
fn a_failure_is_a_row_or_an_error_and_never_a_number() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let csv = export(&sandbox, "csv");
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of = |arm: &str, regime: &str| -> Vec<&Vec<&str>> {
        rows.iter().filter(|row| row[1] == arm && row[2] == regime).collect()
    };
    assert_eq!(of("short", "cold-clean").len(), 2);
    assert_eq!(of("short", "warm").len(), 2 * (1 + 12));
    for row in of("broken", "cold-clean") {
        assert_eq!((row[10], row[12], row[13]), ("", "false", "process-failed"), "{row:?}");
    }
    for format in ["bencher", "github-action-benchmark", "pyperf"] {
        let text = export(&sandbox, format);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(text.contains("nap/short/warm"), "{value}");
        assert!(!text.contains("broken"), "{format}: {text}");
    }
    let junit = export(&sandbox, "junit");
    let broken = "<testcase name=\"broken, cold-clean: is measured\" classname=\"small.nap\">\n\
        \u{20}     <error message=\"process-failed: ";
    assert!(junit.contains(broken), "{junit}");
    assert!(
        junit.contains("<testcase name=\"short, warm: is measured\" classname=\"small.nap\"/>")
    );
}

#[test]
fn an_export_to_pyperf_is_imported_with_the_same_numbers() {
    let sandbox = Sandbox::new();
    let before = measured(&sandbox);
    sandbox.file("pyperf.json", &export(&sandbox, "pyperf"));
    let after = import(&sandbox, &sandbox.path().join("pyperf.json"), "again");
    let [cold, warm] = after.cases.as_slice() else { panic!("two benchmarks: {after:?}") };
    assert_eq!(cold.name, "nap/short/cold-clean");
    let ours = &before.cases[0].arms[0].regimes;
    let (cold, warm) = (&cold.arms[0].regimes[0], &warm.arms[0].regimes[0]);
    assert_eq!((cold.regime, warm.regime), (Regime::Fresh, Regime::Warm));
    assert_eq!(
        cold.summary.as_ref().unwrap().wall,
        ours[0].summary.as_ref().unwrap().first_result.unwrap()
    );
    for (theirs, mine) in warm.samples.iter().zip(&ours[1].samples) {
        let mean = |sample: &firstlight_schema::sample::Sample| {
            sample.window.as_ref().unwrap().steady.as_ref().unwrap().mean_ns
        };
        assert!((mean(theirs) - mean(mine)).abs() < 1e-6, "{} {}", mean(theirs), mean(mine));
    }
    assert_eq!(after.machine.cpu, before.machine.cpu);
    assert_eq!(after.machine.cores, before.machine.cores);
}

#[test]
fn every_format_is_detected_shown_and_compared_with_itself() {
    let sandbox = Sandbox::new();
    for (name, cases, regime) in [
        ("pyperf", 2, Regime::Warm),
        ("pytest-benchmark", 1, Regime::Warm),
        ("hyperfine", 1, Regime::Fresh),
        ("google-benchmark", 1, Regime::Warm),
    ] {
        let document = import(&sandbox, &fixture(&format!("{name}.json")), name);
        assert_eq!(document.imported.as_ref().unwrap().from, name);
        assert_eq!(document.cases.len(), cases, "{name}");
        let of = &document.cases[0].arms[0].regimes[0];
        assert_eq!(of.regime, regime);
        assert!(of.notices.iter().any(|notice| notice.finding == Finding::NotProved));
        for report in ["minimum", "usual", "full"] {
            let shown = start(&sandbox, &["show", name, "--report", report]);
            assert_eq!(shown.code, 0, "{}", shown.stderr);
            let expected = if report == "usual" { "not-proved" } else { "unknown  " };
            assert!(shown.stdout.contains(expected), "{}", shown.stdout);
            assert!(!shown.stdout.contains("no steady state"), "{}", shown.stdout);
        }
        let compared = start(&sandbox, &["compare", name, name, "--format", "json"]);
        assert_eq!(compared.code, 0, "{}", compared.stderr);
        let compared: ComparisonDocument = serde_json::from_str(&compared.stdout).unwrap();
        assert!(!compared.paired);
        for one in &compared.comparisons {
            let why = one.why.as_ref().unwrap();
            assert!(why.contains("imported: unpaired, and no condition was proved"), "{why}");
        }
        assert!(sandbox.path().join(name).join("imported.json").is_file());
    }
    let arms = ["compare", "hyperfine", "--arms", "true", "sh -c 'exit 0'", "--format", "json"];
    let compared: ComparisonDocument =
        serde_json::from_str(&start(&sandbox, &arms).stdout).unwrap();
    assert!(!compared.paired);
}

#[test]
fn a_file_that_cannot_be_imported_is_rejected_with_the_place_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    let whole = fs::read_to_string(fixture("hyperfine.json")).unwrap();
    let refused = |text: &str| {
        let path = sandbox.file("in.json", text);
        let path = path.to_str().unwrap();
        let finished = start(&sandbox, &["import", path, "--output", "out"]);
        assert_eq!(finished.code, 2, "{}", finished.stdout);
        assert!(!sandbox.path().join("out").exists());
        assert!(finished.stderr.contains("\n\nhint: "), "{}", finished.stderr);
        finished.stderr
    };
    let cut = refused(&whole[..whole.len() / 2]);
    assert!(cut.contains("in.json`: invalid JSON: EOF while parsing"), "{cut}");
    let negative = refused(&whole.replacen("0.000741344", "-0.5", 1));
    assert!(
        negative.contains("`results[0].times[0]` is -0.5, not a time above zero"),
        "{negative}"
    );
    let short = refused(&whole.replacen("0.000741344,", "", 1));
    assert!(short.contains("`results[0].exit_codes` has 6 codes for 5 times"), "{short}");
    assert!(refused("{}").contains("not a file of pyperf"));
    assert!(refused(&"[".repeat(100_000)).contains("recursion limit exceeded at line 1"));
    let wrong = start(
        &sandbox,
        &["import", fixture("pyperf.json").to_str().unwrap(), "--from", "hyperfine"],
    );
    assert!(wrong.stderr.contains("`the file` has no `results`"), "{}", wrong.stderr);
    let huge = fs::File::create(sandbox.path().join("huge.json")).unwrap();
    huge.set_len((64 << 20) + 1).unwrap();
    let huge = start(&sandbox, &["import", "huge.json"]);
    assert!(huge.stderr.contains("it is larger than 64 MiB"), "{}", huge.stderr);
}

#[test]
fn no_suite_can_request_the_regime_of_imported_results() {
    let sandbox = Sandbox::new();
    sandbox.file("suite/suite.toml", &SUITE.replace("\"warm\"]", "\"fresh\"]"));
    let refused = start(&sandbox, &["run", "suite"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("`fresh`, which is only for imported results"));
}

#[test]
fn an_import_never_writes_into_another_results_folder() {
    let sandbox = Sandbox::new();
    let file = fixture("hyperfine.json");
    import(&sandbox, &file, "taken");
    let refused = start(&sandbox, &["import", file.to_str().unwrap(), "--output", "taken"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("cannot start `taken/result.json`"), "{}", refused.stderr);
}

#[test]
fn names_with_markup_stay_text_in_every_format() {
    let sandbox = Sandbox::new();
    let name = r#"<script>alert("1")</script>,&'x'"#;
    let text = fs::read_to_string(fixture("hyperfine.json")).unwrap();
    let hostile = text.replacen("\"true\"", &serde_json::to_string(name).unwrap(), 1);
    import(&sandbox, &sandbox.file("in.json", &hostile), "result");
    let junit = export(&sandbox, "junit");
    assert!(!junit.contains("<script>"), "{junit}");
    assert!(junit.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;,&amp;&apos;x&apos;"));
    let csv = export(&sandbox, "csv");
    assert!(csv.contains("hyperfine,\"<script>alert(\"\"1\"\")</script>,&'x'\",fresh"), "{csv}");
    let bencher: Value = serde_json::from_str(&export(&sandbox, "bencher")).unwrap();
    assert!(bencher.get(format!("hyperfine/{name}/fresh")).is_some(), "{bencher}");
}
