//! Warm processes with planted mistakes, and the same processes without them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;
mod noise;

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::RunOptions;
use firstlight_schema::sample::Sample;
use firstlight_schema::window::SteadyState;
use serde_json::{Value, json};

use made::{MS, OPEN, options, regime, warm};
use noise::Noise;

const CALL: f64 = 1e6;

fn flat(seed: u64) -> Vec<f64> {
    let mut noise = Noise::new(seed);
    let mut calls = noise.series(200, CALL, 0.01, 0.3);
    noise.slow_some(&mut calls[20..], 0.01, 3.0);
    calls
}

fn found(reasons: &[Reason]) -> Vec<Finding> {
    reasons.iter().map(|reason| reason.finding).collect()
}

fn text(reasons: &[Reason], finding: Finding) -> &str {
    &reasons.iter().find(|reason| reason.finding == finding).unwrap().text
}

/// A quiet process, in which the checks below must find nothing.
#[test]
fn a_process_without_a_mistake_counts_and_has_no_findings() {
    let sample = warm(1, &flat(1), &[settled(&[1_000; 3])]);
    assert_eq!((sample.reasons.as_slice(), sample.notices.as_slice()), (&[][..], &[][..]));
    let window = sample.window.unwrap();
    assert_eq!(window.state, SteadyState::Flat);
    assert_eq!((window.warm_up_calls, window.calls, window.steady_from), (1, 200, Some(0)));
    assert!((window.steady.unwrap().mean_ns / CALL - 1.0).abs() < 0.04);
}

fn compiled(function: &str, shape: &str, at: u64) -> [Value; 2] {
    let edge = |edge: &str, at: u64| {
        json!({"type": "phase", "edge": edge, "name": "compile", "label": function, "at": at,
            "thread": 0})
    };
    let mut end = edge("end", at + MS);
    end["detail"] = json!({"framework": "jax", "signature": shape, "changed": shape,
        "cache": "off"});
    [edge("begin", at), end]
}

#[test]
fn a_program_compiled_in_the_window_is_named_with_its_shapes_and_its_time() {
    let sample = warm(1, &flat(2), &compiled("jit(f)", "f32[9]", OPEN + 5 * MS));
    assert_eq!(found(&sample.reasons), [Finding::CompiledInWindow]);
    assert_eq!(
        sample.reasons[0].text,
        "1 program was compiled (jit(f) for f32[9]) while the window was open, 1.0 ms"
    );
}

#[test]
fn stages_that_nest_are_not_counted_twice() {
    let trace = |edge: &str, at: u64| json!({"type": "phase", "edge": edge, "name": "trace", "label": "f", "at": at, "thread": 0});
    let mut messages = vec![trace("begin", OPEN + 5 * MS)];
    messages.extend(compiled("jit(f)", "f32[9]", OPEN + 6 * MS));
    messages.push(trace("end", OPEN + 9 * MS));
    let sample = warm(1, &flat(2), &messages);
    assert!(sample.reasons[0].text.ends_with("while the window was open, 4.0 ms"));
}

#[test]
fn a_program_compiled_outside_the_window_is_not_a_mistake() {
    let far = OPEN + 10_000 * MS;
    for at in [OPEN - 100 * MS, far] {
        let sample = warm(1, &flat(2), &compiled("jit(f)", "f32[9]", at));
        assert!(sample.valid, "{:?}", sample.reasons);
    }
}

#[test]
fn shapes_that_the_warm_up_did_not_have_are_named() {
    let mut messages = compiled("jit(f)", "f32[1]", OPEN - 50 * MS).to_vec();
    messages.extend(compiled("jit(f)", "f32[2]", OPEN + 5 * MS));
    messages.extend(compiled("jit(f)", "f32[3]", OPEN + 15 * MS));
    let sample = warm(1, &flat(2), &messages);
    assert_eq!(
        text(&sample.reasons, Finding::WarmupShorterThanTest),
        "the warm-up called jit(f) with 1 shape, the window with 2 more: f32[2], f32[3]"
    );
}

#[test]
fn imports_in_the_window_make_it_invalid_and_earlier_ones_do_not() {
    let import = |at: u64| {
        json!({"type": "imports", "thread": 0, "segments": [["scipy", at, at + 3 * MS]],
            "cumulative": {"scipy": 3 * MS}, "sources": 0, "sources-ns": 0})
    };
    let sample = warm(1, &flat(3), &[import(OPEN + MS)]);
    assert_eq!(
        text(&sample.reasons, Finding::LoadInsideWindow),
        "scipy was loaded while the window was open, 3.0 ms"
    );
    assert!(warm(1, &flat(3), &[import(OPEN - 9 * MS)]).valid);
}

fn event(event: &Value) -> Value {
    json!({"type": "event", "at": OPEN, "event": event})
}

#[test]
fn many_bytes_read_in_the_window_are_reported_and_few_are_not() {
    let reads =
        |bytes: u64| warm(1, &flat(3), &[event(&json!({"kind": "window-reads", "bytes": bytes}))]);
    let sample = reads(50_000_000);
    assert!(sample.valid);
    assert_eq!(
        text(&sample.notices, Finding::LoadInsideWindow),
        "50 MB were read from files while the window was open"
    );
    assert!(reads(2_000).notices.is_empty());
}

#[test]
fn changed_settings_and_tracers_make_the_window_invalid() {
    let change = json!({"kind": "config-changed", "name": "gc", "before": "on", "after": "off"});
    let tracer = json!({"kind": "tracer", "name": "sys.settrace"});
    let sample = warm(1, &flat(4), &[event(&change), event(&tracer)]);
    assert_eq!(
        found(&sample.reasons),
        [Finding::ConfigChangedAfterWarmup, Finding::TracerInflated]
    );
    assert_eq!(sample.reasons[0].text, "gc was on, then off");
}

/// Calls of a millisecond, with this much work left running after each.
fn settled(left: &[u64]) -> Value {
    let span = |(at, left): (u64, &u64)| vec![at, at + MS, at + MS + left, at + MS + left + 500];
    let starts = (0..).map(|call| OPEN + (5_000 + 9 * call) * MS);
    json!({"type": "settled", "spans": starts.zip(left).map(span).collect::<Vec<_>>()})
}

#[test]
fn work_left_running_is_reported_with_its_share() {
    let sample = warm(1, &flat(5), &[settled(&[3 * MS; 3])]);
    assert_eq!(found(&sample.reasons), [Finding::AsyncNotSynchronised]);
    let text = &sample.reasons[0].text;
    assert!(text.starts_with("75 % of a call's work was still running"), "{text}");
    assert!(warm(1, &flat(5), &[settled(&[600; 3])]).valid);
}

#[test]
fn less_than_half_of_the_calls_disturbed_does_not_count_as_work_left_running() {
    let disturbed = |calls: usize| {
        let mut left = [600; 15];
        left[..calls].fill(3 * MS);
        warm(1, &flat(5), &[settled(&left)])
    };
    assert!(disturbed(7).valid);
    assert_eq!(found(&disturbed(8).reasons), [Finding::AsyncNotSynchronised]);
}

#[test]
fn a_step_like_a_staircase_has_no_steady_state_and_a_settled_one_has() {
    let stairs: Vec<f64> = (0..8)
        .flat_map(|step| Noise::new(7).series(25, CALL * 1.2_f64.powi(step), 0.01, 0.0))
        .collect();
    let sample = warm(1, &stairs, &[]);
    assert_eq!(found(&sample.notices), [Finding::NoSteadyState]);
    assert!(sample.valid, "that there is none is a result");
    let mut settles = Noise::new(1).series(60, 1.1 * CALL, 0.01, 0.0);
    settles.extend(Noise::new(2).series(240, CALL, 0.01, 0.0));
    let window = warm(1, &settles, &[]).window.unwrap();
    assert_eq!((window.state, window.steady_from), (SteadyState::WarmUp, Some(60)));
}

#[test]
fn a_slow_drift_is_reported_and_noise_is_not() {
    let drifting = |seed| -> Vec<f64> {
        let values = Noise::new(seed).series(300, CALL, 0.03, 0.0);
        let grown =
            values.into_iter().zip(0..).map(|(v, i)| v * (1.0 + 0.05 * f64::from(i) / 300.0));
        grown.collect()
    };
    // A drift may also appear as segments of different level; then the steady part has less of it.
    let found = (0..20)
        .filter(|&seed| found(&warm(1, &drifting(seed), &[]).notices).contains(&Finding::Drift));
    assert!(found.count() >= 10);
    let quiet = (0..20).filter(|&seed| warm(1, &flat(seed), &[]).notices.is_empty());
    assert!(quiet.count() >= 19);
}

fn processes(levels: &[f64]) -> Vec<Sample> {
    (1..)
        .zip(levels)
        .map(|(round, level)| {
            let calls = Noise::new(u64::from(round)).series(100, level * CALL, 0.01, 0.2);
            warm(round, &calls, &[])
        })
        .collect()
}

#[test]
fn large_differences_between_processes_are_reported() {
    let wild = regime(processes(&[1.0, 1.1, 1.9, 0.9, 1.0, 1.6]));
    assert_eq!(found(&wild.notices), [Finding::HighVariance]);
    let calm = regime(processes(&[1.0, 1.01, 1.02, 0.99, 1.0, 1.01]));
    assert!(calm.notices.is_empty(), "{:?}", calm.notices);
    let summary = calm.warm.unwrap();
    assert!((summary.process_sd.unwrap() - 0.01).abs() < 0.005, "{summary:?}");
    assert_eq!((summary.states.flat, summary.per_call.n), (6, 6));
}

#[test]
fn a_quantile_that_too_few_processes_cannot_bound_is_rejected() {
    use firstlight_analysis::regime::regime_result;
    use firstlight_schema::sample::FirstResult;
    use firstlight_schema::suite::Regime;
    let result = |n: u32| {
        let mut samples: Vec<Sample> = (1..=n).map(|round| warm(round, &[CALL], &[])).collect();
        for sample in &mut samples {
            let ns = sample.wall_ns;
            sample.first_result = Some(FirstResult { ns, phases: Vec::new() });
        }
        let options = RunOptions { quantiles: vec![0.9], ..options() };
        regime_result(Regime::ColdClean, made::POLICY, samples, None, &options, 1)
    };
    let few = result(28);
    assert_eq!(
        text(&few.notices, Finding::TailNotSupported),
        "28 processes cannot bound the 90 % quantile, 29 are needed"
    );
    assert!(few.quantiles.is_empty());
    let enough = result(29);
    assert!(!found(&enough.notices).contains(&Finding::TailNotSupported));
    assert_eq!(enough.quantiles.len(), 1);
}

#[test]
fn few_processes_are_reported_as_too_few() {
    let one = regime(processes(&[1.0]));
    assert_eq!(
        text(&one.notices, Finding::TooFewSamples),
        "1 process does not show how processes differ, 5 are needed"
    );
    assert!(one.warm.unwrap().per_call.interval.is_some());
    let three = regime(processes(&[1.0, 1.0, 1.01]));
    assert_eq!(text(&three.notices, Finding::TooFewSamples), "3 processes, 5 are needed");
}
