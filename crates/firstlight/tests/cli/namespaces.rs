//! Unusual machines: another clock, no `/proc`. The tests create them with `unshare`, if the user may.

use std::process::Command;

use firstlight_schema::finding::Finding;
use firstlight_schema::reading::Outcome;

use crate::snapshot::firstlight;
use crate::support::{Finished, Sandbox, eventually, replay_binary, someone_runs};

/// Whether `unshare` works here. `cargo xtask test` counts tests that return early as skipped.
fn may_unshare(arguments: &[&str]) -> bool {
    use std::io::Write as _;
    let tried = Command::new("unshare").args(arguments).arg("true").output();
    let allowed = tried.is_ok_and(|output| output.status.success());
    if let (false, Some(record)) = (allowed, std::env::var_os("FIRSTLIGHT_SKIPPED")) {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(record);
        let line = format!("firstlight: {name}: unshare {}\n", arguments.join(" "));
        file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
    }
    allowed
}

/// Ahead of our clock and behind it.
const OFFSETS: [&str; 2] = ["100000", "-100"];

fn other_clock(offset: &str) -> [&str; 4] {
    ["--time", "--monotonic", offset, "--fork"]
}

#[test]
fn a_command_with_another_clock_breaks_the_protocol_and_becomes_no_number() {
    for offset in OFFSETS {
        if !may_unshare(&other_clock(offset)) {
            return;
        }
        let sandbox = Sandbox::new();
        let mut command = sandbox.firstlight();
        command.args(["cold", "--runs", "1", "--format", "json", "--output", "run", "--"]);
        command.arg("unshare").args(other_clock(offset)).args(["python3", "-c", "0"]);
        let finished = Finished::new(command);
        assert_eq!(finished.code, 5, "{offset}: {}", finished.stderr);
        let sample = finished.sample();
        assert!(!sample.valid && sample.reasons[0].finding == Finding::ProtocolBroken);
        let Outcome::Broke { error } = &sample.raw.outcome else {
            panic!("{:?}", sample.raw.outcome)
        };
        assert!(error.contains("lies outside of the process"), "{error}");
        assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
    }
}

#[test]
fn a_runner_with_another_clock_breaks_the_protocol_and_becomes_no_number() {
    for offset in OFFSETS {
        if !may_unshare(&other_clock(offset)) {
            return;
        }
        let sandbox = Sandbox::new();
        let hello = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":1},"role":"runner","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;
        let script = sandbox.file("script.jsonl", &format!("{{\"listen\":3}}\n{hello}\n"));
        let mut words = vec!["unshare".to_owned()];
        words.extend(other_clock(offset).map(str::to_owned));
        words.extend([&replay_binary(), &script].map(|path| path.to_str().unwrap().to_owned()));
        let suite = format!(
            "name = \"fake\"\nenvironment = \"as-found\"\nregimes = [\"cold-clean\"]\n\
             [comparison]\nverdicts = false\n[[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\ncommand = {words:?}\n"
        );
        sandbox.file("suite/suite.toml", &suite);
        let run = ["run", "suite", "--processes", "2", "--output", "run", "--format", "json"];
        let finished = firstlight(&sandbox, &run);
        assert_eq!(finished.code, 5, "{offset}: {}", finished.stderr);
        let raw = &finished.run().cases[0].arms[0].priming[0];
        let Outcome::Broke { error } = &raw.outcome else { panic!("{:?}", raw.outcome) };
        assert!(error.contains("lies outside of the process"), "{error}");
        assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
    }
}

#[test]
fn a_machine_without_proc_measures_and_leaves_nothing_of_a_commands_group_running() {
    if !may_unshare(&["--mount"]) {
        return;
    }
    let sandbox = Sandbox::new();
    // A background process stays in the group of the command.
    let script = "sleep 1414.21 & exit 0";
    let mut command = Command::new("unshare");
    let usual = sandbox.firstlight();
    command.current_dir(sandbox.path());
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args([
        "--mount",
        "sh",
        "-c",
        "umount -l /proc && test ! -e /proc/self && exec \"$@\"",
        "sh",
    ]);
    command.arg(usual.get_program());
    command.args(["cold", "--runs", "3", "--format", "json", "--output", "run", "--"]);
    command.args(["sh", "-c", script]);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let samples = finished.cold().result.samples;
    assert_eq!(samples.len(), 3);
    assert!(samples.iter().all(|sample| sample.valid), "{:?}", samples[0].reasons);
    assert!(eventually(|| !someone_runs("1414.21")));
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
}
