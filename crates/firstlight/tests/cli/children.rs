//! Processes around the watched interpreter: its children, the program it becomes, and the one that starts
//! it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::Message;
use firstlight_schema::phase::Phase;
use firstlight_schema::sample::{BackgroundTime, Sample};

use crate::support::{Finished, Sandbox, assert_closes, ns};

fn part(sample: &Sample, phase: Phase) -> Vec<&str> {
    let row = sample.phases.iter().find(|row| row.name == phase);
    row.map_or_else(Vec::new, |row| row.parts.iter().map(|part| part.name.as_str()).collect())
}

/// Each way in which a script waits for a child, which sleeps for a tenth of a second.
#[test]
fn waiting_for_a_child_is_never_attributed_to_the_programs_own_code() {
    let ways = [
        "subprocess.run(CHILD)",
        "subprocess.check_output(CHILD)",
        "p = subprocess.Popen(CHILD, stdout=subprocess.PIPE)\nfor line in p.stdout: pass\np.wait()",
        "p = subprocess.Popen(CHILD)\nwhile p.poll() is None: time.sleep(0.01)",
        "os.system('sleep 0.1')",
        "os.posix_spawn('/bin/sleep', ['sleep', '0.1'], os.environ)\nos.wait()",
        "p = multiprocessing.get_context('fork').Process(target=nap)\np.start()\np.join()",
        "with multiprocessing.get_context('fork').Pool(1) as pool: pool.map(time.sleep, [0.1])",
        "asyncio.run(spawned())",
    ];
    let head = "import asyncio, multiprocessing, os, subprocess, time\n\
        CHILD = ['sleep', '0.1']\ndef nap(): time.sleep(0.1)\n\
        async def spawned():\n    child = await asyncio.create_subprocess_exec(*CHILD)\n    \
        await child.wait()\n";
    let sandbox = Sandbox::new();
    for way in ways {
        let sample = sandbox.python(&format!("{head}{way}\n"), &["--runs", "1"]).sample();
        assert!(sample.valid, "{way}: {:?}", sample.reasons);
        assert_closes(&sample);
        let waited = ns(&sample.phases, Phase::Children);
        assert!(waited >= 90_000_000, "{way}: {waited} {:?}", sample.phases);
        assert!(!part(&sample, Phase::Children).is_empty(), "{way}");
        let is_expected = |reason: &Reason| reason.finding == Finding::ChildrenNotSeen;
        assert!(sample.notices.iter().any(is_expected), "{way}: {:?}", sample.notices);
    }
}

#[test]
fn a_script_without_children_has_no_such_phase() {
    let script = "import subprocess, time, threading\ntime.sleep(0.05)\n";
    let sample = Sandbox::new().python(script, &["--runs", "1"]).sample();
    assert_eq!(ns(&sample.phases, Phase::Children), 0);
    assert!(sample.notices.is_empty(), "{:?}", sample.notices);
}

#[test]
fn a_script_that_becomes_another_interpreter_is_followed_into_it() {
    let script = "import os, sys\n\
        os.execvp(sys.executable, [sys.executable, '-c', 'import json, time; time.sleep(0.05)'])\n";
    let sample = Sandbox::new().python(script, &["--runs", "1"]).sample();
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_closes(&sample);
    let hellos = sample.raw.messages.iter().filter(|m| matches!(m, Message::Hello(_))).count();
    assert_eq!(hellos, 2);
    assert!(sample.packages.iter().any(|package| package.name == "standard library"));
    assert!(ns(&sample.phases, Phase::Run) >= 50_000_000, "{:?}", sample.phases);
}

#[test]
fn a_script_that_becomes_an_unwatched_program_is_attributed_to_its_command() {
    let script = "import os\nos.execvp('sleep', ['sleep', '0.1'])\n";
    let sample = Sandbox::new().python(script, &["--runs", "1"]).sample();
    assert_closes(&sample);
    assert_eq!(part(&sample, Phase::Children), ["sleep 0.1"]);
    assert!(ns(&sample.phases, Phase::Children) >= 100_000_000);
}

#[test]
fn an_exec_that_fails_leaves_the_script_watched() {
    let script = "import os, time\n\
        try: os.execvp('no-such-program', ['no-such-program'])\n\
        except FileNotFoundError: pass\ntime.sleep(0.05)\n";
    let sample = Sandbox::new().python(script, &["--runs", "1"]).sample();
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Run) >= 50_000_000, "{:?}", sample.phases);
}

#[test]
fn the_work_of_a_shell_after_the_interpreter_is_not_its_exit() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--format", "json", "--runs", "1", "--", "bash", "-c"]);
    command.arg("python3 -c 'pass'; sleep 0.2");
    let sample = Finished::new(command).sample();
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Launcher) >= 200_000_000, "{:?}", sample.phases);
    assert!(ns(&sample.phases, Phase::Teardown) < 200_000_000, "{:?}", sample.phases);
}

/// A script in front of the interpreter, as with version managers, keeps its process.
#[test]
fn a_shim_in_front_of_the_interpreter_is_a_launcher() {
    let sandbox = Sandbox::new();
    let python = firstlight_engine::python::resolve("python3").unwrap().program;
    let shim =
        sandbox.file("shim", &format!("#!/bin/sh\nsleep 0.2\nexec {} \"$@\"\n", python.display()));
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--format", "json", "--runs", "1", "--"]).arg(&shim).args(["-c", "pass"]);
    let sample = Finished::new(command).sample();
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Launcher) >= 200_000_000, "{:?}", sample.phases);
    assert!(ns(&sample.phases, Phase::Interpreter) < 200_000_000, "{:?}", sample.phases);
}

#[test]
fn a_package_first_imported_on_a_thread_is_seen_there() {
    let script = "import threading\n\
        def load():\n    import decimal\nthread = threading.Thread(target=load)\n\
        thread.start()\nthread.join()\n";
    let sample = Sandbox::new().python(script, &["--runs", "1"]).sample();
    assert_closes(&sample);
    let imports = |row: &BackgroundTime| row.phase == Phase::Import && row.thread > 0;
    assert!(sample.background.iter().any(imports), "{:?}", sample.background);
}
