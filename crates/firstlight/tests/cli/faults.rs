//! Misbehaving processes: each ends in a recorded outcome and a clear message, and leaves no orphan.

use firstlight_schema::finding::Finding;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::Outcome;

use crate::support::{Finished, Sandbox, assert_closes, eventually, ns, someone_runs};

const HELLO: &str = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":0},"role":"hooks","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;

#[test]
fn a_short_campaign_loses_nothing() {
    let programs = crate::campaign::Programs {
        firstlight: env!("CARGO_BIN_EXE_firstlight").into(),
        replay: crate::support::replay_binary(),
    };
    let rows = crate::campaign::campaign(&programs, crate::campaign::Size::SHORT, 7);
    assert!(rows.iter().all(|row| row.lost.is_empty()), "{}", crate::campaign::table(&rows));
}

fn script(actions: &[&str]) -> String {
    actions.join("\n")
}

#[test]
fn an_exit_code_is_recorded_with_the_last_lines_and_the_command_is_not_started_again() {
    let sandbox = Sandbox::new();
    let finished =
        sandbox.replay(&script(&[r#"{"stderr":"it broke\n"}"#, r#"{"exit":3}"#]), &["--runs", "5"]);
    assert_eq!(finished.code, 5);
    let document = finished.cold();
    assert!(document.arm.stopped.is_some());
    let sample = finished.sample();
    assert!(!sample.valid);
    assert_eq!(sample.raw.outcome, Outcome::Exited { code: 3 });
    assert_eq!(
        sample.reasons[0].to_string(),
        "process-failed: exited with code 3; last line of stderr: it broke"
    );
    assert!(document.result.summary.is_none(), "a failure is never a number");
    assert!(
        finished.stderr.contains("error: the command exited with code 3"),
        "{}",
        finished.stderr
    );
    assert!(finished.stderr.contains("hint: --ignore-exit-code"), "{}", finished.stderr);
    assert_eq!(sandbox.raw_lines().len(), 1);
}

#[test]
fn an_exception_leaves_the_end_of_its_traceback_in_the_record() {
    let sandbox = Sandbox::new();
    let finished = sandbox.python("raise ValueError('no such shape')\n", &["--runs", "3"]);
    assert_eq!(finished.code, 5);
    let sample = finished.sample();
    assert!(sample.raw.streams.stderr_tail.ends_with("ValueError: no such shape\n"));
    assert!(sample.reasons[0].text.contains("ValueError: no such shape"), "{:?}", sample.reasons);
}

#[test]
fn a_death_by_signal_is_recorded() {
    let sandbox = Sandbox::new();
    let sample = sandbox.replay(r#"{"signal":6}"#, &[]).sample();
    assert_eq!(sample.raw.outcome, Outcome::Killed { signal: 6 });
    assert_eq!(sample.reasons[0].to_string(), "process-failed: was killed by signal 6");
    assert_closes(&sample);
}

#[test]
fn a_process_that_hangs_is_killed_with_its_whole_group_and_the_place_is_reported() {
    let sandbox = Sandbox::new();
    let begin = r#"{"say":{"type":"phase","edge":"begin","name":"compile","label":"jit(step)","at":"$now","thread":0}}"#;
    let finished = sandbox.replay(&script(&[HELLO, begin, r#""hang""#]), &["--timeout", "300ms"]);
    assert_eq!(finished.code, 5);
    let sample = finished.sample();
    assert!(matches!(sample.raw.outcome, Outcome::TimedOut { .. }));
    assert_eq!(sample.reasons[0].finding, Finding::TimedOut);
    assert!(sample.reasons[0].text.ends_with("in phase compile (jit(step))"));
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Compile) > 0);
    assert!(finished.stderr.contains("hint: --timeout"), "{}", finished.stderr);
}

#[test]
fn a_shell_that_hangs_takes_its_children_with_it() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--format", "json", "--timeout", "300ms", "--"]);
    command.args(["sh", "-c", "sleep 617 & sleep 617"]);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 5);
    assert!(eventually(|| !someone_runs("617")), "a child survived");
}

#[test]
fn a_process_that_ignores_sigterm_is_killed() {
    let sandbox = Sandbox::new();
    let sample = sandbox
        .replay(&script(&[r#""ignore-term""#, r#""hang""#, r#""hang""#]), &["--timeout", "200ms"])
        .sample();
    assert!(matches!(sample.raw.outcome, Outcome::TimedOut { .. }));
}

#[test]
fn an_invalid_message_is_an_outcome_with_the_line() {
    let sandbox = Sandbox::new();
    let sample =
        sandbox.replay(&script(&[HELLO, r#"{"raw":"what is this\n"}"#, r#""hang""#]), &[]).sample();
    let Outcome::Broke { error } = &sample.raw.outcome else { panic!("{:?}", sample.raw.outcome) };
    assert!(error.contains("`what is this`"), "{error}");
    assert_eq!(sample.reasons[0].finding, Finding::ProtocolBroken);
    assert_closes(&sample);
}

#[test]
fn an_incomplete_line_is_an_outcome() {
    let sandbox = Sandbox::new();
    let sample = sandbox.replay(&script(&[HELLO, r#"{"raw":"{\"type\":"}"#]), &[]).sample();
    let Outcome::Broke { error } = &sample.raw.outcome else { panic!("{:?}", sample.raw.outcome) };
    assert!(error.starts_with("the last line has no end"), "{error}");
}

#[test]
fn an_endless_line_is_truncated() {
    let sandbox = Sandbox::new();
    let long = format!(r#"{{"raw":"{}"}}"#, "x".repeat(1 << 20));
    let mut actions = vec![HELLO];
    actions.extend([long.as_str(); 6]);
    actions.push(r#""hang""#);
    let sample = sandbox.replay(&script(&actions), &[]).sample();
    let Outcome::Broke { error } = &sample.raw.outcome else { panic!("{:?}", sample.raw.outcome) };
    assert!(error.contains("longer than the protocol allows"), "{error}");
}

#[test]
fn a_descriptor_that_is_closed_early_does_not_cause_a_hang() {
    let sandbox = Sandbox::new();
    let finished =
        sandbox.replay(&script(&[HELLO, r#""close""#, r#"{"sleep-ms":50}"#]), &["--runs", "1"]);
    let sample = finished.sample();
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_closes(&sample);
}

#[test]
fn a_process_that_sends_nothing_is_measured_from_outside() {
    let sandbox = Sandbox::new();
    let sample = sandbox.replay(r#"{"sleep-ms":20}"#, &["--runs", "1"]).sample();
    assert!(sample.valid);
    assert_eq!(sample.notices[0].finding, Finding::NotHooked);
}

#[test]
fn a_child_that_survives_in_a_separate_session_is_killed_and_reported() {
    let sandbox = Sandbox::new();
    let sample = sandbox.replay(r#""survivor""#, &["--runs", "1"]).sample();
    assert!(sample.valid);
    assert_eq!(sample.raw.survivors, 1);
    assert_eq!(sample.notices.last().unwrap().finding, Finding::LeftProcesses);
    assert!(eventually(|| !someone_runs("613")), "the survivor survived");
}

#[test]
fn a_hundred_megabytes_of_output_are_counted_and_the_end_is_kept() {
    let sandbox = Sandbox::new();
    let sample = sandbox.replay(r#"{"stdout":100000000}"#, &["--runs", "1"]).sample();
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_eq!(sample.raw.streams.stdout_bytes, 100_000_000);
    assert!(sample.raw.streams.stdout_tail.len() <= 8 << 10);
}

#[test]
fn a_failure_later_on_is_recorded_and_the_others_still_count() {
    let sandbox = Sandbox::new();
    let marker = sandbox.path().join("third");
    let text = format!(
        "import os\nn = len(os.listdir('{0}')) if os.path.isdir('{0}') else 0\n\
         os.makedirs('{0}', exist_ok=True)\nopen('{0}/%d' % n, 'w').close()\n\
         raise SystemExit(7 if n == 2 else 0)\n",
        marker.display()
    );
    let finished = sandbox.python(&text, &["--runs", "5"]);
    assert_eq!(finished.code, 5, "the exit code says that one failed");
    let document = finished.cold();
    assert!(document.document.complete);
    let summary = document.result.summary.unwrap();
    assert_eq!((summary.valid, summary.invalid), (4, 1));
    assert!(!document.result.samples[2].valid);
}

#[test]
fn a_priming_process_that_fails_is_recorded_and_nothing_is_measured() {
    let sandbox = Sandbox::new();
    let finished = sandbox.replay(r#"{"exit":4}"#, &["--cache", "primed"]);
    assert_eq!(finished.code, 5);
    let document = finished.cold();
    assert_eq!(document.arm.priming.len(), 1);
    assert!(document.result.samples.is_empty());
}
