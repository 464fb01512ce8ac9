//! Signals at bad moments, hanging helpers, shared caches: no process keeps running, nothing is left behind,
//! and no foreign code is run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::snapshot::firstlight;
use crate::support::{Finished, Sandbox, eventually, how_many_run, someone_runs};

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Starts a command that ignores SIGTERM and leaves a process in a separate session, with scratch folders in
/// the sandbox.
fn start(sandbox: &Sandbox, mark: &str) -> Child {
    let temporary = sandbox.path().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    // The second one has dropped its environment too. The third one has also lost its parent.
    let script = format!(
        "trap '' TERM; setsid sleep {mark} & env -i setsid sleep {mark} & \
         (env -i setsid sleep {mark} &); while true; do sleep {mark}; done"
    );
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "5", "--", "bash", "-c", &script]);
    command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    assert!(eventually(|| how_many_run(mark) == 4), "the command is running");
    child
}

fn nothing_is_left(sandbox: &Sandbox, mark: &str) {
    assert!(eventually(|| !someone_runs(mark)), "{mark} is still running");
    let left = || {
        let entries = fs::read_dir(sandbox.path().join("tmp")).unwrap().flatten();
        entries.map(|entry| entry.file_name()).collect::<Vec<_>>()
    };
    assert!(eventually(|| left().is_empty()), "{:?}", left());
}

#[test]
fn a_second_signal_at_once_leaves_nothing_running_and_nothing_behind() {
    for (number, signal) in ["-INT", "-TERM", "-QUIT", "-USR1"].into_iter().enumerate() {
        let sandbox = Sandbox::new();
        let mark = format!("3141.{number}");
        let mut child = start(&sandbox, &mark);
        send(signal, &child);
        thread::sleep(Duration::from_millis(20));
        let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{signal}");
        nothing_is_left(&sandbox, &mark);
    }
}

#[test]
fn a_killed_firstlight_leaves_nothing_running_and_nothing_behind() {
    let sandbox = Sandbox::new();
    let mut child = start(&sandbox, "3141.59");
    send("-KILL", &child);
    child.wait().unwrap();
    nothing_is_left(&sandbox, "3141.59");
}

#[test]
fn a_killed_firstlight_leaves_no_daemon_of_a_firstlight_that_it_measured() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.path().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mark = "3141.65";
    let script = format!("(env -i setsid sleep {mark} &); exec sleep {mark}");
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "1", "--"]).arg(sandbox.firstlight().get_program());
    command.args(["cold", "--runs", "1", "--", "bash", "-c", &script]);
    command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    assert!(eventually(|| how_many_run(mark) == 2), "the command is running");
    send("-KILL", &child);
    child.wait().unwrap();
    nothing_is_left(&sandbox, mark);
}

#[test]
fn a_killed_firstlight_leaves_nothing_of_a_command_that_never_stops_forking() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.path().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    // Every copy of the shell starts the next one and exits, so a list of processes is outdated immediately.
    let mark = "3141.66";
    let script = sandbox.file("forks", "sleep 0.001; env -i setsid bash \"$0\" \"$1\" &\n");
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "1", "--", "bash", "-c", "bash \"$0\" \"$1\"; sleep 600"]);
    command.arg(script).arg(mark);
    command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    assert!(eventually(|| how_many_run(mark) > 1), "the command is running");
    send("-KILL", &child);
    child.wait().unwrap();
    nothing_is_left(&sandbox, mark);
    // It would be another process between two scans.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(how_many_run(mark), 0);
}

#[test]
fn scratch_folders_are_private() {
    let sandbox = Sandbox::new();
    let mut child = start(&sandbox, "3141.7");
    for entry in fs::read_dir(sandbox.path().join("tmp")).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0);
    }
    send("-KILL", &child);
    child.wait().unwrap();
    nothing_is_left(&sandbox, "3141.7");
}

/// An interpreter that never answers.
fn hanging(sandbox: &Sandbox, mark: &str) -> std::path::PathBuf {
    let path = sandbox.file("bin/python3", &format!("#!/bin/sh\nexec sleep {mark}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const SUITE: &str = "name = \"s\"\nregimes = [\"cold-clean\"]\n[comparison]\nverdicts = false\n\
                     [[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\nworkload = \"w.py\"\n";

#[test]
fn the_first_signal_kills_a_helper_that_hangs() {
    let sandbox = Sandbox::new();
    let python = hanging(&sandbox, "2718.28");
    sandbox.file("suite/suite.toml", SUITE);
    sandbox.file("suite/w.py", "");
    let mut command = sandbox.firstlight();
    command.args(["run", "suite", "--python"]).arg(python);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| someone_runs("2718.28")));
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(eventually(|| !someone_runs("2718.28")));
}

#[test]
fn a_firstlight_that_is_killed_while_a_helper_hangs_leaves_nothing_running() {
    let sandbox = Sandbox::new();
    let python = hanging(&sandbox, "2718.29");
    sandbox.file("suite/suite.toml", SUITE);
    sandbox.file("suite/w.py", "");
    let run = vec!["run", "suite", "--python"];
    for arguments in [run, vec!["trace", "--suite", "suite", "--python"]] {
        let mut command = sandbox.firstlight();
        command.args(arguments).arg(&python).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        assert!(eventually(|| someone_runs("2718.29")));
        send("-KILL", &child);
        child.wait().unwrap();
        assert!(eventually(|| !someone_runs("2718.29")));
    }
}

#[test]
fn the_first_signal_kills_a_version_manager_that_hangs() {
    let sandbox = Sandbox::new();
    let real = hanging(&sandbox, "1618.03");
    let shims = sandbox.path().join("shims");
    fs::create_dir(&shims).unwrap();
    fs::copy(real, shims.join("python3")).unwrap();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--"]).arg(shims.join("python3")).args(["-c", "0"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| someone_runs("1618.03")));
    send("-TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(eventually(|| !someone_runs("1618.03")));
}

#[test]
fn two_runs_of_a_built_in_suite_do_not_disturb_each_other() {
    let sandbox = Sandbox::new();
    let cache = sandbox.path().join("cache");
    // A reader of a partially written suite would fail, or compute another digest.
    let listed: Vec<Child> = (0..6)
        .map(|_| {
            let mut command = sandbox.firstlight();
            command.args(["trace", "--suite", "quickstart", "--python", "/no/such/python"]);
            command.env("FIRSTLIGHT_CACHE", &cache);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in listed {
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains("/no/such/python"), "{words}");
    }
    let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy() == ".lock";
    let suites = fs::read_dir(cache.join("suites")).unwrap().flatten();
    let suites: Vec<_> = suites.filter(|entry| !hidden(entry)).collect();
    assert_eq!(suites.len(), 1, "no leftovers: {suites:?}");
}

fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            find(&path, name)
        } else {
            Some(path).filter(|path| path.ends_with(name))
        }
    })
}

#[test]
fn altered_hooks_in_the_cache_are_replaced_before_they_are_run() {
    let sandbox = Sandbox::new();
    let cache = sandbox.path().join("cache");
    let cold = || {
        let mut command = sandbox.firstlight();
        command
            .env("FIRSTLIGHT_CACHE", &cache)
            .args(["cold", "--runs", "1", "--", "python3", "-c", "0"]);
        Finished::new(command)
    };
    assert_eq!(cold().code, 0);
    let hook = find(&cache, "sitecustomize.py").unwrap();
    let original = fs::read_to_string(&hook).unwrap();
    let planted = sandbox.path().join("planted");
    fs::write(&hook, format!("open({:?}, 'w')\n{original}", planted.to_str().unwrap())).unwrap();
    assert_eq!(cold().code, 0);
    assert!(!planted.exists(), "planted code ran");
    assert_eq!(fs::read_to_string(find(&cache, "sitecustomize.py").unwrap()).unwrap(), original);
    // The same for the byte code that measured processes load instead of the sources.
    let folder = find(&cache, "sitecustomize.py").unwrap().parent().unwrap().to_owned();
    let script = "import importlib.util, marshal, pathlib, sys\n\
        folder, planted = map(pathlib.Path, sys.argv[1:])\n\
        code = compile(f'open({str(planted)!r}, \"w\")', 'planted', 'exec')\n\
        table = {'firstlight': ('planted', marshal.dumps(code)),\n\
                 'firstlight._hooks': ('planted', marshal.dumps(code))}\n\
        bundle = folder / ('bundle.' + sys.implementation.cache_tag)\n\
        assert bundle.exists()\n\
        bundle.write_bytes(importlib.util.MAGIC_NUMBER + marshal.dumps(table))\n";
    let mut plant = Command::new("python3");
    assert!(plant.args(["-c", script]).arg(&folder).arg(&planted).status().unwrap().success());
    assert_eq!(cold().code, 0);
    assert!(!planted.exists(), "planted byte code ran");
}

#[test]
fn hooks_are_not_run_from_a_folder_that_others_can_write_to() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).unwrap();
    let cold = || {
        let mut command = sandbox.firstlight();
        command.env_remove("HOME").env_remove("FIRSTLIGHT_CACHE").env_remove("XDG_CACHE_HOME");
        command.env("TMPDIR", &temporary).args(["cold", "--runs", "1", "--", "true"]);
        Finished::new(command)
    };
    let first = cold();
    assert_eq!(first.code, 0, "{}", first.stderr);
    let made = find(&temporary, "sitecustomize.py").unwrap();
    let cache = made.ancestors().find(|path| path.ends_with("firstlight")).unwrap();
    assert_eq!(fs::metadata(cache).unwrap().permissions().mode() & 0o077, 0);
    fs::set_permissions(cache, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = cold();
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("is not safe to run code from"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: set HOME"), "{}", refused.stderr);
}

#[test]
fn no_recorded_arm_is_a_failure_with_its_reason_and_no_panic() {
    let sandbox = Sandbox::new();
    sandbox.file("suite/suite.toml", &format!("trace = true\n{SUITE}"));
    sandbox.file("suite/w.py", "def setup(case):\n    raise ValueError('planted')\n");
    for arguments in [vec!["trace", "--suite", "suite"], vec!["run", "suite", "--processes", "2"]] {
        let finished = firstlight(&sandbox, &arguments);
        assert_eq!(finished.code, 5, "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains("cannot record any arm of case"), "{}", finished.stderr);
        assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    }
}
