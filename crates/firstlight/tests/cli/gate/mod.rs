//! `firstlight gate` on small repositories. The runner sleeps as long as the commit's script says, and the
//! planted slowdowns are many times larger than what a busy machine adds.

mod bisect;
mod repository;

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use firstlight_schema::gate::{Decision, GateDocument, Results};
use firstlight_schema::run::RunDocument;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Finished;
use repository::{Repository, script};

const QUICK: u32 = 30;
const SLOW: u32 = 90;

fn document(finished: &Finished) -> GateDocument {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", finished.stdout, finished.stderr))
}

/// A repository whose first commit has one arm, and the given script in the second.
fn changed(second: &str) -> Repository {
    commits(&[&script(QUICK, "00"), second])
}

/// A repository with a commit for each script of its one arm.
fn commits(scripts: &[&str]) -> Repository {
    let repository = Repository::new();
    for (script, name) in scripts.iter().zip(["first", "second", "third"]) {
        repository.suite(&[("arm", script)]);
        repository.commit(name);
    }
    repository
}

const GATE: [&str; 6] = ["gate", "--base", "HEAD~1", "--format", "json", "bench"];

#[test]
fn a_planted_slowdown_fails_and_every_command_reads_the_run() {
    let repository = changed(&script(SLOW, "00"));
    let mut arguments = GATE.to_vec();
    arguments.extend(["--head", "HEAD", "--output", "run", "--markdown", "comment.md"]);
    arguments.extend(["--summary", "summary.md", "--json", "gate.json", "--annotations", "github"]);
    let finished = repository.firstlight(&arguments);
    assert_eq!(finished.code, 3, "{}{}", finished.stdout, finished.stderr);
    let gate = document(&finished);
    assert_eq!(gate.decision, Decision::Failed);
    let [row] = gate.rows.as_slice() else { panic!("{:?}", gate.rows) };
    assert_eq!((row.case.as_str(), row.arm.as_str()), ("c", "arm"));
    assert_eq!(row.results, Results::Same);
    let ratio = row.comparison.as_ref().unwrap().ratio.unwrap();
    assert!(ratio.point > 1.5 && ratio.n == 6, "{ratio:?}");
    assert_eq!((gate.base.subject.as_str(), gate.head.subject.as_str()), ("first", "second"));
    let read = |name: &str| fs::read_to_string(repository.path().join(name)).unwrap();
    assert_eq!(read("gate.json"), finished.stdout);
    assert!(
        read("comment.md").starts_with("<!-- firstlight gate: bench -->\n### ❌ head is slower")
    );
    assert!(read("summary.md").contains("| c, arm, cold-clean | slower |"));
    let annotated = "::error title=firstlight%3A slower::c, arm, cold-clean: +";
    assert!(finished.stderr.contains(annotated), "{}", finished.stderr);
    for command in
        [&["verify", "run"][..], &["show", "run"], &["report", "run"], &["show", "run", "--full"]]
    {
        let read = repository.firstlight(command);
        assert_eq!(read.code, 0, "{command:?}: {}{}", read.stdout, read.stderr);
    }
    let page = repository.firstlight(&["report", "run", "--output", "page.html"]);
    assert_eq!(page.code, 0, "{}", page.stderr);
    assert!(!read("page.html").contains("firstlight run gate-"), "no suite has this name");
    let compared = ["compare", "run", "--arms", "base", "head", "--format", "json"];
    assert!(repository.firstlight(&compared).stdout.contains("\"verdict\":\"slower\""));
    let text = read("run/result.json");
    let run: RunDocument = serde_json::from_str(&text).unwrap();
    assert_eq!(run.suite, "gate-fake");
    let first: Vec<&str> = fs::read_to_string(repository.path().join("run/raw.jsonl"))
        .unwrap()
        .lines()
        .map(|line| if line.contains("\"arm\":\"base\"") { "base" } else { "head" })
        .collect();
    let turns = first.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(turns > 5, "the sides take turns: {first:?}");
    assert_eq!(repository.worktrees(), 0);
}

#[test]
fn the_same_program_passes_and_the_same_commit_is_an_a_a_check() {
    // Long enough that a busy machine adds little to it.
    let steady = script(5 * QUICK, "00");
    let repository = commits(&[&steady, &steady]);
    let finished = repository.firstlight(&[&GATE[..], &["--margin", "60%"]].concat());
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    assert_eq!(document(&finished).decision, Decision::Passed);
    let arguments = ["gate", "--base", "HEAD", "--head", "main", "--margin", "60%", "bench"];
    let same = repository.firstlight(&arguments);
    assert_eq!(same.code, 0, "{}{}", same.stdout, same.stderr);
    assert!(same.stdout.contains("base and head are the same commit: this is an A/A check"));
    assert!(same.stdout.starts_with("passed: head is not slower than base in 1 comparison"));
}

#[test]
fn other_results_fail_however_fast_they_are() {
    let repository = changed(&script(QUICK, "11"));
    let finished = repository.firstlight(&GATE);
    assert_eq!(finished.code, 3, "{}{}", finished.stdout, finished.stderr);
    let gate = document(&finished);
    assert_eq!(gate.rows[0].results, Results::Different);
    assert_eq!(gate.rows[0].why.as_deref().map(|why| why.contains("not equal")), Some(true));
}

#[test]
fn an_open_question_and_a_failed_process_have_codes_of_their_own() {
    let repository = changed(&script(QUICK, "00"));
    let open = repository.firstlight(&[&GATE[..], &["--processes", "2"]].concat());
    assert_eq!(open.code, 4, "{}{}", open.stdout, open.stderr);
    assert_eq!(document(&open).decision, Decision::Inconclusive);
    repository.write("bench/arm.jsonl", "{\"stderr\":\"it is broken\"}\n{\"exit\":7}\n");
    // Without --head, the working tree is measured.
    let broken = repository.firstlight(&GATE);
    assert_eq!(broken.code, 5, "{}{}", broken.stdout, broken.stderr);
    let gate = document(&broken);
    assert_eq!(gate.decision, Decision::NotRun);
    assert!(gate.head.uncommitted && gate.rows[0].why.as_ref().unwrap().starts_with("head: "));
    assert_eq!(repository.git(&["status", "--porcelain"]), "M bench/arm.jsonl");
}

/// The planted difference is a tenth of the time, and twice the margin. A busy machine may need more
/// processes, but never gets another answer.
#[test]
fn a_slowdown_of_a_tenth_fails_and_none_passes() {
    let [usual, slower] = [300, 333].map(|ms| script(ms, "00"));
    let repository = commits(&[&usual, &usual, &slower]);
    let gate = |head: &str, processes: &str| {
        let start = ["gate", "--base", "HEAD~2", "--head", head, "--processes", processes];
        repository.firstlight(&[&start[..], &["--margin", "5%", "bench"]].concat())
    };
    for (head, code) in [("HEAD", 3), ("HEAD~1", 0)] {
        let answers = ["10", "20", "40", "80"].into_iter().map(|processes| gate(head, processes));
        let answer = answers.into_iter().find(|answer| answer.code != 4).expect("80 are enough");
        assert_eq!(answer.code, code, "{}{}", answer.stdout, answer.stderr);
    }
}

#[test]
fn the_command_that_repeats_a_gate_has_its_options() {
    let repository = changed(&script(QUICK, "00"));
    let reproduced = |arguments: &[&str]| {
        let start = ["gate", "--base", "HEAD~1", "--head", "HEAD", "--format", "json"];
        let finished = repository.firstlight(&[&start[..], arguments].concat());
        let words = document(&finished).reproduce;
        let (commits, options) = words.split_at("firstlight gate --base 0123456789".len());
        assert!(commits.starts_with("firstlight gate --base "), "{words}");
        options[" --head 0123456789 ".len()..].to_owned()
    };
    let options = ["--processes", "2", "--margin", "7%", "--prepare", "echo $HOME", "bench"];
    assert_eq!(reproduced(&options), "--prepare 'echo $HOME' --processes 2 --margin 0.07 bench");
    let command = ["--processes", "2", "--cache", "primed", "--timeout", "9s", "--", "true", "a b"];
    assert_eq!(reproduced(&command), "--processes 2 --cache primed --timeout 9000ms -- true 'a b'");
}

#[test]
fn a_command_is_measured_in_both_checkouts() {
    let repository = Repository::new();
    repository.write("tools/app", "#!/bin/sh\nsleep 0.02\n");
    repository.git(&["config", "core.fileMode", "true"]);
    repository.commit("first");
    repository.write("tools/app", "#!/bin/sh\nsleep 0.1\n");
    repository.commit("second");
    let gate = |program: &str, more: &[&str]| {
        let start = ["gate", "--base", "HEAD~1", "--format", "json", "--processes", "6"];
        repository.firstlight(&[&start[..], more, &["--", program]].concat())
    };
    let missing = gate("./tools/app", &[]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.starts_with("error: program `./tools/app` not found in HEAD~1 ("));
    let slow = gate("./tools/app", &["--prepare", "chmod +x tools/app"]);
    assert_eq!(slow.code, 3, "{}{}", slow.stdout, slow.stderr);
    let gate_of = document(&slow);
    assert_eq!((gate_of.subject.as_str(), gate_of.rows.len()), ("./tools/app", 1));
    let broken = gate("./tools/app", &["--prepare", "echo no compiler >&2; false"]);
    assert_eq!(broken.code, 5, "{}", broken.stderr);
    assert!(broken.stderr.contains("no compiler"), "{}", broken.stderr);
    let silent = gate("./tools/app", &["--prepare", "exit 3"]);
    assert!(silent.stderr.contains("`exit 3` exited with code 3\n\nhint: "), "{}", silent.stderr);
    assert_eq!(repository.worktrees(), 0);
}

#[test]
fn what_cannot_be_compared_is_an_error_with_a_hint() {
    let repository = changed(&script(QUICK, "00"));
    repository.write("later/suite.toml", "name = \"later\"\n");
    repository.commit("third");
    repository.write("old/raw.jsonl", "");
    for (arguments, words) in [
        (&["gate", "--base", "nowhere", "bench"][..], "error: no commit named `nowhere`"),
        (&["gate", "--base", "HEAD~1", "later"], "error: no suite `later` in HEAD~1 ("),
        (&["gate", "--base", "HEAD~1", "../other"], "error: `../other` is outside the repository"),
        (&["gate", "--base", "HEAD~1", "bench", "--arm", "x"], "error: HEAD~1 ("),
        (&["gate", "--base", "HEAD~1", "bench", "--output", "old"], "`old` already holds a run"),
    ] {
        let finished = repository.firstlight(arguments);
        assert_eq!(finished.code, 2, "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(words), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains("\nhint: "), "{arguments:?}: {}", finished.stderr);
    }
    let link = ["gate", "--base", "HEAD", "bench", "--report-url", "javascript:alert(1)"];
    let refused = repository.firstlight(&link);
    assert!(refused.stderr.contains("begins with https:// or http://"), "{}", refused.stderr);
    let mut outside = repository.command(&["gate", "--base", "HEAD", "bench"]);
    outside.current_dir(repository.sandbox.path());
    let outside = Finished::new(outside);
    assert_eq!(outside.code, 2);
    assert!(outside.stderr.contains("is not in a git repository"), "{}", outside.stderr);
}

#[test]
fn an_interrupted_gate_removes_its_worktrees() {
    let repository = changed(&script(3000, "00"));
    let mut command = repository.command(&["gate", "--base", "HEAD~1", "--output", "run", "bench"]);
    let mut running = command.spawn().unwrap();
    while repository.worktrees() < 2 || !repository.path().join("run/raw.jsonl").exists() {
        assert!(running.try_wait().unwrap().is_none(), "it is still measuring");
        sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_child(&running);
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert_eq!(repository.worktrees(), 0);
}
