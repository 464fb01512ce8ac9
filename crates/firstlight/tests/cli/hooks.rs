//! The hooks are invisible: a script sees and prints the same with and without them.

use std::process::Command;

use firstlight_schema::finding::Finding;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::Outcome;

use crate::support::{Finished, Sandbox, assert_closes, ns};

/// Runs the script without firstlight, in the environment that firstlight gets.
fn plainly(sandbox: &Sandbox, arguments: &[&str], python_path: Option<&str>) -> (String, String) {
    // The interpreter that firstlight finds, not a shim in front of it.
    let mut command = Command::new(real_python());
    command.args(arguments).current_dir(sandbox.path());
    command.env_remove("PYTHONPATH").env_remove("PYTHONDONTWRITEBYTECODE");
    command.env("NO_COLOR", "1");
    if let Some(path) = python_path {
        command.env("PYTHONPATH", path);
    }
    let output = command.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The interpreter behind any shim.
fn real_python() -> String {
    let real =
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(real.stdout).unwrap().trim().to_owned()
}

/// The output of the same script under firstlight, which keeps no output of a successful process.
fn hooked(
    sandbox: &Sandbox,
    arguments: &[&str],
    python_path: Option<&str>,
) -> (String, String, Finished) {
    let mut command = sandbox.firstlight();
    command
        .args(["cold", "--format", "json", "--runs", "1", "--cache", "as-found", "--", "sh", "-c"]);
    let script = format!("exec {} \"$@\" > said.out 2> said.err", real_python());
    command.args([&script, "sh"]).args(arguments);
    if let Some(path) = python_path {
        command.env("PYTHONPATH", path);
    }
    let finished = Finished::new(command);
    let said = |name: &str| std::fs::read_to_string(sandbox.path().join(name)).unwrap();
    assert!(finished.sample().notices.is_empty(), "{:?}", finished.sample().notices);
    (said("said.out"), said("said.err"), finished)
}

fn assert_same(sandbox: &Sandbox, arguments: &[&str], python_path: Option<&str>) -> String {
    let (stdout, stderr) = plainly(sandbox, arguments, python_path);
    let (seen_stdout, seen_stderr, _) = hooked(sandbox, arguments, python_path);
    assert_eq!(seen_stdout, stdout);
    assert_eq!(seen_stderr, stderr);
    stdout
}

const LOOK_AROUND: &str = r#"
import os, sys
print(sys.argv, sys.orig_argv[1:], sys.executable)
print(sys.path)
print(sys.flags, sys.dont_write_bytecode, sys.pycache_prefix)
print(sys.gettrace(), sys.getprofile(), [getattr(f, "__name__", type(f)) for f in sys.meta_path])
print("sitecustomize" in sys.modules, os.environ.get("PYTHONPATH"))
print(sorted(name for name in os.environ if name.startswith("FIRSTLIGHT_") and name in ("FIRSTLIGHT_FD", "FIRSTLIGHT_PARENT", "FIRSTLIGHT_PYTHONPATH")))
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) < 3))
"#;

#[test]
fn a_script_finds_the_same_environment_as_without_hooks() {
    let sandbox = Sandbox::new();
    sandbox.file("s.py", LOOK_AROUND);
    let stdout = assert_same(&sandbox, &["s.py", "--epochs", "1"], None);
    assert!(stdout.starts_with("['s.py', '--epochs', '1']"), "{stdout}");
    assert_same(&sandbox, &["s.py"], Some("/somewhere:/else"));
}

#[test]
fn a_user_s_own_sitecustomize_runs_and_is_the_one_that_is_loaded() {
    let sandbox = Sandbox::new();
    sandbox.file("own/sitecustomize.py", "import builtins\nbuiltins.greeting = 'mine'\n");
    sandbox.file("s.py", "import sitecustomize\nprint(greeting, sitecustomize.__file__)\n");
    let own = sandbox.path().join("own");
    let stdout = assert_same(&sandbox, &["s.py"], own.to_str());
    assert!(stdout.starts_with("mine "), "{stdout}");
    assert!(stdout.contains("own/sitecustomize.py"), "{stdout}");
}

#[test]
fn a_user_s_sitecustomize_that_raises_raises_the_same() {
    let sandbox = Sandbox::new();
    sandbox.file("own/sitecustomize.py", "raise ValueError('broken at start')\n");
    sandbox.file("s.py", "print('still here')\n");
    let own = sandbox.path().join("own");
    assert_same(&sandbox, &["s.py"], own.to_str());
}

/// The interpreter reserves memory for frames in blocks. A frame of the hooks below the user's would move the
/// point at which a loop in user code crosses the end of a block.
#[test]
fn the_hooks_leave_no_frame_below_a_loaded_module() {
    let sandbox = Sandbox::new();
    let frames = "import sys\nframe = sys._getframe()\nwhile frame:\n    \
                  print(frame.f_code.co_filename, frame.f_code.co_name)\n    frame = frame.f_back\n";
    sandbox.file("outer/__init__.py", "from outer import part\n");
    sandbox.file("outer/part.py", "import inner\n");
    sandbox.file("inner.py", frames);
    sandbox.file("s.py", "import outer\n");
    let stdout = assert_same(&sandbox, &["s.py"], None);
    assert!(stdout.lines().count() > 9, "{stdout}");
}

#[test]
fn tracebacks_show_the_user_s_frames_and_none_of_the_hooks() {
    let sandbox = Sandbox::new();
    sandbox.file("broken.py", "def f():\n    return 1 / 0\nf()\n");
    sandbox.file("worse.py", "this is not python\n");
    sandbox.file("lost.py", "import no_such_module_anywhere\n");
    for module in ["broken", "worse", "lost"] {
        sandbox.file("s.py", &format!("import {module}\n"));
        let (stdout, stderr) = plainly(&sandbox, &["s.py"], None);
        let (seen_stdout, seen_stderr, finished) = hooked(&sandbox, &["s.py"], None);
        assert_eq!((seen_stdout, seen_stderr), (stdout, stderr));
        assert_eq!(finished.code, 5);
        assert_eq!(finished.sample().raw.outcome, Outcome::Exited { code: 1 });
    }
}

#[test]
fn modules_packages_and_commands_are_started_as_usual() {
    let sandbox = Sandbox::new();
    sandbox.file("tool/__main__.py", "import sys\nprint(__name__, sys.argv[1:])\n");
    sandbox.file("tool/__init__.py", "");
    assert_same(&sandbox, &["-m", "tool", "a", "b"], None);
    assert_same(&sandbox, &["-c", "import sys; print(sys.argv)", "x"], None);
}

#[test]
fn an_interpreter_that_ignores_its_environment_is_measured_from_outside() {
    let sandbox = Sandbox::new();
    for flag in ["-I", "-S", "-E"] {
        let mut command = sandbox.firstlight();
        command
            .args(["cold", "--format", "json", "--runs", "1", "--", "python3", flag, "-c", "pass"]);
        let sample = Finished::new(command).sample();
        assert!(sample.valid, "{flag}: {:?}", sample.reasons);
        assert_closes(&sample);
        assert_eq!(sample.notices[0].finding, Finding::NotHooked, "{flag}");
    }
}

#[test]
fn a_child_process_of_the_script_is_not_watched() {
    let sandbox = Sandbox::new();
    let script = "\
import os, subprocess, sys, time
subprocess.run([sys.executable, '-c', 'import json, time; time.sleep(0.05)'], check=True)
if os.fork() == 0:
    import decimal
    os._exit(0)
os.wait()
";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_closes(&sample);
    let hellos = |kind: &str| {
        let is = |message: &&firstlight_schema::message::Message| {
            serde_json::to_value(message).unwrap()["type"] == kind
        };
        sample.raw.messages.iter().filter(is).count()
    };
    assert_eq!((hellos("hello"), hellos("bye")), (1, 1));
    assert!(ns(&sample.phases, Phase::Children) >= 50_000_000);
}

#[test]
fn a_script_that_exits_without_bye_still_has_a_ledger() {
    let sandbox = Sandbox::new();
    let sample = sandbox
        .python("import os, time\ntime.sleep(0.05)\nos._exit(0)\n", &["--runs", "1"])
        .sample();
    assert!(sample.valid);
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Run) >= 50_000_000);
}

#[test]
fn a_script_that_closes_every_descriptor_finds_no_messages_in_its_files() {
    let sandbox = Sandbox::new();
    let script = "\
import os
os.closerange(3, 256)
files = [open('own-%d.txt' % i, 'w+') for i in range(8)]
import json, decimal
for file in files:
    file.seek(0)
    assert file.read() == '', file.name
";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    assert!(sample.valid, "{:?} {}", sample.reasons, sample.raw.streams.stderr_tail);
}

#[test]
fn teardown_begins_at_the_end_of_the_program_s_own_code() {
    let sandbox = Sandbox::new();
    let script = "\
import atexit, threading, time
atexit.register(time.sleep, 0.1)
";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Teardown) >= 100_000_000, "{:?}", sample.phases);
}

#[test]
fn a_framework_with_moved_internals_is_reported_and_the_rest_is_still_seen() {
    let sandbox = Sandbox::new();
    // Enough of JAX for its events, and none of its internals.
    sandbox.file("jax/__init__.py", "__version__ = '99.0'\nfrom jax import monitoring\n");
    let monitoring = "\
ends, events, scalars = [], [], []
register_event_duration_secs_listener = ends.append
register_event_listener = events.append
register_scalar_listener = scalars.append
";
    sandbox.file("jax/monitoring.py", monitoring);
    let script = "\
import jax, time
for name in ('/jax/core/compile/jaxpr_trace_duration',):
    [tell(name, time.time(), fun_name='f') for tell in jax.monitoring.scalars]
    time.sleep(0.05)
    [tell(name, 0.05, fun_name='f') for tell in jax.monitoring.ends]
";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    assert!(sample.valid, "{:?} {}", sample.reasons, sample.raw.streams.stderr_tail);
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Trace) >= 50_000_000);
    let texts: Vec<_> = sample
        .notices
        .iter()
        .filter(|notice| notice.finding == Finding::AdapterFailed)
        .map(|notice| notice.text.as_str())
        .collect();
    assert!(texts.len() >= 3, "{texts:?}");
    assert!(texts[0].contains("no module 'jax._src.compiler'"), "{texts:?}");
}

#[test]
fn an_event_that_only_reports_its_end_is_attributed_by_its_duration() {
    let sandbox = Sandbox::new();
    sandbox.file("jax/__init__.py", "from jax import monitoring\n");
    let monitoring = "\
ends, events = [], []
register_event_duration_secs_listener = ends.append
register_event_listener = events.append
";
    sandbox.file("jax/monitoring.py", monitoring);
    let script = "\
import jax, time
time.sleep(0.05)
for tell in jax.monitoring.ends:
    tell('/jax/core/compile/backend_compile_duration', 0.04, fun_name='jit(f)')
";
    let sample = sandbox.python(script, &["--runs", "1", "--cache", "as-found"]).sample();
    assert!(sample.valid, "{:?} {}", sample.reasons, sample.raw.streams.stderr_tail);
    let compile = ns(&sample.phases, Phase::Compile);
    assert!((40_000_000..45_000_000).contains(&compile), "{compile}");
}

#[test]
fn a_failing_listener_of_the_hooks_is_reported_and_the_program_continues() {
    let sandbox = Sandbox::new();
    let jax = "\
from jax import monitoring
class Config:
    def __getattr__(self, name):
        raise RuntimeError('no ' + name)
config = Config()
";
    sandbox.file("jax/__init__.py", jax);
    let monitoring = "\
ends, events = [], []
register_event_duration_secs_listener = ends.append
register_event_listener = events.append
";
    sandbox.file("jax/monitoring.py", monitoring);
    let script = "\
import jax
for _ in range(3):
    for tell in jax.monitoring.ends:
        tell('/jax/core/compile/backend_compile_duration', 0.001, fun_name='jit(f)')
print('done')
";
    let sample = sandbox.python(script, &["--runs", "1", "--cache", "as-found"]).sample();
    assert!(sample.valid, "{:?} {}", sample.reasons, sample.raw.streams.stderr_tail);
    assert_closes(&sample);
    assert_eq!(sample.raw.streams.stdout_bytes, 5, "the program goes on to its last line");
    let is_expected =
        |notice: &&firstlight_schema::finding::Reason| notice.text.contains("RuntimeError");
    assert_eq!(sample.notices.iter().filter(is_expected).count(), 1, "{:?}", sample.notices);
}
