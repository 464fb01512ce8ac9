//! Generated documents in the form of real runs: readings are made up, everything else is computed from them.

use std::collections::BTreeMap;

use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::judge::judge;
use firstlight_analysis::regime::regime_result;
use firstlight_schema::cache::{CachePolicy, Inventory, Layer, LayerReading, Policy};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::machine::Machine;
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::message::{Iterations, MemoryReading, Message, Part};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::{Outcome, RawSample, SampleRole, Streams, Usage};
use firstlight_schema::run::{
    Agreed, ArmResult, CaseResult, EnvironmentKind, EnvironmentRecord, RunDocument, RunOptions,
    SweepPlace, Work,
};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Agreement, Regime, Scalar};
use firstlight_schema::version::Build;
use serde_json::json;

pub(crate) const MS: u64 = 1_000_000;

/// A process that imports, traces and compiles, `slower` milliseconds slower than the fastest.
pub(crate) fn raw(number: u32, slower: u64, answer: &str) -> RawSample {
    let compile = if answer == "hit" { 20 } else { 400 + slower };
    let compiled = 700 + compile;
    let edge = |edge: &str, name: &str, label: Option<&str>, at: u64| json!({"type": "phase", "edge": edge, "name": name, "label": label, "at": at * MS, "thread": 0});
    let mut closing = edge("end", "compile", Some("jit(step)"), compiled);
    closing["detail"] = json!({"framework": "jax", "cache": answer,
        "signature": "f32[784,256], f32[256], f32[256,256], f32[256], f32[256,10], f32[10], … 14 more"});
    let memory = |phase: &str, at: u64, peak: u64| {
        json!({"type": "memory", "at": at * MS, "phase": phase,
            "rss-bytes": peak * MS, "peak-rss-bytes": peak * MS})
    };
    let messages = [
        json!({"type": "hello", "protocol": {"major": 1, "minor": 0}, "role": "hooks", "pid": 7,
            "language": "python", "runtime": "cpython 3.11.7", "executable": null,
            "started": null, "at": 20 * MS}),
        edge("begin", "probe", Some("hooks"), 20),
        edge("end", "probe", Some("hooks"), 22),
        edge("begin", "run", None, 22),
        edge("begin", "import", Some("jax"), 30),
        json!({"type": "imports", "thread": 0, "sources": 0, "sources-ns": 0,
            "segments": [["jax", 30 * MS, 200 * MS], ["numpy", 200 * MS, 300 * MS], ["jax", 300 * MS, 500 * MS]],
            "cumulative": {"jax": 470 * MS, "numpy": 100 * MS}}),
        edge("end", "import", Some("jax"), 500),
        edge("begin", "trace", Some("step"), 600),
        edge("end", "trace", Some("step"), 650),
        edge("begin", "lower", Some("jit(step)"), 660),
        edge("end", "lower", Some("jit(step)"), 690),
        edge("begin", "compile", Some("jit(step)"), 700),
        closing,
        memory("compile", compiled, 310),
        json!({"type": "event", "at": (compiled + 30) * MS, "event": {"kind": "mark", "name": "first-result"}}),
        edge("end", "run", None, compiled + 40),
        memory("run", compiled + 40, 280),
        edge("begin", "teardown", Some("interpreter exit"), compiled + 40),
        json!({"type": "bye", "at": (compiled + 41) * MS}),
        json!({"type": "output", "check": "not-given", "digest": "sha256:1", "leaves": []}),
    ];
    RawSample {
        number,
        role: SampleRole::Measured,
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        spawn: Moment(0),
        exec: Moment(MS),
        reaped: Moment((compiled + 200) * MS),
        outcome: Outcome::Completed,
        messages: messages.into_iter().map(|json| serde_json::from_value(json).unwrap()).collect(),
        usage: Usage { user_ns: Nanos(900 * MS), max_rss_bytes: 290 * MS, ..Usage::default() },
        machine_busy_ns: Some(Nanos((900 + 5 * slower) * MS)),
        caches: vec![LayerReading {
            layer: Layer::Jax,
            policy: Policy::Clean,
            directory: None,
            before: Inventory { entries: u64::from(answer == "hit"), bytes: 0 },
            after: Inventory { entries: 1, bytes: 31_785 },
        }],
        streams: Streams::default(),
        survivors: 0,
        paused: None,
        exits: Vec::new(),
        opened: Vec::new(),
    }
}

pub(crate) fn policy(compilers: Policy) -> CachePolicy {
    CachePolicy { compilers, bytecode: Policy::AsFound, page_cache: Policy::AsFound }
}

pub(crate) fn samples(value: Policy, answer: &str) -> Vec<Sample> {
    let conditions = Conditions { policy: policy(value), any_exit_code: false, job: Job::Command };
    (1..=7)
        .map(|number| {
            let mut raw = raw(number, u64::from(number * number * 4), answer);
            raw.caches[0].policy = value;
            examine(raw, conditions)
        })
        .collect()
}

/// A warm process: a warm-up, then calls of one length with a ripple, slower in odd rounds.
fn warm(number: u32, call_us: u64) -> Sample {
    let mut raw = raw(number, 0, "miss");
    let at = |call: u64| Moment(2_000 * MS + call * 10 * MS);
    let spans: Vec<_> = (0..120)
        .map(|n| {
            let length = call_us * 1_000 * (1_000 + 7 * (n % 5) + 3 * u64::from(number)) / 1_000;
            (at(n), Moment(at(n).0 + length))
        })
        .collect();
    let reaped = 4_000 * MS;
    raw.reaped = Moment(reaped);
    let block = |part, spans| Message::Iterations(Iterations::single(part, true, spans));
    raw.messages.push(block(Part::WarmUp, vec![(Moment(1_000 * MS), Moment(1_900 * MS))]));
    raw.messages.push(block(Part::Window, spans));
    raw.messages.push(Message::Memory(MemoryReading {
        at: Moment(3_900 * MS),
        phase: Phase::Window,
        rss_bytes: 200 * MS,
        peak_rss_bytes: 240 * MS,
        devices: Vec::new(),
    }));
    let conditions =
        Conditions { policy: policy(Policy::Clean), any_exit_code: false, job: Job::Window };
    Sample { round: Some(number), ..examine(raw, conditions) }
}

pub(crate) fn options() -> RunOptions {
    RunOptions {
        processes: 7,
        warm_up_calls: 10,
        calls: 1_000,
        within_ns: Nanos(1_000 * MS),
        warm_processes: 7,
        most_warm_processes: 20,
        target: Some(0.02),
        verdicts: true,
        budget_ns: Nanos(600_000 * MS),
        outputs: Agreement::Close,
        tolerance: 1e-4,
        precision: None,
        quantiles: vec![0.9],
    }
}

pub(crate) fn run() -> RunDocument {
    let work = Work { unit: "steps".to_owned(), per_call: 2.0 };
    let result = |regime: Regime, samples| {
        let policy = policy(regime.compilers());
        regime_result(regime, policy, samples, Some(&work), &options(), 1)
    };
    let regime = |regime: Regime, answer: &str| {
        let mut samples = samples(regime.compilers(), answer);
        for sample in &mut samples {
            sample.round = Some(sample.number);
        }
        result(regime, samples)
    };
    let steady = |call_us| result(Regime::Warm, (1..=7).map(|n| warm(n, call_us)).collect());
    let arm = |name: &str, regimes, stopped| ArmResult {
        name: name.to_owned(),
        command: None,
        regimes,
        priming: Vec::new(),
        stopped,
        agreement: Agreed::Reference,
        findings: Vec::new(),
    };
    let empty = result(Regime::ColdClean, Vec::new());
    let early = || {
        let mut samples = samples(Policy::Clean, "miss");
        for sample in &mut samples {
            sample.round = Some(sample.number);
            let first = sample.first_result.as_mut().unwrap();
            first.ns = Nanos(first.ns.0 / 3);
        }
        result(Regime::ColdClean, samples)
    };
    let failed =
        Reason::new(Finding::ProcessFailed, "failed 2 times in a row: ValueError: no data");
    let mut document = RunDocument {
        schema: RunDocument::schema_id(),
        analysis: 2,
        firstlight: Build::new("0.1.0", None),
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        suite: "steps".to_owned(),
        suite_digest: "00".to_owned(),
        machine: Machine { cpu: None, cores: Some(2), memory_bytes: None, kernel: None },
        before: MachineState::default(),
        after: None,
        machine_notices: vec![Reason::new(Finding::NoisyMachine, "3 % of the time was stolen")],
        environment: EnvironmentRecord {
            kind: EnvironmentKind::AsFound,
            python: Some("cpython 3.11.7".to_owned()),
            lock_digest: None,
            installer: None,
            packages: BTreeMap::new(),
        },
        timeout_ns: Nanos(60_000 * MS),
        seed: 1,
        options: options(),
        complete: true,
        control: None,
        sweeps: Vec::new(),
        segments: Vec::new(),
        nodes: Vec::new(),
        imported: None,
        cases: vec![CaseResult {
            name: "mlp".to_owned(),
            parameters: BTreeMap::from([("width".to_owned(), Scalar::Integer(256))]),
            sweep: None,
            work: Some(work.clone()),
            margin: 0.02,
            reference: "jax".to_owned(),
            arms: vec![
                arm(
                    "jax",
                    vec![
                        regime(Regime::ColdClean, "miss"),
                        regime(Regime::ColdPrimed, "hit"),
                        steady(1_000),
                    ],
                    None,
                ),
                arm("numpy", vec![early(), steady(1_500)], None),
                arm("broken", vec![empty], Some(failed)),
            ],
            again: Some(arm("jax", vec![steady(1_001)], None)),
            comparisons: Vec::new(),
            break_evens: Vec::new(),
            planted: None,
        }],
    };
    judge(&mut document);
    document
}

/// The same case at three widths.
pub(crate) fn swept() -> RunDocument {
    let mut document = run();
    let case = document.cases.remove(0);
    document.cases = [64, 128, 256]
        .map(|width| {
            let mut case = case.clone();
            case.name = format!("mlp.width-{width}");
            case.parameters.insert("width".to_owned(), Scalar::Integer(width));
            case.sweep = Some(SweepPlace { case: "mlp".to_owned(), parameter: "width".to_owned() });
            case.arms.truncate(1);
            case.again = None;
            let samples = (1..=7).map(|n| warm(n, u64::try_from(width).unwrap() * 3 + 40));
            let policy = policy(Policy::Clean);
            case.arms[0].regimes =
                vec![regime_result(Regime::Warm, policy, samples.collect(), None, &options(), 1)];
            case
        })
        .into();
    judge(&mut document);
    document
}
