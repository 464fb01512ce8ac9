//! `firstlight cold` with commands that succeed.

use std::fs;

use firstlight_schema::finding::Finding;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::Outcome;

use crate::support::{Finished, Sandbox, assert_closes, ns};

#[test]
fn a_command_that_is_not_python_has_a_ledger_of_the_phases_visible_from_outside() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "7", "--format", "json", "--", "true"]);
    let document = Finished::new(command).cold();
    assert_eq!(document.result.samples.len(), 7);
    for sample in &document.result.samples {
        assert!(sample.valid, "{:?}", sample.reasons);
        assert_closes(sample);
        assert!(ns(&sample.phases, Phase::Spawn) > 0);
        assert!(ns(&sample.phases, Phase::Unattributed) > 0);
        assert!(sample.first_result.is_none(), "without a mark nothing is claimed");
        assert!(sample.peak_rss_bytes > 0);
    }
    let summary = document.result.summary.unwrap();
    assert_eq!((summary.valid, summary.invalid), (7, 0));
    assert!(summary.wall.interval.is_some());
    assert_eq!(document.result.notices[0].finding, Finding::NotHooked);
}

#[test]
fn a_python_script_has_its_phases_and_its_imports_by_package() {
    let sandbox = Sandbox::new();
    sandbox.file("slow/__init__.py", "import time\ntime.sleep(0.05)\nfrom slow import part\n");
    sandbox.file("slow/part.py", "import other\n");
    sandbox.file("other.py", "import time\ntime.sleep(0.03)\n");
    let finished = sandbox.python("import slow\n", &["--runs", "1"]);
    let sample = finished.sample();
    assert_closes(&sample);
    for phase in [Phase::Interpreter, Phase::Probe, Phase::Import, Phase::Run, Phase::Teardown] {
        assert!(ns(&sample.phases, phase) > 0, "{phase}");
    }
    let package = |name: &str| sample.packages.iter().find(|package| package.name == name).unwrap();
    let (slow, other) = (package("slow"), package("other"));
    assert!(slow.self_ns.0 >= 50_000_000, "{slow:?}");
    assert!(other.self_ns.0 >= 30_000_000, "{other:?}");
    assert!(slow.cumulative_ns >= slow.self_ns + other.self_ns, "{slow:?} {other:?}");
    assert!(slow.self_ns.0 < slow.cumulative_ns.0);
    assert_eq!(ns(&sample.phases, Phase::Unattributed), 0);
}

#[test]
fn a_mark_ends_the_time_to_first_result() {
    let sandbox = Sandbox::new();
    let script = "import firstlight, time\nfirstlight.mark('first-result')\ntime.sleep(0.1)\n";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    let first = sample.first_result.as_ref().unwrap();
    assert!(first.ns.0 + 100_000_000 <= sample.wall_ns.0);
    assert_closes(&sample);
}

#[test]
fn the_control_measures_the_hooks_and_a_marked_script_runs_without_them() {
    let sandbox = Sandbox::new();
    let script = "import firstlight\nfirstlight.mark('first-result')\n";
    let finished = sandbox.python(script, &["--runs", "6", "--control"]);
    let document = finished.cold();
    let control = document.result.hooks.as_ref().unwrap();
    // The first one cannot import firstlight, and is started again with it.
    let (first, others) = control.samples.split_first().unwrap();
    assert!(first.misses_firstlight());
    assert_eq!(others.len(), 6);
    for raw in others {
        assert_eq!(raw.outcome, Outcome::Completed, "{}", raw.streams.stderr_tail);
        assert!(raw.messages.is_empty());
    }
    let price = control.price_wall.unwrap();
    assert_eq!(price.n, 6);
    assert!(price.interval.is_some());
    assert_eq!(finished.code, 0);
    // Both kinds are interleaved: neither comes in one block.
    let measured: Vec<u32> = document.result.samples.iter().map(|sample| sample.number).collect();
    let controls: Vec<u32> = control.samples.iter().map(|raw| raw.number).collect();
    assert!(measured.iter().max() > controls.iter().min());
    assert!(controls.iter().max() > measured.iter().min());
}

#[test]
fn a_launcher_in_front_of_the_interpreter_has_its_own_phase() {
    let sandbox = Sandbox::new();
    let script = sandbox.file("s.py", "import time\ntime.sleep(0.02)\n");
    let line = format!("sleep 0.1; python3 {}; true", script.display());
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "1", "--format", "json", "--", "sh", "-c", &line]);
    let sample = Finished::new(command).sample();
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Launcher) >= 80_000_000, "{:?}", sample.phases);
    assert!(ns(&sample.phases, Phase::Run) >= 20_000_000);
}

#[test]
fn interpreters_that_follow_one_another_are_all_watched() {
    let sandbox = Sandbox::new();
    let script = sandbox.file("s.py", "import time\ntime.sleep(0.05)\n");
    let line = format!("python3 {0}; python3 {0}; true", script.display());
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "1", "--format", "json", "--", "sh", "-c", &line]);
    let sample = Finished::new(command).sample();
    assert_closes(&sample);
    assert!(ns(&sample.phases, Phase::Run) >= 100_000_000, "{:?}", sample.phases);
}

#[test]
fn work_on_other_threads_is_shown_and_not_part_of_any_sum() {
    let sandbox = Sandbox::new();
    let script = "\
import firstlight, threading, time
def work():
    channel = firstlight._current
    channel.begin('compile', 'f')
    time.sleep(0.1)
    channel.end('compile', 'f')
thread = threading.Thread(target=work)
thread.start()
thread.join()
";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    assert_closes(&sample);
    assert_eq!(ns(&sample.phases, Phase::Compile), 0);
    assert_eq!(sample.background.len(), 1);
    assert_eq!(sample.background[0].label.as_deref(), Some("f"));
    assert!(sample.background[0].ns.0 >= 100_000_000);
    assert!(ns(&sample.phases, Phase::Run) >= 100_000_000);
}

#[test]
fn memory_is_reported_per_phase() {
    let sandbox = Sandbox::new();
    let script = "\
import firstlight
channel = firstlight._current
channel.begin('compile', 'f')
big = bytearray(80_000_000)
del big
channel.end('compile', 'f')
";
    let sample = sandbox.python(script, &["--runs", "1"]).sample();
    let peak =
        |phase| sample.memory.iter().find(|memory| memory.phase == phase).unwrap().peak_rss_bytes;
    assert!(peak(Phase::Compile) > 80_000_000, "{:?}", sample.memory);
    assert!(peak(Phase::Run) < 60_000_000, "{:?}", sample.memory);
    assert!(sample.peak_rss_bytes > 80_000_000);
}

#[test]
fn the_use_of_primed_byte_code_is_proved_and_missing_byte_code_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.file("helper.py", "x = 1\n");
    let primed = sandbox.python("import helper\n", &["--runs", "2", "--bytecode", "primed"]);
    let document = primed.cold();
    assert_eq!(document.arm.priming.len(), 1);
    for sample in &document.result.samples {
        assert!(sample.valid, "{:?}", sample.reasons);
    }
    let clean = sandbox.python("import helper\n", &["--runs", "1", "--bytecode", "clean"]).sample();
    assert!(clean.valid);
    let layer = clean.caches.iter().find(|layer| layer.layer.name() == "bytecode").unwrap();
    assert!(layer.requests.unwrap() >= 1, "{layer:?}");
    assert_eq!(layer.before.unwrap().entries, 0);
    assert!(layer.after.unwrap().entries > 0);
}

#[test]
fn raw_readings_are_on_disk_and_the_export_is_the_document() {
    let sandbox = Sandbox::new();
    let export = sandbox.path().join("cold.json");
    let arguments = ["--runs", "3", "--export-json", export.to_str().unwrap()];
    let finished = sandbox.python("pass\n", &arguments);
    assert_eq!(sandbox.raw_lines().len(), 3);
    assert_eq!(fs::read_to_string(export).unwrap(), finished.stdout);
    assert!(finished.stdout.starts_with("{\"schema\":{\"name\":\"run\""));
}

#[test]
fn any_exit_code_is_accepted_if_requested() {
    let sandbox = Sandbox::new();
    let finished = sandbox.python("raise SystemExit(3)\n", &["--runs", "2", "--ignore-exit-code"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document = finished.cold();
    assert!(document.result.samples.iter().all(|sample| sample.valid));
    assert_eq!(document.result.samples[0].raw.outcome, Outcome::Exited { code: 3 });
}

#[test]
fn the_output_of_the_command_is_shown_if_requested_and_data_stays_data() {
    let sandbox = Sandbox::new();
    let finished = sandbox.python("print('hello')\n", &["--runs", "1", "--show-output"]);
    finished.cold();
    assert!(finished.stderr.contains("hello"), "{}", finished.stderr);
    let finished = sandbox.python("print('hello')\n", &["--runs", "1"]);
    assert!(!finished.stderr.contains("hello"));
    let streams = finished.sample().raw.streams;
    assert_eq!((streams.stdout_bytes, streams.stdout_tail.as_str()), (6, ""));
}

#[test]
fn text_is_complete_without_colour_and_fits_a_small_terminal() {
    let sandbox = Sandbox::new();
    let script = sandbox.file("s.py", "import json\n");
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "6", "--quiet", "--", "python3"]).arg(&script);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.lines().count() <= 24, "{}", finished.stdout);
    assert!(finished.stdout.contains("95 % CI"), "{}", finished.stdout);
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "6", "--quiet", "--full", "--", "python3"]).arg(script);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
    for word in ["wall time", "interpreter", "unattributed", "total", " %)"] {
        assert!(finished.stdout.contains(word), "{word}: {}", finished.stdout);
    }
    assert_eq!(finished.stderr, "");
}
