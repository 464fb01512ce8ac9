//! The warm regime, `compare` and `show`, through the command line.

use std::fs;

use firstlight_schema::comparison::{ComparisonDocument, Gate, Verdict};
use firstlight_schema::finding::Finding;
use firstlight_schema::run::{Agreed, RunDocument};
use firstlight_schema::suite::Regime;
use serde_json::Value;

use crate::support::{Finished, Sandbox, assert_closes, replay_binary, sum_binary};

const HEAD: &str = "name = \"small\"\nenvironment = \"as-found\"\nregimes = [\"warm\"]\n\
    cache = { bytecode = \"as-found\" }\nsampling = { timeout = \"30s\", processes = 2 }\n\
    comparison = { control = false }\n\
    warm = { processes = 6, most-processes = 6, iterations = 12, warm-up = 1 }\n";

const SLEEPS: &str = "import time, firstlight\n\
    def setup(case):\n    return firstlight.Workload(lambda: time.sleep(case['ms'] / 1000))\n";

/// Two arms, one of which takes ten times as long as the other.
pub(crate) fn measured(sandbox: &Sandbox) -> RunDocument {
    let arms = "[[case]]\nname = \"sleep\"\nwork = { unit = \"naps\", count = 2 }\n\
        [[arm]]\nname = \"quick\"\nworkload = \"w.py\"\noptions = { ms = 2 }\n\
        [[arm]]\nname = \"slow\"\nworkload = \"w.py\"\noptions = { ms = 20 }\n";
    sandbox.file("suite/suite.toml", &format!("{HEAD}{arms}"));
    sandbox.file("suite/w.py", SLEEPS);
    let finished = start(sandbox, &["run", "suite", "--format", "json", "--output", "result"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    quiet(sandbox);
    finished.run()
}

/// Removes the activity of other processes on this machine from the stored result.
fn quiet(sandbox: &Sandbox) {
    change_notices(sandbox, |notices| {
        notices.retain(|notice| notice["finding"] != "noisy-machine");
    });
}

/// Edits the notices of every regime of the stored result.
fn change_notices(sandbox: &Sandbox, change: impl Fn(&mut Vec<Value>)) {
    let path = sandbox.path().join("result/result.json");
    let mut result: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for arm in result["cases"][0]["arms"].as_array_mut().unwrap() {
        for regime in arm["regimes"].as_array_mut().unwrap() {
            change(regime["notices"].as_array_mut().unwrap());
        }
    }
    change(result["machine-notices"].as_array_mut().unwrap());
    fs::write(&path, result.to_string()).unwrap();
}

fn start(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.args(arguments);
    Finished::new(command)
}

fn comparison(finished: &Finished) -> ComparisonDocument {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", finished.stdout, finished.stderr))
}

#[test]
fn arms_are_compared_and_the_gate_has_three_exit_codes() {
    let sandbox = Sandbox::new();
    let document = measured(&sandbox);
    let [case] = document.cases.as_slice() else { panic!("one case") };
    assert_eq!(case.comparisons[0].verdict, Verdict::Slower);
    assert_eq!(case.arms[1].agreement, Agreed::Equal);
    let warm = case.arms[0].regimes[0].warm.as_ref().unwrap();
    assert_eq!(warm.throughput.as_ref().unwrap().unit, "naps");
    for sample in case.arms.iter().flat_map(|arm| &arm.regimes[0].samples) {
        assert_closes(sample);
    }

    let compare = |arguments: &[&str]| {
        let all = [&["compare", "result", "--format", "json"], arguments].concat();
        let finished = start(&sandbox, &all);
        (finished.code, comparison(&finished))
    };
    let (code, document) = compare(&["--arms", "quick", "slow", "--gate"]);
    assert_eq!((code, document.gate), (3, Some(Gate::Failed)));
    let (code, document) = compare(&["--arms", "slow", "quick", "--gate"]);
    assert_eq!((code, document.gate), (0, Some(Gate::Passed)));
    assert!(document.paired);
    let (code, document) = compare(&["result", "--gate", "--margin", "90%"]);
    assert_eq!((code, document.gate), (0, Some(Gate::Passed)));
    assert!(!document.paired);
    let (code, document) = compare(&["result", "--gate", "--margin", "sleep=0"]);
    assert_eq!((code, document.gate), (4, Some(Gate::Inconclusive)));
    let (code, document) = compare(&["--arms", "quick", "slow"]);
    assert_eq!((code, document.gate), (0, None));
    assert_eq!(compare(&[]).1.comparisons[0].verdict, Verdict::Slower);
}

#[test]
fn a_gate_on_a_noisy_machine_neither_fails_nor_passes_and_reports_it() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    change_notices(&sandbox, |notices| {
        notices.push(serde_json::json!({ "finding": "noisy-machine", "text": "busy" }));
    });
    for arms in [["quick", "slow"], ["slow", "quick"]] {
        let finished =
            start(&sandbox, &["compare", "result", "--arms", arms[0], arms[1], "--gate"]);
        assert_eq!(finished.code, 4, "{}", finished.stdout);
        assert!(finished.stdout.contains("noisy-machine"), "{}", finished.stdout);
    }
}

#[test]
fn a_stored_result_is_printed_again_at_any_length() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let show = |report: &str| start(&sandbox, &["show", "result", "--report", report]).stdout;
    let usual = show("usual");
    assert!(usual.contains("× slower than quick ("), "{usual}");
    let minimum = show("minimum");
    for words in ["quick, warm, per call: ", " ± ", ", n = 6", "hardware", "versions"] {
        assert!(minimum.contains(words), "{words} is not in\n{minimum}");
    }
    assert!(show("full").contains("autocorrelation"));
    let again: RunDocument =
        serde_json::from_str(&start(&sandbox, &["show", "result", "--format", "json"]).stdout)
            .unwrap();
    assert_eq!(again.suite, "small");
}

#[test]
fn a_file_that_is_not_a_result_is_reported() {
    let sandbox = Sandbox::new();
    let error = |arguments: &[&str]| {
        let finished = start(&sandbox, arguments);
        assert_eq!(finished.code, 2, "{}", finished.stderr);
        finished.stderr
    };
    assert!(error(&["show", "nowhere"]).contains("cannot read `nowhere`"));
    sandbox
        .file("cold.json", r#"{"schema": {"name": "cold", "version": {"major": 1, "minor": 0}}}"#);
    assert!(error(&["show", "cold.json"]).contains("is not a firstlight result: missing field"));
    sandbox.file("new.json", r#"{"schema": {"name": "run", "version": {"major": 9, "minor": 0}}}"#);
    let text = error(&["compare", "new.json"]);
    assert!(text.contains("it has version 9.0, this firstlight reads 1.x"), "{text}");
    assert!(text.contains("hint: pass the folder"), "{text}");
    assert!(error(&["compare", "a", "--margin", "much"]).contains("invalid margin `much`"));
    assert!(error(&["compare", "a", "b", "--arms", "x", "y"]).contains("cannot be used with"));
}

#[test]
fn an_unknown_arm_is_named_with_the_known_ones() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let finished = start(&sandbox, &["compare", "result", "--arms", "quick", "fast"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("no arm `fast`, only quick, slow"), "{}", finished.stderr);
}

#[test]
fn a_sweep_has_a_table_and_a_line() {
    let sandbox = Sandbox::new();
    let arms = "[[case]]\nname = \"nap\"\nsweep = { parameter = \"ms\", values = [2, 10, 40] }\n\
        [[arm]]\nname = \"sleep\"\nworkload = \"w.py\"\n";
    sandbox.file("suite/suite.toml", &format!("{HEAD}{arms}"));
    sandbox.file("suite/w.py", SLEEPS);
    let finished = start(&sandbox, &["run", "suite", "--format", "json", "--processes", "2"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document = finished.run();
    assert_eq!(document.cases.len(), 3);
    let [sweep] = document.sweeps.as_slice() else { panic!("one sweep") };
    assert_eq!((sweep.case.as_str(), sweep.parameter.as_str()), ("nap", "ms"));
    let [line] = sweep.lines.as_slice() else { panic!("one line") };
    let values: Vec<&str> = line.rows.iter().map(|row| row.value.as_str()).collect();
    assert_eq!(values, ["2", "10", "40"]);
    assert!(line.slope.unwrap().point > 0.0);
    let one = start(&sandbox, &["run", "suite", "--case", "nap.ms-10", "--format", "json"]);
    assert_eq!(one.run().cases.len(), 1);
    let all = start(&sandbox, &["run", "suite", "--case", "nap", "--processes", "1", "-q"]);
    assert!(all.stdout.contains("nap over ms"), "{}", all.stdout);
}

#[test]
fn a_workload_in_rust_is_measured_warm_and_agrees_with_itself() {
    let sandbox = Sandbox::new();
    let program = sum_binary();
    let program = program.to_str().unwrap();
    let arms = format!(
        "[[case]]\nname = \"sum\"\nparameters = {{ count = 200000 }}\n\
         [[arm]]\nname = \"one\"\ncommand = [{program:?}]\n\
         [[arm]]\nname = \"two\"\ncommand = [{program:?}]\n"
    );
    sandbox.file("suite/suite.toml", &format!("{HEAD}{arms}"));
    let finished = start(&sandbox, &["run", "suite", "--format", "json"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document = finished.run();
    let arms = &document.cases[0].arms;
    for sample in arms.iter().flat_map(|arm| &arm.regimes[0].samples) {
        assert!(sample.valid, "{:?}", sample.reasons);
        assert_eq!(sample.window.as_ref().unwrap().calls, 12);
        assert_closes(sample);
    }
    assert_eq!(arms[1].agreement, Agreed::Equal);
}

#[test]
fn a_runner_that_exits_before_the_window_is_an_outcome() {
    let sandbox = Sandbox::new();
    let hello = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":0},"role":"runner","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;
    let warm_up =
        r#"{"say":{"type":"iterations","part":"warm-up","last":true,"spans":[["$now","$now"]]}}"#;
    sandbox.file("suite/leaves.jsonl", &format!("{hello}\n{warm_up}\n"));
    let program = replay_binary();
    let program = program.to_str().unwrap();
    let arms = format!(
        "[[case]]\nname = \"case\"\n[[arm]]\nname = \"leaves\"\n\
         command = [{program:?}, \"leaves.jsonl\"]\n"
    );
    sandbox.file("suite/suite.toml", &format!("{HEAD}{arms}"));
    let finished = start(&sandbox, &["run", "suite", "--format", "json", "--processes", "1"]);
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    let document = finished.run();
    let sample = &document.cases[0].arms[0].regimes[0].samples[0];
    assert_eq!(sample.reasons[0].finding, Finding::ProtocolBroken);
    assert_eq!(sample.reasons[0].text, "the runner exited without measured calls");
}

#[test]
fn regimes_can_be_selected_and_unknown_ones_are_rejected() {
    let sandbox = Sandbox::new();
    let arms = "[[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\nworkload = \"w.py\"\noptions = { ms = 1 }\n";
    let head = HEAD.replace("regimes = [\"warm\"]\n", "");
    sandbox.file("suite/suite.toml", &format!("{head}{arms}"));
    sandbox.file("suite/w.py", SLEEPS);
    let run = |regime: &str| {
        start(
            &sandbox,
            &["run", "suite", "--regime", regime, "--processes", "1", "--format", "json"],
        )
    };
    let document = run("cold-clean").run();
    let regimes = &document.cases[0].arms[0].regimes;
    assert_eq!(regimes.iter().map(|of| of.regime).collect::<Vec<_>>(), [Regime::ColdClean]);
    let refused = run("hot");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("not one of cold-clean, cold-primed, warm"));
}
