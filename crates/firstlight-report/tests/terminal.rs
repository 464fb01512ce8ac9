//! Goldens of the terminal's text: complete without colour, at every width.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use firstlight_analysis::control::price;
use firstlight_analysis::examine::{Conditions, examine};
use firstlight_analysis::notices::notices;
use firstlight_analysis::summary::summarise;
use firstlight_report::terminal::Terminal;
use firstlight_schema::cache::{CachePolicy, Inventory, Layer, LayerReading, Policy};
use firstlight_schema::cold::ColdDocument;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::machine::Machine;
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::reading::{Outcome, RawSample, SampleRole, Streams, Usage};
use firstlight_schema::run::{
    ArmResult, CaseResult, EnvironmentKind, EnvironmentRecord, RegimeResult, RunDocument,
};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Regime, Scalar};
use firstlight_schema::version::Build;
use serde_json::json;

const MS: u64 = 1_000_000;

/// A process that imports, traces and compiles, `slower` milliseconds slower than the fastest.
fn raw(number: u32, slower: u64, answer: &str) -> RawSample {
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
    }
}

fn policy(compilers: Policy) -> CachePolicy {
    CachePolicy { compilers, bytecode: Policy::AsFound, page_cache: Policy::AsFound }
}

fn samples(of: Policy, answer: &str) -> Vec<Sample> {
    let conditions = Conditions { policy: policy(of), any_exit_code: false, runner: false };
    (1..=7)
        .map(|number| {
            let mut raw = raw(number, u64::from(number * number * 4), answer);
            raw.caches[0].policy = of;
            examine(raw, conditions)
        })
        .collect()
}

fn cold() -> ColdDocument {
    let mut samples = samples(Policy::Clean, "miss");
    let conditions =
        Conditions { policy: policy(Policy::Clean), any_exit_code: false, runner: false };
    samples.push(examine(raw(8, 0, "hit"), conditions));
    let controls = (1..=7).map(|n| raw(n, u64::from(n * n * 4 - 3), "miss")).collect();
    ColdDocument {
        schema: ColdDocument::schema_id(),
        firstlight: Build::new("0.1.0", None),
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        command: ["python", "train.py", "--epochs", "1"].map(str::to_owned).to_vec(),
        program: "/usr/bin/python3".to_owned(),
        machine: Machine { cpu: None, cores: Some(2), memory_bytes: None, kernel: None },
        policy: policy(Policy::Clean),
        timeout_ns: Nanos(600_000 * MS),
        seed: 1,
        complete: true,
        summary: summarise(&samples),
        control: Some(price(&samples, controls)),
        notices: notices(&samples),
        priming: Vec::new(),
        samples,
    }
}

fn run() -> RunDocument {
    let regime = |regime: Regime, answer: &str| {
        let samples = samples(regime.compilers(), answer);
        RegimeResult {
            regime,
            policy: policy(regime.compilers()),
            summary: summarise(&samples),
            notices: Vec::new(),
            samples,
        }
    };
    let arm = |name: &str, regimes, stopped| ArmResult {
        name: name.to_owned(),
        regimes,
        priming: Vec::new(),
        stopped,
    };
    let empty = RegimeResult {
        regime: Regime::ColdClean,
        policy: policy(Policy::Clean),
        samples: Vec::new(),
        summary: None,
        notices: Vec::new(),
    };
    let failed =
        Reason::new(Finding::ProcessFailed, "failed 2 times in a row: ValueError: no data");
    RunDocument {
        schema: RunDocument::schema_id(),
        firstlight: Build::new("0.1.0", None),
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        suite: "steps".to_owned(),
        suite_digest: "00".to_owned(),
        machine: Machine { cpu: None, cores: Some(2), memory_bytes: None, kernel: None },
        environment: EnvironmentRecord {
            kind: EnvironmentKind::AsFound,
            python: Some("cpython 3.11.7".to_owned()),
            lock_digest: None,
            installer: None,
            packages: BTreeMap::new(),
        },
        timeout_ns: Nanos(60_000 * MS),
        seed: 1,
        complete: true,
        cases: vec![CaseResult {
            name: "mlp".to_owned(),
            parameters: BTreeMap::from([("width".to_owned(), Scalar::Integer(256))]),
            arms: vec![
                arm(
                    "jax",
                    vec![regime(Regime::ColdClean, "miss"), regime(Regime::ColdPrimed, "hit")],
                    None,
                ),
                arm("broken", vec![empty], Some(failed)),
            ],
        }],
    }
}

/// Colours are escape sequences; the text without them must say it all.
fn plain(text: &str) -> String {
    let mut escaped = false;
    text.chars()
        .filter(|&c| {
            let was = escaped;
            escaped = (escaped && c != 'm') || c == '\u{1b}';
            !was && !escaped
        })
        .collect()
}

#[test]
fn a_cold_document_at_the_usual_width() {
    insta::assert_snapshot!(plain(&Terminal::new(100).cold(&cold())));
}

#[test]
fn a_cold_document_in_a_small_terminal() {
    insta::assert_snapshot!(plain(&Terminal::new(40).cold(&cold())));
}

#[test]
fn a_suite_with_two_regimes_and_a_broken_arm() {
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&run())));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [40, 57, 80, 110] {
        for text in [Terminal::new(width).cold(&cold()), Terminal::new(width).run(&run())] {
            for line in plain(&text).lines() {
                assert!(line.chars().count() <= width, "{width}: `{line}`");
            }
        }
    }
}
