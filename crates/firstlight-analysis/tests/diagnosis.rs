//! Plants the cause of every line of a diagnosis: the line appears with its number if the cause is present,
//! and does not appear otherwise.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "only the options of made-up runs are needed")]
mod made;

use firstlight_analysis::diagnosis::{compare_regimes, diagnose};
use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::regime::regime_result;
use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::diagnosis::Diagnosis;
use firstlight_schema::finding::Finding;
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::{Outcome, RawSample, SampleRole, Streams, Usage};
use firstlight_schema::run::{Agreed, ArmResult};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;
use serde_json::{Value, json};

use made::options;

const MS: u64 = 1_000_000;
/// The wall time of every process in these tests.
const WALL: u64 = 10_000 * MS;

fn sample(number: u32, messages: &[Value]) -> Sample {
    let hello = json!({"type": "hello", "protocol": {"major": 1, "minor": 1}, "role": "hooks",
        "pid": 1, "language": "python", "runtime": "x", "executable": null, "started": null,
        "at": 20 * MS});
    let run = json!({"type": "phase", "edge": "begin", "name": "run", "label": null, "at": 20 * MS,
        "thread": 0});
    let messages = [hello, run].into_iter().chain(messages.iter().cloned());
    let raw = RawSample {
        number,
        role: SampleRole::Measured,
        started: String::new(),
        spawn: Moment(0),
        exec: Moment(MS),
        reaped: Moment(WALL),
        outcome: Outcome::Completed,
        messages: messages.map(|json| serde_json::from_value(json).unwrap()).collect(),
        usage: Usage::default(),
        machine_busy_ns: None,
        caches: Vec::new(),
        streams: Streams::default(),
        survivors: 0,
        paused: None,
        exits: Vec::new(),
        opened: Vec::new(),
    };
    let policy = CachePolicy {
        compilers: Policy::AsFound,
        bytecode: Policy::AsFound,
        page_cache: Policy::AsFound,
    };
    examine(raw, Conditions { policy, any_exit_code: false, job: Job::Command })
}

/// A phase from one millisecond to another, with details of the program.
fn phase(name: &str, label: &str, from: u64, to: u64, detail: &Value) -> Vec<Value> {
    let edge = |edge: &str, at: u64| {
        json!({"type": "phase", "edge": edge, "name": name, "label": label, "at": at * MS,
            "thread": 0})
    };
    let mut end = edge("end", to);
    if !detail.is_null() {
        end["detail"] = detail.clone();
    }
    vec![edge("begin", from), end]
}

fn compiled(label: &str, from: u64, to: u64, more: &Value) -> Vec<Value> {
    let mut detail = json!({"framework": "jax", "signature": "f32[3]", "cache": "miss"});
    for (name, value) in more.as_object().unwrap() {
        detail[name] = value.clone();
    }
    phase("compile", label, from, to, &detail)
}

fn imported(package: &str, segments: &[(&str, u64, u64)], sources: (u64, u64)) -> Value {
    let cumulative = segments.last().unwrap().2 - segments[0].1;
    let segments: Vec<Value> =
        segments.iter().map(|(name, a, b)| json!([name, a * MS, b * MS])).collect();
    json!({"type": "imports", "thread": 0, "segments": segments,
        "cumulative": {package: cumulative * MS}, "sources": sources.0,
        "sources-ns": sources.1 * MS})
}

fn lines(messages: &[Value]) -> Vec<Diagnosis> {
    diagnose(&[sample(1, messages), sample(2, messages)])
}

fn line(messages: &[Value], finding: Finding) -> Option<Diagnosis> {
    lines(messages).into_iter().find(|line| line.finding == finding)
}

/// A line with this cost in milliseconds, and its share of the wall time.
fn costs(line: &Diagnosis, ms: u64) {
    #[expect(clippy::cast_precision_loss, reason = "a few seconds")]
    let (ns, share) = ((ms * MS) as f64, (ms * MS) as f64 / WALL as f64);
    assert!((line.cost_ns - ns).abs() < 1.0, "{line:?}");
    assert!((line.share - share).abs() < 1e-9, "{line:?}");
}

#[test]
fn a_program_compiled_twice_has_the_time_of_both_and_not_of_its_whole_phase() {
    let why = "argument 3 (x) changed from f32[64,8] to f32[48,8]";
    let mut messages = compiled("jit(step)", 1_000, 3_000, &json!({}));
    messages.extend(compiled("jit(other)", 3_000, 5_000, &json!({})));
    messages.extend(compiled("jit(step)", 5_000, 6_500, &json!({"cause": why})));
    let line = line(&messages, Finding::Recompiled).unwrap();
    assert_eq!(line.what, "jit(step) compiled twice");
    assert_eq!(line.cause.as_deref(), Some(why));
    costs(&line, 3_500);
}

#[test]
fn programs_that_are_compiled_once_are_not_called_recompiled() {
    let mut messages = compiled("jit(step)", 1_000, 3_000, &json!({}));
    messages.extend(compiled("jit(other)", 3_000, 5_000, &json!({})));
    assert_eq!(line(&messages, Finding::Recompiled), None);
}

fn operations(count: u64) -> Vec<Value> {
    let operation = |n: u64| {
        let detail = json!({"op-by-op": true, "source": "train.py:7 (init)"});
        compiled(&format!("jit(op_{n})"), 1_000 + 300 * n, 1_300 + 300 * n, &detail)
    };
    (0..count).flat_map(operation).collect()
}

#[test]
fn operations_compiled_one_by_one_are_counted_among_all_programs() {
    let mut messages = operations(10);
    messages.extend(compiled("jit(step)", 5_000, 6_000, &json!({})));
    let line = line(&messages, Finding::OpByOp).unwrap();
    assert_eq!(line.what, "10 of 11 programs ran op by op");
    assert_eq!(line.cause.as_deref(), Some("most expensive at train.py:7 (init)"));
    assert_eq!(line.action.as_deref(), Some("wrap the enclosing function in `jax.jit`"));
    costs(&line, 3_000);
}

#[test]
fn two_operations_are_not_reported() {
    assert_eq!(line(&operations(2), Finding::OpByOp), None);
}

#[test]
fn a_cache_that_is_off_is_named_with_the_setting_that_switches_it_on() {
    let messages = compiled("jit(step)", 1_000, 7_000, &json!({"cache": "off"}));
    let line = line(&messages, Finding::CompilationCacheUnused).unwrap();
    assert!(line.action.unwrap().contains("JAX_COMPILATION_CACHE_DIR"));
}

#[test]
fn a_cache_that_was_queried_is_not_called_unused() {
    let messages = compiled("jit(step)", 1_000, 7_000, &json!({"cache": "miss"}));
    assert_eq!(line(&messages, Finding::CompilationCacheUnused), None);
}

#[test]
fn a_slow_import_excludes_the_framework_that_it_imports() {
    let segments = [("plots", 1_000, 2_000), ("numpy", 2_000, 3_500), ("plots", 3_500, 4_000)];
    let mut messages = phase("import", "plots", 1_000, 4_000, &Value::Null);
    messages.insert(1, imported("plots", &segments, (0, 0)));
    let line = line(&messages, Finding::SlowImport).unwrap();
    assert_eq!(line.what, "importing plots");
    costs(&line, 1_500);
}

#[test]
fn frameworks_and_quick_imports_are_no_advice() {
    let mut messages = phase("import", "jax", 1_000, 4_000, &Value::Null);
    messages.insert(1, imported("jax", &[("jax", 1_000, 4_000)], (0, 0)));
    messages.extend(phase("import", "small", 5_000, 5_100, &Value::Null));
    messages.insert(4, imported("small", &[("small", 5_000, 5_100)], (0, 0)));
    assert_eq!(line(&messages, Finding::SlowImport), None);
}

#[test]
fn modules_compiled_from_source_are_reported_with_the_reason() {
    let mut messages = phase("import", "big", 1_000, 4_000, &Value::Null);
    messages.insert(1, imported("big", &[("big", 1_000, 4_000)], (2_342, 2_500)));
    let why = "PYTHONDONTWRITEBYTECODE is set";
    messages.push(json!({"type": "event", "at": 30 * MS,
        "event": {"kind": "no-bytecode", "why": why}}));
    let line = line(&messages, Finding::BytecodeNotCached).unwrap();
    assert_eq!(line.what, "2342 modules were compiled from source");
    assert_eq!(line.cause.as_deref(), Some(why));
    costs(&line, 2_500);
}

#[test]
fn a_first_process_that_alone_compiled_modules_is_reported_as_the_only_one() {
    let with = |sources: (u64, u64)| {
        let mut messages = phase("import", "big", 1_000, 4_000, &Value::Null);
        messages.insert(1, imported("big", &[("big", 1_000, 4_000)], sources));
        messages
    };
    let samples =
        [sample(1, &with((50, 3_000))), sample(2, &with((0, 0))), sample(3, &with((0, 0)))];
    let lines = diagnose(&samples);
    let line = lines.iter().find(|line| line.finding == Finding::BytecodeNotCached).unwrap();
    assert_eq!(
        line.cause.as_deref(),
        Some("in one of 3 processes only; the others found byte code")
    );
    let cached = [sample(1, &with((0, 0)))];
    assert!(!diagnose(&cached).iter().any(|line| line.finding == Finding::BytecodeNotCached));
}

#[test]
fn waiting_for_a_child_is_reported_with_its_command() {
    let messages = phase("children", "python train.py", 1_000, 9_000, &Value::Null);
    let line = line(&messages, Finding::ChildrenNotSeen).unwrap();
    assert_eq!(line.what, "waiting for `python train.py`");
    costs(&line, 8_000);
    assert_eq!(self::line(&[], Finding::ChildrenNotSeen), None);
}

#[test]
fn a_slow_start_of_the_devices_and_a_slow_exit_are_reported() {
    let mut messages = phase("device-init", "jax", 1_000, 3_000, &Value::Null);
    messages.push(json!({"type": "phase", "edge": "end", "name": "run", "label": null,
        "at": 6_000 * MS, "thread": 0}));
    messages.extend(phase("teardown", "exit handlers", 6_000, 10_000, &Value::Null));
    let found = lines(&messages);
    let device = found.iter().find(|line| line.finding == Finding::SlowDeviceInit).unwrap();
    assert_eq!(device.what, "starting the backend of jax");
    costs(device, 2_000);
    let exit = found.iter().find(|line| line.finding == Finding::SlowExit).unwrap();
    assert_eq!(exit.cause.as_deref(), Some("100 % of it in exit handlers"));
    costs(exit, 4_000);
    let quick = phase("device-init", "jax", 1_000, 1_200, &Value::Null);
    let found = lines(&quick);
    let slow = [Finding::SlowDeviceInit, Finding::SlowExit, Finding::SlowLauncher];
    assert!(!found.iter().any(|line| slow.contains(&line.finding)), "{found:?}");
}

#[test]
fn programs_around_the_interpreter_are_reported() {
    let mut slow = sample(1, &[]);
    let mut raw = slow.raw.clone();
    raw.opened = vec![Moment(15 * MS)];
    raw.reaped = Moment(30 * MS);
    let policy = CachePolicy {
        compilers: Policy::AsFound,
        bytecode: Policy::AsFound,
        page_cache: Policy::AsFound,
    };
    slow = examine(raw, Conditions { policy, any_exit_code: false, job: Job::Command });
    let launcher = slow.phases.iter().find(|row| row.name == Phase::Launcher).unwrap();
    assert_eq!(launcher.ns, Nanos(14 * MS), "from exec until the interpreter's file was opened");
    let found = diagnose(&[slow]);
    assert!(found.iter().any(|line| line.finding == Finding::SlowLauncher), "{found:?}");
}

#[test]
fn a_start_without_a_remedy_has_one_line_about_its_largest_phase() {
    let found = lines(&[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].finding, Finding::LargestPhase);
    assert_eq!(found[0].what, "the program's own code");
    costs(&found[0], 9_980);
}

#[test]
fn there_are_never_more_than_four_lines_and_the_most_expensive_comes_first() {
    let mut messages = operations(5);
    messages.extend(compiled("jit(f)", 3_000, 4_000, &json!({"cache": "off"})));
    messages.extend(compiled("jit(f)", 4_000, 5_000, &json!({"cause": "x", "cache": "off"})));
    messages.extend(phase("device-init", "jax", 5_000, 6_500, &Value::Null));
    messages.extend(phase("children", "make", 6_500, 7_500, &Value::Null));
    let imports = phase("import", "big", 7_500, 8_500, &Value::Null);
    messages.extend(imports);
    messages.push(imported("big", &[("big", 7_500, 8_500)], (9, 700)));
    let found = lines(&messages);
    assert_eq!(found.len(), 4);
    assert!(found.windows(2).all(|pair| pair[0].cost_ns >= pair[1].cost_ns), "{found:?}");
}

/// Seven starts of this length in milliseconds.
fn starts(ms: u64) -> Vec<Sample> {
    let mark = |at: u64| json!({"type": "event", "at": at * MS, "event": {"kind": "mark", "name": "first-result"}});
    let compiling = compiled("jit(step)", 100, ms - 100, &json!({"cache": "off"}));
    (1..=7)
        .map(|number| {
            let mut messages = compiling.clone();
            messages.push(mark(ms + u64::from(number)));
            sample(number, &messages)
        })
        .collect()
}

#[test]
fn the_saving_of_a_primed_cache_replaces_its_estimate() {
    let arm = |primed: u64| {
        let regime = |regime: Regime, ms: u64| {
            let policy = regime.compilers();
            let policy = CachePolicy {
                compilers: policy,
                bytecode: Policy::AsFound,
                page_cache: Policy::AsFound,
            };
            regime_result(regime, policy, starts(ms), None, &options(), 1)
        };
        let mut arm = ArmResult {
            name: "jax".to_owned(),
            command: None,
            regimes: vec![regime(Regime::ColdClean, 4_000), regime(Regime::ColdPrimed, primed)],
            priming: Vec::new(),
            stopped: None,
            agreement: Agreed::Reference,
            findings: Vec::new(),
        };
        compare_regimes(&mut arm);
        arm.regimes.remove(0).diagnosis
    };
    let faster = arm(1_000);
    assert_eq!(faster[0].finding, Finding::PrimedCacheSaves);
    assert!((faster[0].cost_ns - 3e9).abs() < 1.0, "{faster:?}");
    assert!(!faster.iter().any(|line| line.finding == Finding::CompilationCacheUnused));
    let same = arm(4_001);
    assert!(!same.iter().any(|line| line.finding == Finding::PrimedCacheSaves), "{same:?}");
    assert!(same.iter().any(|line| line.finding == Finding::CompilationCacheUnused), "{same:?}");
}
