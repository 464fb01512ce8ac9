//! `firstlight bisect` over twenty commits whose runner sleeps as long as their scripts say.

use firstlight_schema::gate::{BisectDocument, Change, Found};

use super::repository::{Repository, script};
use crate::support::Finished;

const QUICK: u32 = 10;
const SLOW: u32 = 80;

/// Twenty commits after a good one: from the given one on the program is slow or computes something else.
fn history(first: usize, planted: &str, broken: &[usize]) -> (Repository, Vec<String>) {
    let repository = Repository::new();
    let quick = script(QUICK, "00");
    repository.suite(&[("arm", &quick)]);
    repository.commit("good");
    repository.git(&["tag", "good"]);
    let mut commits = Vec::new();
    for number in 1..=20 {
        let now = if number >= first { planted } else { &quick };
        let now = if broken.contains(&number) { "{\"exit\":7}\n" } else { now };
        repository.write("bench/arm.jsonl", now);
        repository.write("number", &number.to_string());
        commits.push(repository.commit(&format!("commit {number}")));
    }
    (repository, commits)
}

fn document(finished: &Finished) -> BisectDocument {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", finished.stdout, finished.stderr))
}

const BISECT: [&str; 6] = ["bisect", "--good", "good", "--format", "json", "bench"];

#[test]
fn the_planted_commit_of_twenty_is_found_and_the_log_continues_the_search() {
    let (repository, commits) = history(13, &script(SLOW, "00"), &[10]);
    let finished = repository.firstlight(&[&BISECT[..], &["--log", "log.json"]].concat());
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    let found = document(&finished);
    assert_eq!(found.change, Some(Change::Slower));
    let suspects: Vec<&str> = found.suspects.iter().map(|one| one.commit.as_str()).collect();
    assert_eq!(suspects, [&commits[12]]);
    let skipped = found.steps.iter().find(|step| step.found == Found::NotRun);
    assert_eq!(skipped.map(|step| step.subject.as_str()), Some("commit 10"));
    assert!(found.steps.len() <= 7, "{:?}", found.steps);
    let last = "commit 13";
    assert_eq!(found.suspects[0].subject, last);
    assert_eq!(repository.worktrees(), 0);
    // Everything is in the log, so nothing is measured.
    let runs = || std::fs::read_dir(repository.sandbox.path().join("runs")).unwrap().count();
    let before = runs();
    let arguments = ["bisect", "--good", "good", "--log", "log.json", "bench"];
    let continued = repository.firstlight(&arguments);
    assert_eq!((continued.code, runs()), (0, before), "{}", continued.stderr);
    let sentence = format!("{} is the first commit that became slower: {last}", commits[12]);
    let said = continued.stdout.replace("\n  ", " ");
    assert!(said.ends_with(&format!("{sentence}\n")), "{said}");
    let early = repository.firstlight(&["bisect", "--good", "good", "--log", "no/log", "bench"]);
    assert!(early.stderr.starts_with("error: cannot write `no/log`: "), "{}", early.stderr);
    let other = repository.firstlight(&[
        "bisect", "--good", "good~0", "--bad", "HEAD~1", "--log", "log.json", "bench",
    ]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("it is about other commits"), "{}", other.stderr);
}

#[test]
fn other_results_are_found_and_commits_that_fail_remain_suspects() {
    let (repository, commits) = history(4, &script(QUICK, "11"), &[3, 5, 6]);
    let finished = repository.firstlight(&[&BISECT[..], &["--bad", &commits[7]]].concat());
    assert_eq!(finished.code, 4, "{}{}", finished.stdout, finished.stderr);
    let found = document(&finished);
    assert_eq!(found.change, Some(Change::DifferentResults));
    let subjects: Vec<&str> = found.suspects.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, ["commit 3", "commit 4"]);
}

#[test]
fn an_open_question_is_asked_with_more_processes() {
    let (repository, commits) = history(2, &script(SLOW, "00"), &[]);
    let arguments = ["--processes", "3", "--bad", &commits[1]];
    let finished = repository.firstlight(&[&BISECT[..], &arguments].concat());
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.contains("inconclusive with 3 processes: measuring 6"));
    assert_eq!(document(&finished).suspects[0].commit, commits[1]);
    let same = repository.firstlight(&["bisect", "--good", "good", "--bad", "good", "bench"]);
    assert_eq!(same.code, 2);
    let turned = repository.firstlight(&["bisect", "--good", "HEAD", "--bad", "good", "bench"]);
    assert!(turned.stderr.contains("is not an ancestor of"), "{}", turned.stderr);
}
