//! Errors before anything is measured: message, hint and exit code 2.

use std::fs;

use crate::support::{Finished, Sandbox};

fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command = sandbox.firstlight();
    command.args(arguments);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert_eq!(finished.stdout, "", "errors are talk, not data");
    let home = sandbox.path().display().to_string();
    finished.stderr.replace(&home, "[sandbox]")
}

#[test]
fn an_unknown_command_is_rejected_with_a_hint() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(refused(&sandbox, &["cold", "--", "no-such-program", "--help"]), @r"
    error: program `no-such-program` not found

    hint: check that it is on the PATH, or give its path
    ");
}

#[test]
fn a_missing_python_is_rejected_with_a_hint() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    command.args(["run", "quickstart"]).env("PATH", sandbox.path());
    let finished = Finished::new(command);
    assert_eq!(finished.code, 2);
    insta::assert_snapshot!(finished.stderr, @r"
    error: program `python` not found

    hint: install Python, or pass its path with --python
    ");
}

#[test]
fn an_invalid_python_is_rejected() {
    let sandbox = Sandbox::new();
    let text = refused(&sandbox, &["run", "quickstart", "--python", "/bin/false"]);
    insta::assert_snapshot!(text, @r"
    error: `/bin/false` is not a usable Python: it failed

    hint: pass another interpreter with --python PATH
    ");
}

#[test]
fn an_unknown_suite_is_rejected_with_the_known_ones() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(refused(&sandbox, &["run", "quickstrat"]), @r"
    error: no suite `quickstrat`: expected a folder with a suite.toml, or one of generate, histfactory, jit-overhead, quickstart, short-runs

    hint: `firstlight new FOLDER` creates a suite to start from
    ");
}

#[test]
fn an_unknown_key_in_a_suite_is_rejected_with_its_line_and_the_nearest_known_key() {
    let sandbox = Sandbox::new();
    let toml =
        "name = \"s\"\n\n[[case]]\nname = \"a\"\n\n[[arm]]\nname = \"b\"\nworklaod = \"w.py\"\n";
    sandbox.file("suite/suite.toml", toml);
    insta::assert_snapshot!(refused(&sandbox, &["run", "suite"]), @r"
    error: suite/suite.toml:line 8: unknown field `worklaod`, expected one of `name`, `workload`, `command`, `process`, `options`, `variables`, `cache`, `extra`, `at-most`, `artefacts`

    hint: did you mean `workload`?
    ");
}

#[test]
fn a_suite_with_invalid_toml_is_rejected_with_its_line() {
    let sandbox = Sandbox::new();
    sandbox.file("suite/suite.toml", "name = \"s\"\nregimes = [\"cold-clean\"\n");
    let text = refused(&sandbox, &["run", "suite"]);
    assert!(text.contains("suite/suite.toml:line "), "{text}");
}

#[test]
fn an_unwritable_export_is_rejected_before_anything_starts() {
    let sandbox = Sandbox::new();
    let marker = sandbox.path().join("started");
    let arguments =
        ["cold", "--export-json", "no/such/folder/x.json", "--", "touch", marker.to_str().unwrap()];
    let text = refused(&sandbox, &arguments);
    assert!(text.starts_with("error: cannot write `no/such/folder/x.json`"), "{text}");
    assert!(!marker.exists());
}

#[test]
fn a_folder_that_holds_a_run_is_not_written_to() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path().join("mine");
    let arguments = ["cold", "--runs", "1", "--output", folder.to_str().unwrap(), "--", "true"];
    let mut command = sandbox.firstlight();
    command.args(arguments);
    assert_eq!(Finished::new(command).code, 0);
    let before = fs::read(folder.join("raw.jsonl")).unwrap();
    let text = refused(&sandbox, &arguments);
    assert!(text.contains("` already holds a run"), "{text}");
    assert_eq!(fs::read(folder.join("raw.jsonl")).unwrap(), before);
}

#[test]
fn impossible_settings_are_rejected() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["cold", "--runs", "0", "--", "true"][..],
        &["cold", "--cache", "filthy", "--", "true"],
        &["cold", "--timeout", "soon", "--", "true"],
        &["cold", "--timeout", "0s", "--", "true"],
        &["cold", "--page-cache", "primed", "--", "python3"],
        &["cold", "--cache", "clean,disabled", "true"],
        &["cold"],
        &[],
    ] {
        refused(&sandbox, arguments);
    }
}

#[test]
fn help_and_version_are_data() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["--help"][..],
        &["cold", "--help"],
        &["run", "--help"],
        &["doctor", "--help"],
        &["--version"],
    ] {
        let mut command = sandbox.firstlight();
        command.args(arguments);
        let finished = Finished::new(command);
        assert_eq!(finished.code, 0);
        assert_eq!(finished.stderr, "");
        assert!(!finished.stdout.is_empty());
    }
}
