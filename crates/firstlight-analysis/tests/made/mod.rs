//! Generated warm processes.

use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::regime::regime_result;
use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::message::{Iterations, Message, Part};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::reading::{Outcome, RawSample, SampleRole, Streams, Usage};
use firstlight_schema::run::{RegimeResult, RunOptions};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Agreement, Regime};
use serde_json::{Value, json};

pub(crate) const MS: u64 = 1_000_000;
/// When the window opens.
pub(crate) const OPEN: u64 = 2_000 * MS;

pub(crate) const POLICY: CachePolicy = CachePolicy {
    compilers: Policy::Clean,
    bytecode: Policy::AsFound,
    page_cache: Policy::AsFound,
};

/// The readings of a process with these call times, one directly after the other.
pub(crate) fn raw(number: u32, calls: &[f64], further: &[Value]) -> RawSample {
    let mut at = OPEN;
    let spans: Vec<(Moment, Moment)> = calls
        .iter()
        .map(|&length| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let end = at + length as u64;
            let span = (Moment(at), Moment(end));
            at = end + 100;
            span
        })
        .collect();
    let block = |part, spans| Message::Iterations(Iterations::single(part, true, spans));
    let hello = json!({"type": "hello", "protocol": {"major": 1, "minor": 0}, "role": "runner",
        "pid": 1, "language": "python", "runtime": "x", "executable": null, "started": null,
        "at": 3_000});
    let mut messages = vec![serde_json::from_value(hello).unwrap()];
    messages.push(block(Part::WarmUp, vec![(Moment(1_000 * MS), Moment(1_500 * MS))]));
    messages.push(block(Part::Window, spans));
    let further = further.iter().map(|json| serde_json::from_value(json.clone()).unwrap());
    messages.extend(further);
    messages.push(serde_json::from_value(json!({"type": "bye", "at": at + MS})).unwrap());
    RawSample {
        number,
        role: SampleRole::Measured,
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        spawn: Moment(0),
        exec: Moment(MS),
        reaped: Moment(at + 1_000 * MS),
        outcome: Outcome::Completed,
        messages,
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

/// The same, examined as a warm process of this round.
pub(crate) fn warm(round: u32, calls: &[f64], further: &[Value]) -> Sample {
    let conditions = Conditions { policy: POLICY, any_exit_code: false, job: Job::Window };
    Sample { round: Some(round), ..examine(raw(round, calls, further), conditions) }
}

pub(crate) fn options() -> RunOptions {
    RunOptions {
        processes: 10,
        warm_up_calls: 10,
        calls: 1_000,
        within_ns: Nanos(1_000 * MS),
        warm_processes: 6,
        most_warm_processes: 20,
        target: Some(0.02),
        budget_ns: Nanos(600_000 * MS),
        verdicts: true,
        outputs: Agreement::Close,
        tolerance: 1e-4,
        precision: None,
        quantiles: Vec::new(),
    }
}

pub(crate) fn regime(samples: Vec<Sample>) -> RegimeResult {
    regime_result(Regime::Warm, POLICY, samples, None, &options(), 1)
}
