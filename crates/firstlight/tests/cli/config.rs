//! The configuration file: flag before environment before file before default.

use std::os::unix::fs::chown;

use crate::support::{Finished, Sandbox};

fn cold(sandbox: &Sandbox, folder: &str, before: &[&str], after: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.current_dir(sandbox.path().join(folder)).args(before);
    command.args(["cold", "--format", "json"]).args(after);
    // The variable that names the file stays with firstlight.
    command.args(["--", "sh", "-c", "test -z \"${FIRSTLIGHT_CONFIG+set}\""]);
    Finished::new(command)
}

fn processes(finished: &Finished) -> u32 {
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    finished.run().options.processes
}

#[test]
fn the_nearest_file_sets_defaults_and_flags_count_more() {
    let sandbox = Sandbox::new();
    sandbox.file("firstlight.toml", "seed = 7\n[cold]\nruns = 2\nredact = true\n");
    sandbox.file("below/here/x", "");
    let found = cold(&sandbox, "below/here", &[], &[]);
    assert_eq!((processes(&found), found.run().seed), (2, 7));
    let flagged = cold(&sandbox, "below/here", &[], &["--runs", "1"]);
    assert_eq!((processes(&flagged), flagged.run().seed), (1, 7));
    let without = cold(&sandbox, "below/here", &["--no-config"], &["--runs", "1"]);
    assert_eq!(without.run().seed, 1);
    sandbox.file("below/pyproject.toml", "[project]\nname = \"x\"\n");
    assert_eq!(processes(&cold(&sandbox, "below/here", &[], &[])), 2, "it is not about firstlight");
    sandbox.file("below/pyproject.toml", "[tool.firstlight]\nruns = 3\n");
    assert_eq!(processes(&cold(&sandbox, "below/here", &[], &[])), 3);
    sandbox.file("below/firstlight.toml", "runs = 1\n");
    assert_eq!(processes(&cold(&sandbox, "below/here", &[], &[])), 1);
}

#[test]
fn a_variable_names_the_file_or_switches_it_off() {
    let sandbox = Sandbox::new();
    sandbox.file("firstlight.toml", "runs = 2\n");
    let other = sandbox.file("other/settings.toml", "runs = 1\n");
    let with = |value: &str| {
        let mut command = sandbox.firstlight();
        command.env("FIRSTLIGHT_CONFIG", value).args(["cold", "--format", "json", "--"]);
        command.args(["sh", "-c", "test -z \"${FIRSTLIGHT_CONFIG+set}\""]);
        Finished::new(command)
    };
    assert_eq!(processes(&with(other.to_str().unwrap())), 1);
    assert_eq!(processes(&with("")), 10);
    let missing = with("nowhere.toml");
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.starts_with("error: cannot read `nowhere.toml`"), "{}", missing.stderr);
}

#[test]
fn a_variable_of_a_folder_counts_more_than_the_file() {
    let sandbox = Sandbox::new();
    sandbox.file("firstlight.toml", "runs = 1\nruns-folder = \"mine\"\n");
    let kept =
        |folder: &str| std::fs::read_dir(sandbox.path().join(folder)).map_or(0, Iterator::count);
    processes(&cold(&sandbox, ".", &[], &[]));
    assert_eq!((kept("runs"), kept("mine")), (1, 0));
    let mut command = sandbox.firstlight();
    command.env_remove("FIRSTLIGHT_RUNS").args(["cold", "--format", "json", "--", "true"]);
    assert_eq!(Finished::new(command).code, 0);
    assert_eq!((kept("runs"), kept("mine")), (1, 1));
}

#[test]
fn what_is_wrong_in_the_file_is_an_error_with_its_line() {
    for (text, words, hint) in [
        ("\nrnus = 2\n", "firstlight.toml:line 2: unknown key `rnus`", "did you mean `runs`?"),
        (
            "runs = 2\n[cold]\ntimeout = \"x\"\n",
            "firstlight.toml:line 3: invalid value 'x' for",
            "--no-config",
        ),
        (
            "seed = 1\ncache = \"filthy\"\n",
            "firstlight.toml:line 2: invalid value 'filthy' for",
            "--no-config",
        ),
        ("report = \"long\"\n", "'--report <LENGTH>' [possible values: ", "--no-config"),
        ("timeout = \"x\"\n", "expected a duration such as 90s or 5m", "--no-config"),
        ("runs = [\n", "firstlight.toml:line", "--no-config"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("firstlight.toml", text);
        let finished = cold(&sandbox, ".", &[], &[]);
        assert_eq!(finished.code, 2, "{text}: {}", finished.stderr);
        assert!(finished.stderr.contains(words), "{text}: {}", finished.stderr);
        assert!(finished.stderr.contains(hint), "{text}: {}", finished.stderr);
    }
}

#[test]
fn a_file_that_is_not_text_is_refused_with_the_byte() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("firstlight.toml"), b"runs = 2 # \xff\n").unwrap();
    let finished = cold(&sandbox, ".", &[], &[]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("invalid UTF-8 at byte 11"), "{}", finished.stderr);
}

#[test]
fn a_file_of_another_user_is_refused() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("firstlight.toml", "runs = 1\n");
    // Only root can change the owner of a file; for other users this test has nothing to check.
    if chown(&path, Some(12_345), None).is_err() {
        return;
    }
    let refused = cold(&sandbox, ".", &[], &[]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("belongs to another user"), "{}", refused.stderr);
    let mut named = sandbox.firstlight();
    named.env("FIRSTLIGHT_CONFIG", &path).args(["cold", "--format", "json", "--", "true"]);
    assert_eq!(processes(&Finished::new(named)), 1);
}
