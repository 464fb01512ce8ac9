//! A result of `cold` is a normal run: every command opens it, and an interrupted run continues where its
//! plan stopped.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use firstlight_schema::comparison::Verdict;
use firstlight_schema::reading::{Outcome, RawRecord, SampleRole};
use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::Manifest;
use firstlight_schema::suite::Regime;

use crate::snapshot::firstlight;
use crate::support::{Finished, Sandbox, eventually};

fn cold(sandbox: &Sandbox, output: &str, arguments: &[&str]) -> Finished {
    let mut all = vec!["cold", "--output", output];
    all.extend(arguments);
    firstlight(sandbox, &all)
}

fn records(folder: &Path) -> Vec<RawRecord> {
    let text = fs::read_to_string(folder.join("raw.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn result(folder: &Path) -> RunDocument {
    serde_json::from_str(&fs::read_to_string(folder.join("result.json")).unwrap()).unwrap()
}

#[test]
fn every_command_opens_a_cold_result_and_verify_catches_one_changed_digit() {
    let sandbox = Sandbox::new();
    let measured = cold(&sandbox, "run", &["-r", "2", "--", "python3", "-c", "pass"]);
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    let commands: [&[&str]; 7] = [
        &["show", "run"],
        &["show", "run", "--report", "full"],
        &["report", "run", "--output", "page.html"],
        &["verify", "run"],
        &["compare", "run", "run"],
        &["export", "run", "--to", "csv"],
        &["snapshot", "run", "--archive", "--output", "run.tar.zst"],
    ];
    for arguments in commands {
        let finished = firstlight(&sandbox, arguments);
        assert_eq!(finished.code, 0, "{arguments:?}: {}", finished.stderr);
    }
    assert_eq!(firstlight(&sandbox, &["show", "run.tar.zst"]).code, 0);
    assert_eq!(firstlight(&sandbox, &["verify", "run.tar.zst"]).code, 0);
    let page = fs::read_to_string(sandbox.path().join("page.html")).unwrap();
    assert!(page.contains("interpreter"), "the page has a ledger");
    let words = page.replace("<span class=\"whole\">", "").replace("</span>", "");
    assert!(words.contains("firstlight cold --runs"), "the page says how to measure it again");
    let made = firstlight(&sandbox, &["export", "run", "--to", "speedscope"]);
    let flame: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    let profiles = flame["profiles"].as_array().unwrap();
    let titles: Vec<&str> = profiles.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(titles[0].ends_with(": ledger") && titles[1].ends_with(": imports"), "{titles:?}");
    for profile in profiles {
        balanced(profile);
    }

    let path = sandbox.path().join("run/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let wall = text.find("\"wall-ns\":").unwrap() + "\"wall-ns\":".len();
    let digit = if &text[wall..=wall] == "1" { "2" } else { "1" };
    fs::write(&path, format!("{}{digit}{}", &text[..wall], &text[wall + 1..])).unwrap();
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 6);
}

/// Frames open and close in order, inner ones first, within the profile.
fn balanced(profile: &serde_json::Value) {
    let (mut open, mut last) = (Vec::new(), 0);
    for event in profile["events"].as_array().unwrap() {
        let (frame, at) = (event["frame"].as_u64(), event["at"].as_u64().unwrap());
        assert!(at >= last, "{event} goes back");
        last = at;
        if event["type"] == "O" { open.push(frame) } else { assert_eq!(open.pop(), Some(frame)) }
    }
    assert!(open.is_empty() && last > 0 && last <= profile["endValue"].as_u64().unwrap());
}

#[test]
fn commands_are_compared_and_regimes_interleaved() {
    let sandbox = Sandbox::new();
    sandbox.file("a.py", "import time; time.sleep(0.3)\n");
    sandbox.file("b.py", "pass\n");
    let measured = cold(&sandbox, "run", &["-r", "5", "python3 a.py", "python3 b.py"]);
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    let document = result(&sandbox.path().join("run"));
    let comparison = &document.cases[0].comparisons[0];
    assert_eq!((comparison.arm.as_str(), comparison.against.as_str()), ("b", "a"));
    assert_eq!(comparison.verdict, Verdict::Faster, "{comparison:?}");
    assert!(measured.stdout.contains("faster than a on average: run −"), "{}", measured.stdout);
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);

    let both = ["-r", "2", "--cache", "clean,primed", "--arm", "new=python3 b.py"];
    assert_eq!(cold(&sandbox, "both", &both).code, 0);
    let regimes = |round| {
        let of = |record: &RawRecord| record.subject.as_ref().unwrap().round == Some(round);
        let records = records(&sandbox.path().join("both"));
        let of_round: Vec<RawRecord> = records.into_iter().filter(of).collect();
        of_round.iter().map(|r| r.subject.as_ref().unwrap().regime.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(regimes(1), [Regime::ColdClean, Regime::ColdPrimed]);
    assert_eq!(regimes(2), [Regime::ColdClean, Regime::ColdPrimed]);
    assert_eq!(firstlight(&sandbox, &["verify", "both"]).code, 0);
}

#[test]
fn a_command_needs_no_dashes_and_can_read_a_file_as_its_input() {
    let sandbox = Sandbox::new();
    sandbox.file("input", "seven words");
    let script = "import sys; assert sys.stdin.read() == 'seven words'";
    let arguments = ["-r", "2", "--stdin", "input", "python3", "-c", script];
    let measured = cold(&sandbox, "run", &arguments);
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    assert_eq!(cold(&sandbox, "not", &["-r", "2", "--cache", "clean,disabled", "true"]).code, 2);
}

#[test]
fn every_mark_is_in_the_result_and_on_the_screen() {
    let sandbox = Sandbox::new();
    let script = "import firstlight as f; f.mark('loaded'); f.mark('trained')";
    let measured = cold(&sandbox, "run", &["-r", "2", "--", "python3", "-c", script]);
    assert!(measured.stdout.contains("loaded"), "{}", measured.stdout);
    let document = result(&sandbox.path().join("run"));
    let marks = &document.cases[0].arms[0].regimes[0].summary.as_ref().unwrap().marks;
    let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names, ["loaded", "trained"]);
    assert!(marks[0].at.point <= marks[1].at.point);
}

#[test]
fn a_cold_document_of_an_earlier_version_is_still_read() {
    let sandbox = Sandbox::new();
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/documents/cold-1.1.json");
    let text = fs::read_to_string(fixture).unwrap();
    sandbox.file("old/result.json", &text);
    let shown = firstlight(&sandbox, &["show", "old", "--format", "json"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let document = shown.run();
    let old: serde_json::Value = serde_json::from_str(&text).unwrap();
    let regime = &document.cases[0].arms[0].regimes[0];
    let wall = regime.summary.as_ref().unwrap().wall.point;
    assert_eq!(Some(wall), old["summary"]["wall"]["point"].as_f64());
    let price = regime.hooks.as_ref().unwrap().price_wall.unwrap().point;
    assert_eq!(Some(price), old["control"]["price-wall"]["point"].as_f64());
    for command in [&["report", "old", "--output", "-"][..], &["export", "old", "--to", "csv"]] {
        assert_eq!(firstlight(&sandbox, command).code, 0, "{command:?}");
    }
}

/// A snapshot as a newer minor version might write it.
fn newer_snapshot() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    path.join("../../fixtures/snapshots/newer-minor.tar.zst").display().to_string()
}

#[test]
fn every_reader_shows_the_known_parts_of_a_newer_minor_version() {
    let sandbox = Sandbox::new();
    let archive = newer_snapshot();
    let must = |arguments: &[&str]| {
        let finished = firstlight(&sandbox, arguments);
        assert_eq!(finished.code, 0, "{arguments:?}: {}{}", finished.stdout, finished.stderr);
        finished.stdout
    };
    fs::create_dir(sandbox.path().join("site")).unwrap();
    must(&["snapshot", &archive, "--output", "folder"]);
    must(&["snapshot", &archive, "--archive", "--output", "site/copy.tar.zst"]);
    let document = sandbox.path().join("folder/result.json");
    let file = document.display().to_string();
    for result in ["folder", &archive, &file] {
        let shown = must(&["show", result]);
        assert!(shown.contains("newer-version") && shown.contains("too-hot"), "{shown}");
        let full = must(&["show", result, "--full"]);
        assert!(full.contains("too-hot: the machine: 91 degrees"), "{full}");
        for text in [shown, full] {
            assert!(!text.contains("lukewarm") && !text.contains("twice-as-nice"), "{text}");
        }
        must(&["show", result, "--all"]);
        must(&["show", result, "--format", "json"]);
        must(&["compare", result, result, "--format", "json"]);
        must(&["report", result, "--output", "page.html"]);
        for format in ["csv", "pyperf", "bencher", "junit", "github-action-benchmark"] {
            must(&["export", result, "--to", format]);
        }
    }
    let page = fs::read_to_string(sandbox.path().join("page.html")).unwrap();
    assert!(page.contains("too-hot"), "the page has a finding that only a newer firstlight knows");
    for snapshot in ["folder", &archive] {
        let verified = must(&["verify", snapshot]);
        assert!(verified.contains("newer than this firstlight"), "{verified}");
    }
    let published = must(&["publish", "site"]);
    assert!(!published.contains("refused"), "{published}");
}

#[test]
fn a_document_of_a_newer_minor_version_is_never_changed() {
    let sandbox = Sandbox::new();
    assert_eq!(
        firstlight(&sandbox, &["snapshot", &newer_snapshot(), "--output", "folder"]).code,
        0
    );
    let path = sandbox.path().join("folder/result.json");
    let before = fs::read(&path).unwrap();
    let commands: [&[&str]; 2] =
        [&["run", "--resume", "folder"], &["snapshot", "folder", "--recompute", "--output", "new"]];
    for arguments in commands {
        let refused = firstlight(&sandbox, arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("can be read but not changed"), "{}", refused.stderr);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn unknown_keys_are_rejected_in_a_document_of_this_version_and_in_a_suite() {
    let sandbox = Sandbox::new();
    let measured = cold(&sandbox, "run", &["-r", "2", "--", "true"]);
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    let text = fs::read_to_string(sandbox.path().join("run/result.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["cases"][0]["weather"] = "fine".into();
    sandbox.file("same/result.json", &document.to_string());
    let shown = firstlight(&sandbox, &["show", "same"]);
    assert_eq!(shown.code, 2, "{}", shown.stdout);
    assert!(shown.stderr.contains("unknown field `weather`"), "{}", shown.stderr);

    write_suite(&sandbox);
    for suite in [format!("weather = 1\n{SUITE}"), SUITE.replace("\"cold-clean\"", "\"lukewarm\"")]
    {
        sandbox.file("suite/suite.toml", &suite);
        let refused = firstlight(&sandbox, &["run", "suite", "--output", "refused"]);
        assert_eq!(refused.code, 2, "{suite}: {}", refused.stderr);
    }
}

#[test]
fn a_function_is_measured_without_a_suite() {
    let sandbox = Sandbox::new();
    sandbox.file("work.py", "def step(n):\n    return sum(range(n))\n");
    let arguments = ["warm", "work.py:step", "work:step", "--args", "2000", "--within", "200ms"];
    let few = ["--processes", "2", "--output", "run"];
    let measured = firstlight(&sandbox, &[&arguments[..], &few].concat());
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    let document = result(&sandbox.path().join("run"));
    let names: Vec<&str> = document.cases[0].arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["step", "step-2"]);
    for arm in &document.cases[0].arms {
        assert!(arm.regimes[0].samples.iter().all(|sample| sample.valid), "{arm:?}");
    }
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
    let wrong = firstlight(&sandbox, &["warm", "work.py"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("expected module:function"), "{}", wrong.stderr);
}

#[test]
fn a_new_suite_runs_immediately_and_its_run_is_listed() {
    let sandbox = Sandbox::new();
    assert_eq!(firstlight(&sandbox, &["new", "mine"]).code, 0);
    assert_eq!(firstlight(&sandbox, &["new", "mine"]).code, 2, "nothing is overwritten");
    let measured = firstlight(&sandbox, &["run", "mine", "--processes", "1"]);
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    let listed = firstlight(&sandbox, &["list"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(listed.stdout.contains("quickstart"), "{}", listed.stdout);
    assert!(listed.stdout.contains("mine, complete"), "{}", listed.stdout);
}

/// A suite of two arms in a cold and a primed regime.
const SUITE: &str = r#"
name = "small"
regimes = ["cold-clean", "cold-primed"]
[sampling]
processes = 10
[comparison]
outputs = "unchecked"
[[case]]
name = "sleep"
[[arm]]
name = "one"
process = ["sleep", "0.03"]
[[arm]]
name = "two"
process = ["sleep", "0.04"]
"#;

fn write_suite(sandbox: &Sandbox) {
    sandbox.file("suite/suite.toml", SUITE);
}

/// The order of the measured arms.
fn schedule(folder: &Path) -> Vec<String> {
    let measured = |record: &RawRecord| record.sample.role == SampleRole::Measured;
    let subject = |record: RawRecord| {
        let subject = record.subject.unwrap();
        let regime = subject.regime.unwrap();
        format!("{} {} {regime} {}", subject.arm, subject.again, subject.round.unwrap())
    };
    records(folder).into_iter().filter(measured).map(subject).collect()
}

#[test]
fn a_run_that_is_killed_ten_times_has_the_plan_of_one_that_is_not() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    let whole = firstlight(&sandbox, &["run", "suite", "--output", "whole"]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let taken = || {
        let text = fs::read_to_string(sandbox.path().join("killed/raw.jsonl")).unwrap_or_default();
        text.lines().count() as u64
    };
    let mut arguments = vec!["run", "suite", "--output", "killed"];
    // The run is killed again after this many further processes, at some moment of the next one.
    for (more, pause) in (0..10_u64).map(|kill| (1 + kill * 3 % 5, 7 * kill % 31)) {
        let before = taken();
        let mut command = sandbox.firstlight();
        command.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        assert!(eventually(|| taken() >= before + more), "{before} and {more} more");
        std::thread::sleep(Duration::from_millis(pause));
        assert!(child.try_wait().unwrap().is_none(), "it was over before it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
        arguments = vec!["run", "--resume", "killed"];
    }
    let finished = firstlight(&sandbox, &["run", "--resume", "killed"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let (whole, killed) = (sandbox.path().join("whole"), sandbox.path().join("killed"));
    assert_eq!(schedule(&killed), schedule(&whole));
    let verified = firstlight(&sandbox, &["verify", "killed"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    assert!(result(&killed).complete);
    let manifest = fs::read_to_string(killed.join("manifest.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest.origin.segments.len(), 10);
}

#[test]
fn the_last_processes_that_were_killed_with_the_run_are_started_again() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    let first = firstlight(&sandbox, &["run", "suite", "--output", "run", "--for", "1ms"]);
    assert!(first.stderr.contains("firstlight run --resume"), "{}", first.stderr);
    let folder = sandbox.path().join("run");
    let mut cut = records(&folder);
    let taken = cut.len();
    cut[taken - 2].sample.outcome = Outcome::Killed { signal: 15 };
    cut[taken - 1].sample.outcome = Outcome::Interrupted;
    let lines: String =
        cut.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
    fs::write(folder.join("raw.jsonl"), lines).unwrap();
    let second = firstlight(&sandbox, &["run", "--resume", "run"]);
    assert_eq!(second.code, 0, "{}", second.stderr);
    let again = records(&folder);
    assert_eq!(again[..taken - 2], cut[..taken - 2]);
    assert!(again.iter().all(|record| record.sample.outcome == Outcome::Completed));
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
}

#[test]
fn a_run_with_a_time_limit_ends_with_whole_rounds_and_continues() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    let first = firstlight(&sandbox, &["run", "suite", "--output", "run", "--for", "1ms"]);
    assert!(first.stderr.contains("firstlight run --resume"), "{}", first.stderr);
    let folder = sandbox.path().join("run");
    assert!(!result(&folder).complete);
    assert_eq!(schedule(&folder).len() % 6, 0, "three contenders in two regimes");
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
    let second = firstlight(&sandbox, &["run", "--resume", "run"]);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert!(result(&folder).complete);
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
    let third = firstlight(&sandbox, &["run", "--resume", "run"]);
    assert_eq!(third.code, 2);
    assert!(third.stderr.contains("is already complete"), "{}", third.stderr);
}

#[test]
fn a_run_does_not_continue_with_a_changed_suite() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    firstlight(&sandbox, &["run", "suite", "--output", "run", "--for", "1ms"]);
    let path = sandbox.path().join("run/suite/suite.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("0.03", "0.05")).unwrap();
    let resumed = firstlight(&sandbox, &["run", "--resume", "run", "--new-segment"]);
    assert_eq!(resumed.code, 2);
    assert!(resumed.stderr.contains("the suite's files changed"), "{}", resumed.stderr);
}
