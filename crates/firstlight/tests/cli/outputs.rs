//! Destinations of results: files, pipes, devices and terminals, which keep their type.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::snapshot::{firstlight, measured};
use crate::support::{Finished, Sandbox};

/// A device or a pipe in the sandbox; never one of the machine's own.
fn node(path: &Path, arguments: &[&str]) -> bool {
    let made = Command::new("mknod").arg(path).args(arguments).output().unwrap();
    made.status.success()
}

#[test]
fn an_output_that_is_a_pipe_a_link_or_a_device_is_written_to_and_stays_what_it_is() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let at = |name: &str| sandbox.path().join(name);
    assert!(node(&at("pipe"), &["p"]));
    let reader = thread::spawn({
        let path = at("pipe");
        move || fs::read_to_string(path).unwrap()
    });
    let written = firstlight(&sandbox, &["report", "run", "--output", "pipe"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert!(reader.join().unwrap().contains("</html>"));
    assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());

    fs::write(at("target.csv"), "old").unwrap();
    symlink(at("target.csv"), at("link.csv")).unwrap();
    let arguments = ["export", "run", "--to", "csv", "--output", "link.csv"];
    assert_eq!(firstlight(&sandbox, &arguments).code, 0);
    assert!(fs::symlink_metadata(at("link.csv")).unwrap().is_symlink());
    assert!(fs::read_to_string(at("target.csv")).unwrap().starts_with("case,"));

    // Only root can create devices; the numbers are those of null and full.
    if node(&at("null"), &["c", "1", "3"]) && node(&at("full"), &["c", "1", "7"]) {
        let arguments = ["cold", "--runs", "1", "--export-json", "null", "--", "true"];
        assert_eq!(firstlight(&sandbox, &arguments).code, 0);
        let full = firstlight(&sandbox, &["report", "run", "--output", "full"]);
        assert_eq!(full.code, 2, "{}", full.stderr);
        for name in ["null", "full"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().file_type().is_char_device());
        }
    }
}

#[test]
fn a_result_that_cannot_be_written_to_stdout_is_a_failure_and_a_closed_pipe_is_not() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    // The file cannot grow, as on a full disk.
    for arguments in ["show run", "verify run --format json", "--help"] {
        let finished = sandbox.bash(&format!("ulimit -f 0; $FIRSTLIGHT {arguments} > full"));
        assert_eq!(finished.code, 1, "{arguments}: {}", finished.stderr);
        assert!(finished.stderr.contains("cannot write to standard output"), "{}", finished.stderr);
    }
    let script = "$FIRSTLIGHT show run --report full | true; exit ${PIPESTATUS[0]}";
    let gone = sandbox.bash(script);
    assert_eq!((gone.code, gone.stderr.as_str()), (0, ""));
}

#[test]
fn a_run_on_a_full_disk_ends_with_a_reason_and_keeps_what_it_has() {
    let sandbox = Sandbox::new();
    assert_eq!(firstlight(&sandbox, &["cold", "--runs", "1", "--", "true"]).code, 0);
    let finished = sandbox.bash("ulimit -f 20; $FIRSTLIGHT cold --runs 500 --output run -- true");
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("error: cannot write"), "{}", finished.stderr);
    assert!(fs::metadata(sandbox.path().join("run/raw.jsonl")).unwrap().len() > 0);
}

#[test]
fn no_sequence_of_a_snapshot_reaches_the_terminal() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let path = folder.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    // It would clear the screen and hide that the snapshot fails.
    fs::write(&path, text.replace("\"small\"", "\"\\u001b[2J\\u001b[8m\\u009b\\u202e\"")).unwrap();
    fs::write(folder.join("suite/\u{1b}]0;owned\u{7}.py"), "").unwrap();
    for arguments in [["verify", "run"], ["show", "run"]] {
        let mut command = sandbox.firstlight();
        command.args(["--color", "always"]).args(arguments).env_remove("NO_COLOR");
        let finished = Finished::new(command);
        for c in ['\u{9b}', '\u{202e}', '\u{7}'] {
            assert!(!finished.stdout.contains(c) && !finished.stderr.contains(c), "{c:?}");
        }
        for hostile in ["\x1b[2J", "\x1b[8m", "\x1b]0;"] {
            assert!(!finished.stdout.contains(hostile) && !finished.stderr.contains(hostile));
        }
    }
    let mut command = sandbox.firstlight();
    command.args(["--color", "always", "cold", "--runs", "2", "--", "true"]).env_remove("NO_COLOR");
    let own = Finished::new(command);
    assert!(own.stdout.contains("\x1b[1m"), "our own styles pass: {}", own.stdout);
    assert!(!own.stdout.contains("\\u001b"), "{}", own.stdout);
}

#[test]
fn the_umask_decides_who_may_read_a_result() {
    let sandbox = Sandbox::new();
    let finished = sandbox.bash("umask 077; $FIRSTLIGHT cold --runs 1 --output run -- true");
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    for name in ["result.json", "manifest.json", "raw.jsonl", "suite/suite.toml"] {
        let known = fs::metadata(sandbox.path().join("run").join(name)).unwrap();
        assert_eq!(known.permissions().mode() & 0o077, 0, "{name}");
    }
}

#[test]
fn a_site_is_not_put_into_a_snapshot() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    for site in ["run", "run/site"] {
        let refused = firstlight(&sandbox, &["publish", ".", "--output", site]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("is a snapshot"), "{}", refused.stderr);
    }
    let mut command = sandbox.firstlight();
    let inside = sandbox.path().join("run/suite");
    command.current_dir(inside).args(["publish", "../..", "--output", "site"]);
    let refused = Finished::new(command);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
}

#[test]
fn a_very_long_time_limit_is_not_treated_as_expired() {
    let sandbox = Sandbox::new();
    let arguments = ["cold", "--runs", "1", "--timeout", "580years", "--", "true"];
    let finished = firstlight(&sandbox, &arguments);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(File::open(sandbox.path().join("runs")).is_ok());
}
