//! The conformance kit: real runners pass, and each planted defect is named.

use std::path::Path;

use firstlight_schema::conformance::{ConformanceDocument, Requirement};
use firstlight_schema::validation::RuleOutcome;

use crate::support::{Finished, Sandbox, replay_binary, sum_binary};

const RUNNERS: &str = include_str!("runners.py");

fn conformance(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.arg("conformance").args(arguments);
    Finished::new(command)
}

/// The runner in Python that knows nothing of firstlight, with a defect.
fn defective(defect: &str, options: &[&str]) -> Finished {
    let sandbox = Sandbox::new();
    let script = sandbox.file("runner.py", RUNNERS);
    let runner = ["--", "python3", script.to_str().unwrap(), defect];
    conformance(&sandbox, &[options, &runner].concat())
}

/// Requirements that failed, with what is missing.
fn failures(finished: &Finished) -> Vec<(Requirement, String)> {
    let document: ConformanceDocument = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", finished.stdout, finished.stderr));
    assert_eq!(document.passed, finished.code == 0, "{}", finished.stderr);
    let results = document.conversations.into_iter().flat_map(|one| one.requirements);
    results
        .filter(|result| result.outcome == RuleOutcome::Fail)
        .map(|result| (result.requirement, result.evidence))
        .collect()
}

#[test]
fn a_runner_in_rust_one_in_python_and_a_foreign_one_conform() {
    let sandbox = Sandbox::new();
    let sum = sum_binary();
    let rust = ["--set", "count=1000", "--", sum.to_str().unwrap()];
    sandbox.file(
        "step.py",
        "import firstlight\n\ndef setup(case):\n    return firstlight.Workload(lambda: 1)\n",
    );
    for finished in [
        conformance(&sandbox, &rust),
        conformance(&sandbox, &["--workload", "step.py"]),
        defective("none", &[]),
    ] {
        assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
        assert!(finished.stdout.contains("\nconforms: "), "{}", finished.stdout);
        assert!(!finished.stdout.contains("fail  "), "{}", finished.stdout);
    }
}

/// Every conversation's own messages, with the times of the process that says them.
#[test]
fn a_runner_that_says_what_the_fixtures_say_conforms() {
    let sandbox = Sandbox::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("embedded/conversations");
    let played = ["runner", "runner-warm", "runner-iterates", "runner-stops-early"];
    for (index, name) in played.iter().chain(&["runner-unprepared"]).enumerate() {
        let text = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        let said = text.lines().filter_map(|line| line.strip_prefix("< "));
        let mut script: Vec<String> = said
            .map(|line| {
                let mut message = serde_json::from_str(line).unwrap();
                stamp(&mut message, None);
                format!("{{\"say\":{message}}}")
            })
            .collect();
        // Calls are over when they are reported, but here their times are those of the report.
        if let Some(begin) = script.iter().position(|line| line.contains("first-run")) {
            let calls = script.iter().position(|line| line.contains("spans")).unwrap();
            script[begin + 1..=calls].rotate_right(1);
        }
        sandbox.file(&format!("{index}.jsonl"), &script.join("\n"));
    }
    sandbox.file("next", "0");
    // The next conversation at each start.
    let shell = format!(
        "read n < next; echo $((n + 1)) > next; exec {} $n.jsonl",
        replay_binary().display()
    );
    let finished = conformance(&sandbox, &["--", "bash", "-c", &shell]);
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
}

/// Replaces every time of a message by the present.
fn stamp(value: &mut serde_json::Value, name: Option<&str>) {
    use serde_json::Value;
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                stamp(value, Some(name));
            }
        }
        Value::Array(items) if name == Some("spans") => {
            for item in items.iter_mut().flat_map(|span| span.as_array_mut().unwrap()) {
                *item = Value::from("$now");
            }
        }
        Value::Number(_) if name == Some("at") => *value = Value::from("$now"),
        _ => {}
    }
}

#[test]
fn every_planted_defect_is_named() {
    use Requirement::{Bye, Exit, Failed, First, FirstResult, Iterate, Lines, WarmUp};
    for (defect, requirement, words) in [
        ("no-output", First, "`output` is missing after `iterations`"),
        ("no-output", Iterate, "expected `output`, got `settled` after `iterations`"),
        ("no-last-block", First, "no block of `iterations` is marked as the last"),
        ("one-part", WarmUp, "`iterations` has the part `first`, expected `warm-up`"),
        ("ignores-the-limit", Iterate, "further calls start after the limit of 2000000 ns"),
        ("no-mark", FirstResult, "the event `mark` with the name `first-result` is missing"),
        ("never-fails", Failed, "`first` without `prepare` must be answered by `failed`"),
        ("no-bye", Bye, "`bye` is missing"),
        ("speaks-after-bye", Lines, "`phase` came after bye"),
        ("exits-badly", Exit, "exited with code 3"),
        ("hangs", Exit, "exceeded its time limit after"),
    ] {
        let timeout = if defect == "hangs" { "1s" } else { "30s" };
        let finished = defective(defect, &["--format", "json", "--timeout", timeout]);
        assert_eq!(finished.code, 6, "{defect}: {}{}", finished.stdout, finished.stderr);
        let found = failures(&finished);
        let is_named =
            found.iter().any(|(name, text)| *name == requirement && text.contains(words));
        assert!(is_named, "{defect}: {found:?}");
    }
}

#[test]
fn the_report_names_what_is_missing_line_by_line() {
    let finished = defective("no-output", &[]);
    assert_eq!(finished.code, 6);
    let (_, text) = finished.stdout.split_once("\n\n").unwrap();
    insta::assert_snapshot!(text, @r"
    a cold start
    pass         hello         protocol 1.0, x
    pass         lines         7 messages
    pass         prepare       `ready`
    fail         first         `output` is missing after `iterations`
    pass         first-result  marked
    pass         phases        all calls lie in their phases
    pass         bye           the last message
    pass         exit          completed

    a warm process
    pass         hello         protocol 1.0, x
    pass         lines         10 messages
    pass         prepare       `ready`
    pass         warm-up       calls: 10
    fail         iterate       expected `output`, got `settled` after `iterations`
    pass         settle        calls: 1
    pass         phases        all calls lie in their phases
    pass         bye           the last message
    pass         exit          completed

    two windows
    pass         hello         protocol 1.0, x
    pass         lines         9 messages
    pass         prepare       `ready`
    fail         iterate       expected `output`, got `iterations` after `iterations`
    fail         iterate       `output` is missing after `iterations`
    pass         phases        all calls lie in their phases
    pass         bye           the last message
    pass         exit          completed

    a time limit
    pass         hello         protocol 1.0, x
    pass         lines         6 messages
    pass         prepare       `ready`
    fail         iterate       `output` is missing after `iterations`
    pass         phases        all calls lie in their phases
    pass         bye           the last message
    pass         exit          completed

    a request without `prepare`
    pass         hello         protocol 1.0, x
    pass         lines         3 messages
    pass         failed        not prepared
    pass         exit          completed

    DOES NOT CONFORM: 31 passed, 5 failed, 0 not checked
    ");
}

#[test]
fn a_runner_that_cannot_be_started_is_an_error_of_usage() {
    let finished = conformance(&Sandbox::new(), &["--", "./no-such-runner"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("no-such-runner"), "{}", finished.stderr);
}
