//! Readings with planted contradictions, and the same readings without them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use firstlight_analysis::control::price;
use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::notices::notices;
use firstlight_analysis::summary::summarise;
use firstlight_schema::cache::{CachePolicy, Inventory, Layer, LayerReading, Policy};
use firstlight_schema::finding::Finding;
use firstlight_schema::message::{CacheAnswer, Message};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::{Outcome, Paused, RawSample, SampleRole, Streams, Usage};
use firstlight_schema::sample::Sample;
use serde_json::{Value, json};

const CACHE: &str = "/private/jax";

fn policy(compilers: Policy) -> CachePolicy {
    CachePolicy { compilers, bytecode: Policy::AsFound, page_cache: Policy::AsFound }
}

fn raw(messages: &[Value]) -> RawSample {
    RawSample {
        number: 1,
        role: SampleRole::Measured,
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        spawn: Moment(1_000),
        exec: Moment(2_000),
        reaped: Moment(1_000_000_000),
        outcome: Outcome::Completed,
        messages: messages
            .iter()
            .map(|json| serde_json::from_value(json.clone()).unwrap())
            .collect(),
        usage: Usage::default(),
        machine_busy_ns: None,
        caches: Vec::new(),
        streams: Streams::default(),
        survivors: 0,
        paused: None,
        exits: Vec::new(),
        opened: Vec::new(),
    }
}

fn hello() -> Value {
    json!({"type": "hello", "protocol": {"major": 1, "minor": 0}, "role": "hooks", "pid": 1,
        "language": "python", "runtime": "x", "executable": null, "started": null, "at": 3_000})
}

fn phase(edge: &str, name: &str, label: &str, at: u64) -> Value {
    json!({"type": "phase", "edge": edge, "name": name, "label": label, "at": at, "thread": 0})
}

fn compiled(label: &str, cache: &str, begin: u64, end: u64) -> [Value; 2] {
    let mut closing = phase("end", "compile", label, end);
    closing["detail"] = json!({"framework": "jax", "signature": "f32[8]", "cache": cache});
    [phase("begin", "compile", label, begin), closing]
}

fn keeps_its_cache_in(directory: Option<&str>, enabled: bool) -> Value {
    json!({"type": "event", "at": 5_000, "event": {"kind": "cache-config", "layer": "jax",
        "directory": directory, "enabled": enabled, "min-compile-seconds": 0.0, "min-entry-bytes": -1}})
}

/// A process that compiled two programs and got these answers from its cache.
fn program(compilers: Policy, files_before: u64, answers: [&str; 2], config: Value) -> Sample {
    let mut messages = vec![hello(), config];
    messages.extend(compiled("jit(init)", answers[0], 10_000, 20_000));
    messages.extend(compiled("jit(step)", answers[1], 30_000, 90_000));
    let mut raw = raw(&messages);
    raw.caches.push(LayerReading {
        layer: Layer::Jax,
        policy: compilers,
        directory: Some(CACHE.to_owned()),
        before: Inventory { entries: files_before, bytes: 10 * files_before },
        after: Inventory { entries: 2, bytes: 20 },
    });
    examine(raw, Conditions { policy: policy(compilers), any_exit_code: false, job: Job::Command })
}

fn own_cache() -> Value {
    keeps_its_cache_in(Some(CACHE), true)
}

fn only_reason(sample: &Sample) -> String {
    assert!(!sample.valid);
    assert_eq!(sample.reasons.len(), 1, "{:?}", sample.reasons);
    sample.reasons[0].to_string()
}

#[test]
fn a_process_during_which_the_machine_slept_does_not_count() {
    let conditions =
        Conditions { policy: policy(Policy::AsFound), any_exit_code: false, job: Job::Command };
    let quiet = examine(raw(&[]), conditions);
    assert!(quiet.valid, "{:?}", quiet.reasons);
    let paused = Some(Paused { suspended_ns: Nanos(3_000_000_000), stops: 0 });
    let sample = examine(RawSample { paused, ..raw(&[]) }, conditions);
    assert!(!sample.valid);
    assert_eq!(sample.reasons[0].finding, Finding::Paused);
    assert!(sample.reasons[0].text.contains("3.0 s"), "{:?}", sample.reasons);
}

#[test]
fn a_clean_cache_that_was_empty_and_missed_is_clean() {
    let sample = program(Policy::Clean, 0, ["miss", "miss"], own_cache());
    assert!(sample.valid, "{:?}", sample.reasons);
    assert_eq!((sample.caches[0].requests, sample.caches[0].hits), (Some(2), Some(0)));
}

#[test]
fn a_cache_left_in_place_is_rejected_as_clean() {
    let sample = program(Policy::Clean, 3, ["hit", "hit"], own_cache());
    assert_eq!(
        only_reason(&sample),
        "cache-not-clean: the jax cache held 3 files before the process started"
    );
}

#[test]
fn a_program_that_brings_its_own_cache_is_rejected_as_clean_and_as_primed() {
    for compilers in [Policy::Clean, Policy::Primed] {
        let elsewhere = keeps_its_cache_in(Some("/home/me/left-over"), true);
        let files = if compilers == Policy::Primed { 2 } else { 0 };
        let sample = program(compilers, files, ["hit", "hit"], elsewhere);
        assert_eq!(
            only_reason(&sample),
            "cache-not-clean: the program keeps its jax cache in `/home/me/left-over`, not in \
             the directory that firstlight provided; `--cache as-found` measures it as it is"
        );
    }
}

#[test]
fn a_program_that_switches_its_cache_off_is_rejected_as_primed() {
    let sample = program(Policy::Primed, 2, ["off", "off"], keeps_its_cache_in(None, false));
    assert!(
        only_reason(&sample).starts_with("cache-never-hit: the program switched the jax cache off")
    );
}

#[test]
fn a_primed_cache_must_serve_every_program() {
    let served = program(Policy::Primed, 2, ["hit", "hit"], own_cache());
    assert!(served.valid, "{:?}", served.reasons);
    let half = program(Policy::Primed, 2, ["hit", "miss"], own_cache());
    assert_eq!(
        only_reason(&half),
        "cache-never-hit: 1 of 2 programs missed the primed jax cache: jit(step)"
    );
}

#[test]
fn a_disabled_cache_must_not_serve_or_be_switched_on() {
    let quiet =
        program(Policy::Disabled, 0, ["off", "off"], keeps_its_cache_in(Some(CACHE), false));
    assert!(quiet.valid, "{:?}", quiet.reasons);
    let on = program(Policy::Disabled, 0, ["miss", "hit"], own_cache());
    assert!(!on.valid);
    assert!(on.reasons.iter().all(|reason| reason.finding == Finding::CacheNotClean));
}

#[test]
fn as_found_makes_no_claim() {
    let elsewhere = keeps_its_cache_in(Some("/anywhere"), true);
    assert!(program(Policy::AsFound, 7, ["hit", "miss"], elsewhere).valid);
}

#[test]
fn a_program_served_from_the_cache_counts_as_cache_read() {
    let sample = program(Policy::Primed, 2, ["hit", "hit"], own_cache());
    let ns = |phase| sample.phases.iter().find(|row| row.name == phase).map_or(0, |row| row.ns.0);
    assert_eq!(ns(Phase::CacheRead), 70_000);
    assert_eq!(ns(Phase::Compile), 0);
    assert_eq!(sample.compiles[1].cache, Some(CacheAnswer::Hit));
}

#[test]
fn the_stages_of_one_program_are_joined_and_those_of_another_stay_separate() {
    let mut messages = vec![hello()];
    for (start, name) in [(10_000, "step"), (20_000, "loss"), (30_000, "step")] {
        messages.push(phase("begin", "trace", name, start));
        messages.push(phase("end", "trace", name, start + 1_000));
        let jitted = format!("jit({name})");
        messages.push(phase("begin", "lower", &jitted, start + 2_000));
        messages.push(phase("end", "lower", &jitted, start + 2_500));
        messages.extend(compiled(&jitted, "miss", start + 3_000, start + 7_000));
    }
    // It was traced before, so it is only lowered and compiled again.
    messages.push(phase("begin", "lower", "jit(step)", 50_000));
    messages.push(phase("end", "lower", "jit(step)", 50_300));
    messages.extend(compiled("jit(step)", "miss", 51_000, 52_000));
    let conditions =
        Conditions { policy: policy(Policy::AsFound), any_exit_code: false, job: Job::Command };
    let sample = examine(raw(&messages), conditions);
    let stages: Vec<_> = sample
        .compiles
        .iter()
        .map(|c| (c.function.as_str(), c.trace_ns, c.lower_ns, c.compile_ns))
        .collect();
    let some = |ns| Some(Nanos(ns));
    assert_eq!(
        stages,
        [
            ("jit(step)", some(1_000), some(500), some(4_000)),
            ("jit(loss)", some(1_000), some(500), some(4_000)),
            ("jit(step)", some(1_000), some(500), some(4_000)),
            ("jit(step)", None, some(300), some(1_000)),
        ]
    );
}

#[test]
fn the_stages_of_torch_compile_nest_and_each_instant_counts_once() {
    let mut whole = phase("end", "trace", "dynamo f", 100_000);
    whole["detail"] = json!({"framework": "torch", "function": "f", "signature": "float32[8]"});
    let messages = [
        hello(),
        phase("begin", "trace", "dynamo f", 10_000),
        phase("begin", "lower", "inductor f", 30_000),
        phase("begin", "compile", "inductor f", 40_000),
        phase("end", "compile", "inductor f", 80_000),
        phase("end", "lower", "inductor f", 90_000),
        whole,
    ];
    let conditions =
        Conditions { policy: policy(Policy::AsFound), any_exit_code: false, job: Job::Command };
    let sample = examine(raw(&messages), conditions);
    assert_eq!(sample.compiles.len(), 1);
    let program = &sample.compiles[0];
    assert_eq!(program.trace_ns, Some(Nanos(30_000)));
    assert_eq!(program.lower_ns, Some(Nanos(20_000)));
    assert_eq!(program.compile_ns, Some(Nanos(40_000)));
    let row = sample.phases.iter().find(|row| row.name == Phase::Compile).unwrap();
    assert_eq!(row.ns, Nanos(40_000));
}

#[test]
fn a_runner_must_report_a_first_result() {
    let conditions =
        Conditions { policy: policy(Policy::AsFound), any_exit_code: false, job: Job::FirstCall };
    let silent = examine(raw(&[hello()]), conditions);
    assert_eq!(only_reason(&silent), "protocol-broken: the runner exited without a first result");
    let mark =
        json!({"type": "event", "at": 500_000, "event": {"kind": "mark", "name": "first-result"}});
    let good = examine(raw(&[hello(), mark]), conditions);
    assert!(good.valid);
    assert_eq!(good.first_result.unwrap().ns, Nanos(499_000));
}

#[test]
fn foreign_load_is_the_remaining_time_of_the_machine() {
    let mut busy = raw(&[hello()]);
    busy.machine_busy_ns = Some(Nanos(1_700_000_000));
    busy.usage.user_ns = Nanos(700_000_000);
    let conditions =
        Conditions { policy: policy(Policy::AsFound), any_exit_code: false, job: Job::Command };
    let sample = examine(busy, conditions);
    assert!((sample.contention_cores.unwrap() - 1.0).abs() < 1e-5);
    let found = notices(&[sample]);
    assert!(found.iter().any(|notice| notice.finding == Finding::NoisyMachine), "{found:?}");
    let quiet = examine(raw(&[hello()]), conditions);
    assert_eq!(quiet.contention_cores, None);
    assert!(!notices(&[quiet]).iter().any(|notice| notice.finding == Finding::NoisyMachine));
}

#[test]
fn an_invalid_sample_is_in_no_statistic() {
    let good = program(Policy::Clean, 0, ["miss", "miss"], own_cache());
    let mut slow = program(Policy::Clean, 3, ["hit", "hit"], own_cache());
    slow.wall_ns = Nanos(1 << 40);
    let summary = summarise(&[good.clone(), slow.clone(), good.clone()]).unwrap();
    assert_eq!((summary.valid, summary.invalid), (2, 1));
    assert!((summary.wall.point - good.wall_ns.as_f64()).abs() < 1.0);
    assert_eq!(summarise(&[slow]), None);
}

#[test]
fn the_means_of_the_phases_sum_to_the_mean_wall_time() {
    let samples: Vec<Sample> = (0..5)
        .map(|i| {
            let mut raw = raw(&[hello(), phase("begin", "run", "x", 4_000)]);
            raw.reaped = Moment(1_000_000 + 37_337 * i);
            let policy = policy(Policy::AsFound);
            examine(raw, Conditions { policy, any_exit_code: false, job: Job::Command })
        })
        .collect();
    let summary = summarise(&samples).unwrap();
    let mean: f64 = samples.iter().map(|sample| sample.wall_ns.as_f64()).sum::<f64>() / 5.0;
    let booked: f64 = summary.phases.iter().map(|row| row.mean_ns).sum();
    assert!((booked - mean).abs() < 1e-6 * mean, "{booked} {mean}");
    let shares: f64 = summary.phases.iter().map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
}

#[test]
fn a_pair_with_an_invalid_side_has_no_cost() {
    let good = program(Policy::Clean, 0, ["miss", "miss"], own_cache());
    let bad = program(Policy::Clean, 3, ["hit", "hit"], own_cache());
    let mut control = raw(&[]);
    control.reaped = Moment(900_000_000);
    let mut failed = control.clone();
    failed.outcome = Outcome::Exited { code: 1 };
    let measured = [(1, good.clone()), (2, bad), (3, good)];
    let measured = measured.map(|(round, sample)| Sample { round: Some(round), ..sample });
    let controls = vec![(1, control.clone()), (2, control), (3, failed)];
    let priced = price(&measured, controls);
    let wall = priced.price_wall.unwrap();
    assert_eq!(wall.n, 1);
    assert!((wall.point - 100_000_000.0).abs() < 1.0, "{wall:?}");
}

#[test]
fn every_stored_message_can_be_read_again() {
    let sample = program(Policy::Clean, 0, ["miss", "miss"], own_cache());
    let json = serde_json::to_string(&sample).unwrap();
    let back: Sample = serde_json::from_str(&json).unwrap();
    assert_eq!(back, sample);
    assert!(back.raw.messages.iter().any(|message| matches!(message, Message::Hello(_))));
}
