//! Impossible times and pauses never become results.

use std::fs;

use firstlight_schema::finding::Finding;
use firstlight_schema::reading::Outcome;

use crate::snapshot::{firstlight, measured};
use crate::support::{Finished, Sandbox, replay_binary};

const HELLO: &str = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":1},"role":"runner","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;
const READY: &str = r#"{"say":{"type":"ready","at":"$now"}}"#;
const BYE: &str = r#"{"say":{"type":"bye","at":"$now"}}"#;

/// A suite whose only arm follows the script, in the cold regime.
fn run(sandbox: &Sandbox, lines: &[&str]) -> Finished {
    let script = sandbox.file("script.jsonl", &lines.join("\n"));
    let toml = format!(
        "name = \"fake\"\nenvironment = \"as-found\"\nregimes = [\"cold-clean\"]\n\
         [comparison]\nverdicts = false\n[[case]]\nname = \"c\"\n\
         [[arm]]\nname = \"a\"\ncommand = [{:?}, {:?}]\n",
        replay_binary().to_str().unwrap(),
        script.to_str().unwrap()
    );
    sandbox.file("suite/suite.toml", &toml);
    firstlight(
        sandbox,
        &["run", "suite", "--processes", "2", "--output", "run", "--format", "json"],
    )
}

fn iterations(spans: &str) -> String {
    format!(r#"{{"say":{{"type":"iterations","part":"first","last":true,"spans":{spans}}}}}"#)
}

#[test]
fn impossible_times_break_the_protocol_and_give_no_number() {
    for (spans, words) in [
        ("[[1, 2]]", "lies outside of the process"),
        (r#"[["$now", 18446744073709551615]]"#, "lies outside of the process"),
        (r#"[["$now", 1000000000000000000]]"#, "lies outside of the process"),
        (
            r#"[["$now","$now"],["$now","$now"],["$now","$now"]]"#,
            "3 calls were made, 1 were requested",
        ),
    ] {
        let sandbox = Sandbox::new();
        let finished = run(&sandbox, &[r#"{"listen":3}"#, HELLO, READY, &iterations(spans), BYE]);
        assert_eq!(finished.code, 5, "{spans}: {}", finished.stderr);
        let document = finished.run();
        // The first process fills the caches; after its failure no other is started.
        let raw = &document.cases[0].arms[0].priming[0];
        let Outcome::Broke { error } = &raw.outcome else { panic!("{:?}", raw.outcome) };
        assert!(error.contains(words), "{error}");
        let verified = firstlight(&sandbox, &["verify", "run"]);
        assert_eq!(verified.code, 0, "an invalid sample verifies: {}", verified.stdout);
    }
}

#[test]
fn impossible_times_in_a_snapshot_fail_its_check() {
    let changes: [fn(&mut Vec<serde_json::Value>); 4] = [
        // Before the start of the process.
        |spans| spans[0][0] = 1.into(),
        // Beyond the range of the clock.
        |spans| spans[0][1] = u64::MAX.into(),
        // Inside the previous call.
        |spans| spans[1][0] = spans[0][0].clone(),
        // More calls than requested.
        |spans| {
            let last = spans.last().unwrap().clone();
            spans.extend(vec![serde_json::json!([last[1], last[1]]); 100_000]);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let sandbox = Sandbox::new();
        let path = measured(&sandbox).join("raw.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let messages = lines.last_mut().unwrap()["sample"]["messages"].as_array_mut().unwrap();
        let block = messages
            .iter_mut()
            .find(|message| message["spans"].as_array().is_some_and(|spans| spans.len() > 1));
        change(block.unwrap()["spans"].as_array_mut().unwrap());
        let forged: Vec<String> = lines.iter().map(ToString::to_string).collect();
        fs::write(&path, forged.join("\n") + "\n").unwrap();
        let verified = firstlight(&sandbox, &["verify", "run"]);
        assert_eq!(verified.code, 6);
        let printed = format!("{}{}", verified.stdout, verified.stderr);
        assert!(printed.contains("fail         times"), "{number}: {printed}");
    }
}

#[test]
fn a_stopped_process_gives_no_sample() {
    let sandbox = Sandbox::new();
    for seconds in ["3", "0.1"] {
        let script = format!("(sleep {seconds}; kill -CONT $$) & kill -STOP $$; exit 0");
        let mut command = sandbox.firstlight();
        command.args(["cold", "--runs", "1", "--format", "json", "--", "bash", "-c", &script]);
        let finished = Finished::new(command);
        let sample = finished.sample();
        assert!(!sample.valid, "{seconds}");
        assert_eq!(sample.reasons[0].finding, Finding::Paused, "{:?}", sample.reasons);
        assert!(sample.raw.paused.is_some_and(|paused| paused.stops > 0));
        assert_eq!(finished.code, 5, "{}", finished.stderr);
    }
}

#[test]
fn a_process_with_a_stopped_grandchild_gives_no_sample() {
    let sandbox = Sandbox::new();
    // A program may stop late on a busy machine, and a launcher may have short-lived children. The script
    // waits until the process that `$1` finds is stopped.
    let resume = "resume() { until P=$(eval $1) && grep -qs '^State:.T' /proc/$P/status; do \
                  sleep 0.02; done; sleep 0.5; kill -CONT $P; }; ";
    // Its own child; the child of another thread; an orphan that has left the session.
    for stopped in [
        "bash -c 'kill -STOP $$' & resume \"echo $!\"; wait",
        "python3 -c 'import threading, os\nt = threading.Thread(target=os.system, args=(\"kill -STOP $$\",))\n\
         t.start()' & resume \"pgrep -P $!\"; wait",
        "(setsid bash -c 'echo $$ > pid; kill -STOP $$' &); resume 'cat pid'",
    ] {
        let script = &format!("{resume}{stopped}");
        let mut command = sandbox.firstlight();
        command.args(["cold", "--runs", "1", "--format", "json", "--", "bash", "-c", script]);
        let finished = Finished::new(command);
        let sample = finished.sample();
        assert!(!sample.valid, "{script}");
        assert_eq!(sample.reasons[0].finding, Finding::Paused, "{:?}", sample.reasons);
        assert!(sample.raw.paused.is_some_and(|paused| paused.stops > 0), "{script}");
        assert_eq!(finished.code, 5, "{}", finished.stderr);
    }
}

#[test]
fn a_process_with_idle_grandchildren_gives_a_sample() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "1", "--format", "json", "--"]);
    command.args(["bash", "-c", "bash -c 'sleep 0.5' & sleep 0.4; wait"]);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.sample().raw.paused.is_none());
}

#[test]
fn the_output_of_a_successful_process_is_not_published() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "2", "--format", "json", "--output", "run", "--"]);
    command.args(["sh", "-c", "echo planted-output; echo planted-output >&2"]);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let raw = fs::read_to_string(sandbox.path().join("run/raw.jsonl")).unwrap();
    assert!(raw.contains("\"stdout-bytes\":15"), "it is still counted");
    // The command itself is part of the record, its output is not.
    assert!(!raw.contains("planted-output"), "{raw}");
}

#[test]
fn a_process_that_closes_its_descriptor_gets_a_notice() {
    let sandbox = Sandbox::new();
    let finished = sandbox.python("import os\nprint(1)\nos._exit(0)\n", &["--runs", "1"]);
    let sample = finished.sample();
    let closed =
        |reason: &firstlight_schema::finding::Reason| reason.finding == Finding::ChannelClosed;
    assert!(sample.notices.iter().any(closed), "{:?}", sample.notices);
}

#[test]
fn an_exception_with_fifty_megabytes_of_text_is_a_failure_with_its_beginning() {
    let sandbox = Sandbox::new();
    let suite = "name = \"s\"\nregimes = [\"cold-clean\"]\n[comparison]\nverdicts = false\n\
                 [[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\nworkload = \"w.py\"\n";
    sandbox.file("suite/suite.toml", suite);
    sandbox.file("suite/w.py", "def setup(case):\n    raise ValueError('x' * 50_000_000)\n");
    let finished = firstlight(&sandbox, &["run", "suite", "--processes", "2", "--format", "json"]);
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    let stopped = finished.run().cases[0].arms[0].stopped.clone().unwrap();
    assert_eq!(stopped.finding, Finding::ProcessFailed, "{stopped}");
    assert!(stopped.text.contains("ValueError: xxx") && stopped.text.len() < 10_000);
}
