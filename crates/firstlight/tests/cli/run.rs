//! `firstlight run` on small suites: workloads in Python, in Rust, and failing ones.

use firstlight_schema::finding::Finding;
use firstlight_schema::message::{Check, Message};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::{EnvironmentKind, RunDocument};

use crate::support::{Finished, Sandbox, assert_closes, ns, replay_binary, sum_binary};

const HEAD: &str = "name = \"small\"\nenvironment = \"as-found\"\n[sampling]\ntimeout = \"20s\"\n";

fn suite(sandbox: &Sandbox, toml: &str, files: &[(&str, &str)]) {
    sandbox.file("suite/suite.toml", &format!("{HEAD}{toml}"));
    for (name, text) in files {
        sandbox.file(&format!("suite/{name}"), text);
    }
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.args(["run", "suite", "--format", "json"]).args(arguments);
    Finished::new(command)
}

fn arm<'a>(document: &'a RunDocument, name: &str) -> &'a firstlight_schema::run::ArmResult {
    document.cases[0].arms.iter().find(|arm| arm.name == name).unwrap()
}

const ADDS: &str = r#"
import time
import firstlight
import helper

def setup(case):
    time.sleep(case["setup"])
    def step(a, b):
        time.sleep(case["work"])
        return {"sum": a + b}
    return firstlight.Workload(step, (1, 2), check=lambda result: result["sum"] == case["expected"])
"#;

const CASE: &str = "[[case]]\nname = \"add\"\n\
    parameters = { setup = 0.03, work = 0.05, expected = 3 }\n";

#[test]
fn a_workload_in_python_is_measured_in_all_regimes() {
    let sandbox = Sandbox::new();
    let arms = "[[arm]]\nname = \"python\"\nworkload = \"adds.py\"\n";
    suite(&sandbox, &format!("{CASE}{arms}"), &[("adds.py", ADDS), ("helper.py", "x = 1\n")]);
    let finished = run(&sandbox, &["--processes", "3"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document = finished.run();
    assert!(document.complete);
    assert_eq!(document.environment.kind, EnvironmentKind::AsFound);
    let arm = arm(&document, "python");
    assert_eq!(arm.priming.len(), 1);
    assert_eq!(arm.regimes.len(), 3);
    for sample in arm.regimes[..2].iter().flat_map(|regime| &regime.samples) {
        assert!(sample.valid, "{:?}", sample.reasons);
        assert_closes(sample);
        let first = sample.first_result.as_ref().unwrap();
        assert!(ns(&first.phases, Phase::Setup) >= 30_000_000);
        assert!(ns(&first.phases, Phase::FirstRun) >= 50_000_000);
        assert!(ns(&first.phases, Phase::Import) > 0);
        assert!(first.ns < sample.wall_ns);
    }
    let summary = arm.regimes[0].summary.as_ref().unwrap();
    assert_eq!(summary.valid, 3);
    assert!(summary.first_result.is_some());
    let warm = &arm.regimes[2];
    assert_eq!(warm.samples.len(), 3);
    for sample in &warm.samples {
        assert!(sample.valid, "{:?}", sample.reasons);
        assert_closes(sample);
        let window = sample.window.as_ref().unwrap();
        assert_eq!(window.warm_up_calls, 10);
        assert!(window.calls >= 10, "{window:?}");
        assert!(ns(&sample.phases, Phase::Window) >= 500_000_000);
    }
    assert!(warm.warm.as_ref().unwrap().per_call.point >= 50e6);
    assert!(warm.warm.as_ref().unwrap().memory.as_ref().unwrap().peak_rss_bytes > 0);
}

#[test]
fn a_workload_that_raises_is_recorded_and_the_other_arms_continue() {
    let sandbox = Sandbox::new();
    let raises = "def setup(case):\n    raise RuntimeError('no data at ' + case.name)\n";
    let arms = "[[arm]]\nname = \"bad\"\nworkload = \"bad.py\"\n\
                [[arm]]\nname = \"good\"\nworkload = \"adds.py\"\n";
    let files = [("adds.py", ADDS), ("helper.py", ""), ("bad.py", raises)];
    suite(&sandbox, &format!("{CASE}{arms}"), &files);
    let finished = run(&sandbox, &["--processes", "2"]);
    assert_eq!(finished.code, 5);
    let document = finished.run();
    let bad = arm(&document, "bad");
    let stopped = bad.stopped.as_ref().unwrap();
    assert_eq!(stopped.finding, Finding::ProcessFailed);
    assert!(stopped.text.contains("RuntimeError: no data at add"), "{stopped}");
    let failed = bad.priming[0].messages.iter().find_map(|message| match message {
        Message::Failed(failed) => Some(failed),
        _ => None,
    });
    assert!(failed.unwrap().traceback.contains("bad.py\", line 2, in setup"));
    let good = arm(&document, "good");
    assert!(good.regimes.iter().all(|regime| regime.summary.is_some()));
}

#[test]
fn a_wrong_result_makes_a_sample_invalid_and_leaves_no_number() {
    let sandbox = Sandbox::new();
    let wrong = CASE.replace("expected = 3", "expected = 4");
    let arms = "[[arm]]\nname = \"python\"\nworkload = \"adds.py\"\n";
    suite(&sandbox, &format!("{wrong}{arms}"), &[("adds.py", ADDS), ("helper.py", "")]);
    let finished = run(&sandbox, &["--processes", "2"]);
    assert_eq!(finished.code, 5);
    let document = finished.run();
    let regime = &arm(&document, "python").regimes[0];
    assert!(regime.summary.is_none());
    assert_eq!(regime.samples[0].reasons[0].finding, Finding::OutputDiffers);
}

#[test]
fn a_workload_with_a_missing_or_wrong_setup_is_reported() {
    let sandbox = Sandbox::new();
    let arms = "[[arm]]\nname = \"none\"\nworkload = \"none.py\"\n\
                [[arm]]\nname = \"odd\"\nworkload = \"odd.py\"\n\
                [[arm]]\nname = \"gone\"\nworkload = \"gone.py\"\n";
    let files = [("none.py", "x = 1\n"), ("odd.py", "def setup(case):\n    return 3\n")];
    suite(&sandbox, &format!("{CASE}{arms}"), &files);
    let document = run(&sandbox, &["--processes", "1"]).run();
    let why = |name: &str| arm(&document, name).stopped.as_ref().unwrap().text.clone();
    assert!(
        why("none").contains("the workload `none.py` has no function `setup`"),
        "{}",
        why("none")
    );
    assert!(why("odd").contains("setup returned int, not a firstlight.Workload"), "{}", why("odd"));
    assert!(why("gone").contains("gone.py"), "{}", why("gone"));
}

#[test]
fn a_workload_in_rust_speaks_the_same_protocol() {
    let sandbox = Sandbox::new();
    let program = sum_binary();
    let arms = format!(
        "[[case]]\nname = \"sum\"\nparameters = {{ count = 100000 }}\n\
         [[arm]]\nname = \"right\"\ncommand = [{0:?}]\n\
         [[arm]]\nname = \"wrong\"\ncommand = [{0:?}]\noptions = {{ fail = true }}\n",
        program.to_str().unwrap()
    );
    suite(&sandbox, &arms, &[]);
    let finished = run(&sandbox, &["--processes", "2"]);
    let document = finished.run();
    assert_eq!(document.environment.kind, EnvironmentKind::NotNeeded);
    let sample = &arm(&document, "right").regimes[0].samples[0];
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_closes(sample);
    assert!(ns(&sample.first_result.as_ref().unwrap().phases, Phase::FirstRun) > 0);
    let passed =
        |message: &Message| matches!(message, Message::Output(o) if o.check == Check::Passed);
    assert!(sample.raw.messages.iter().any(passed));
    let wrong = &arm(&document, "wrong").regimes[0].samples[0];
    assert_eq!(wrong.reasons[0].finding, Finding::OutputDiffers);
}

#[test]
fn runners_that_break_the_protocol_are_outcomes() {
    let sandbox = Sandbox::new();
    let hello = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":0},"role":"runner","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;
    let bye = r#"{"say":{"type":"bye","at":"$now"}}"#;
    let scripts = [
        ("silent", String::new()),
        ("leaves", format!("{hello}\n{bye}\n")),
        ("babbles", "{\"raw\":\"la la la\\n\"}\n\"hang\"\n".to_owned()),
        ("dies", format!("{hello}\n{{\"signal\":9}}\n")),
        (
            "unasked",
            format!(
                "{hello}\n{{\"say\":{{\"type\":\"output\",\"check\":\"passed\",\"digest\":null}}}}\n"
            ),
        ),
    ];
    let mut toml = "cache = { bytecode = \"as-found\" }\nregimes = [\"cold-clean\"]\n".to_owned();
    toml.push_str("[[case]]\nname = \"case\"\n");
    let replay = replay_binary();
    for (name, script) in &scripts {
        sandbox.file(&format!("suite/{name}.jsonl"), script);
        let program = replay.to_str().unwrap();
        let arm = format!("name = \"{name}\"\ncommand = [{program:?}, \"{name}.jsonl\"]\n");
        toml.extend(["[[arm]]\n", &arm]);
    }
    // The keys at the top must come before any table.
    let head = "name = \"small\"\nenvironment = \"as-found\"\n";
    sandbox.file("suite/suite.toml", &format!("{head}{toml}"));
    let finished = run(&sandbox, &["--processes", "1"]);
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    let document = finished.run();
    let reason = |name: &str| {
        let sample = &arm(&document, name).regimes[0].samples[0];
        assert_closes(sample);
        sample.reasons[0].to_string()
    };
    assert_eq!(reason("silent"), "protocol-broken: the runner exited without a first result");
    assert_eq!(reason("leaves"), "protocol-broken: the runner exited without a first result");
    assert!(
        reason("babbles").starts_with("protocol-broken: not a message"),
        "{}",
        reason("babbles")
    );
    assert_eq!(reason("dies"), "process-failed: was killed by signal 9");
    assert_eq!(reason("unasked"), "protocol-broken: `output` was not requested");
}

#[test]
fn cases_and_arms_can_be_chosen() {
    let sandbox = Sandbox::new();
    let toml = "[[case]]\nname = \"one\"\n[[case]]\nname = \"two\"\n\
                [[arm]]\nname = \"a\"\nworkload = \"w.py\"\n[[arm]]\nname = \"b\"\nworkload = \"w.py\"\n";
    let workload = "import firstlight\ndef setup(case):\n    return firstlight.Workload(int)\n";
    suite(&sandbox, toml, &[("w.py", workload)]);
    let document = run(&sandbox, &["--processes", "1", "--case", "two", "--arm", "b"]).run();
    assert_eq!(document.cases.len(), 1);
    assert_eq!(document.cases[0].name, "two");
    assert_eq!(document.cases[0].arms.len(), 1);
    let finished = run(&sandbox, &["--case", "three"]);
    assert_eq!(finished.code, 2);
    assert!(
        finished.stderr.contains("the suite has no case `three`, only one, two"),
        "{}",
        finished.stderr
    );
}

#[test]
fn arms_and_regimes_are_interleaved_in_an_order_that_the_seed_decides() {
    let order = |seed: &str| {
        let sandbox = Sandbox::new();
        let toml = "[[case]]\nname = \"one\"\n\
                    [[arm]]\nname = \"a\"\nworkload = \"w.py\"\n[[arm]]\nname = \"b\"\nworkload = \"w.py\"\n";
        let workload = "import firstlight\ndef setup(case):\n    return firstlight.Workload(int)\n";
        suite(&sandbox, toml, &[("w.py", workload)]);
        let finished = run(&sandbox, &["--processes", "3", "--seed", seed]);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        let place = |line: String| {
            let record: serde_json::Value = serde_json::from_str(&line).unwrap();
            let subject = &record["subject"];
            format!("{} {} {}", subject["arm"], subject["regime"], subject["again"])
        };
        sandbox.raw_lines().into_iter().map(place).collect::<Vec<_>>()
    };
    let first = order("1");
    assert_eq!(first, order("1"));
    assert_ne!(first, order("2"));
    // After the priming processes each regime's turn has every arm and the control once, and the second round
    // of a block has them in the reverse order.
    let turns: Vec<&[String]> = first[3..].chunks(3).collect();
    assert_eq!(turns.len(), 9);
    for turn in &turns {
        let mut sorted = turn.to_vec();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 3, "{turn:?}");
    }
    for regime in 0..3 {
        let reversed: Vec<&String> = turns[3 + regime].iter().rev().collect();
        assert_eq!(turns[regime].iter().collect::<Vec<_>>(), reversed);
    }
}

#[test]
fn a_missing_module_is_reported_once_with_its_line_and_the_interpreter() {
    let sandbox = Sandbox::new();
    let missing = "import firstlight\nimport no_such_module\n";
    let arms = "[[case]]\nname = \"one\"\n[[case]]\nname = \"two\"\n\
        [[arm]]\nname = \"a\"\nworkload = \"a.py\"\n[[arm]]\nname = \"b\"\nworkload = \"b.py\"\n";
    suite(&sandbox, arms, &[("a.py", missing), ("b.py", missing)]);
    let mut command = sandbox.firstlight();
    command.args(["run", "suite", "--output", "result"]);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    assert_eq!(finished.stdout, "", "there is no table without a number");
    for words in ["error: arm a: ", "ModuleNotFoundError", "(a.py:2)", "interpreter: /", "hint: "] {
        assert!(finished.stderr.contains(words), "{words}\n{}", finished.stderr);
    }
    let raw = std::fs::read_to_string(sandbox.path().join("result/raw.jsonl")).unwrap();
    assert_eq!(
        raw.lines().count(),
        3,
        "one of each arm and of the control, none of the other case"
    );
}

#[test]
fn a_suite_whose_limits_allow_no_verdict_is_rejected_before_anything_runs() {
    let sandbox = Sandbox::new();
    let arms = "processes = 3\n[[case]]\nname = \"one\"\n\
        [[arm]]\nname = \"a\"\nworkload = \"a.py\"\n[[arm]]\nname = \"b\"\nworkload = \"a.py\"\n";
    suite(&sandbox, arms, &[("a.py", ADDS)]);
    let refused = run(&sandbox, &[]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("`sampling.processes` is 3"), "{}", refused.stderr);
    assert!(refused.stderr.contains("verdicts = false"), "{}", refused.stderr);
}
