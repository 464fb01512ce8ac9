//! The scenarios of the coverage table.

use crate::fake_runner::{Arm, CALLS, Expected, Nodes, Process, Scenario};
use crate::noise::Noise;

fn quiet(_: &mut Noise, rounds: u32) -> Vec<f64> {
    (0..rounds).map(|_| 1.0).collect()
}

fn drifting(_: &mut Noise, rounds: u32) -> Vec<f64> {
    (0..rounds).map(|round| 1.0 + 0.05 * f64::from(round) / f64::from(rounds)).collect()
}

fn wandering(noise: &mut Noise, rounds: u32) -> Vec<f64> {
    let mut level = 1.0;
    (0..rounds)
        .map(|_| {
            level += 0.01 * noise.normal();
            level
        })
        .collect()
}

fn stepping(noise: &mut Noise, rounds: u32) -> Vec<f64> {
    let step = noise.uniform() * f64::from(rounds);
    (0..rounds).map(|round| if f64::from(round) < step { 1.0 } else { 1.06 }).collect()
}

fn identical(process: &mut Process<'_>) -> Vec<f64> {
    process.calls(1.0)
}

fn slower_by(process: &mut Process<'_>, ratio: f64) -> Vec<f64> {
    let level = if process.arm == Arm::B { ratio } else { 1.0 };
    process.calls(level)
}

/// Both arms with calls slowed down by a function of their index.
fn shaped(process: &mut Process<'_>, shape: impl Fn(Arm, f64) -> f64) -> Vec<f64> {
    let arm = process.arm;
    let mut calls = process.calls(1.0);
    for (place, call) in calls.iter_mut().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred calls")]
        let part = place as f64 / CALLS as f64;
        *call *= shape(arm, part);
    }
    calls
}

/// A share of `b`'s processes is 50 % slower.
fn some_bad(process: &mut Process<'_>, share: f64, both: bool) -> Vec<f64> {
    let bad = process.noise.uniform() < share && (both || process.arm == Arm::B);
    process.calls(if bad { 1.5 } else { 1.0 })
}

const DEFAULT: Scenario = Scenario {
    name: "",
    truth: 1.0,
    expected: Expected::Covered,
    settings: "",
    machine: quiet,
    calls: identical,
    nodes: None,
};

const NODES: Nodes =
    Nodes { count: 8, rounds: 4, more_on_the_first: 0, level: 0.05, ratio: 0.02, busy: None };

pub(crate) fn scenarios() -> Vec<Scenario> {
    [on_one_level(), with_steps_and_pauses(), with_rare_kinds(), without_a_level(), on_nodes()]
        .into_iter()
        .flatten()
        .collect()
}

fn on_one_level() -> Vec<Scenario> {
    vec![
        Scenario { name: "identical arms", ..DEFAULT },
        Scenario { name: "identical arms, machine drifts by 5 %", machine: drifting, ..DEFAULT },
        Scenario { name: "identical arms, machine wanders", machine: wandering, ..DEFAULT },
        Scenario { name: "identical arms, machine slows by 6 %", machine: stepping, ..DEFAULT },
        Scenario {
            name: "5 % slower",
            truth: 1.05,
            calls: |process| slower_by(process, 1.05),
            ..DEFAULT
        },
        Scenario {
            name: "half the time",
            truth: 0.5,
            machine: wandering,
            calls: |process| slower_by(process, 0.5),
            ..DEFAULT
        },
        Scenario {
            name: "at the margin's edge, 2 % slower",
            truth: 1.02,
            calls: |process| slower_by(process, 1.02),
            ..DEFAULT
        },
        Scenario {
            name: "processes differ by 5 %",
            calls: |process| {
                let own = (0.05 * process.noise.normal()).exp();
                process.calls(own)
            },
            ..DEFAULT
        },
        Scenario {
            name: "processes of two kinds, 10 % apart",
            calls: |process| {
                let kind = if process.noise.uniform() < 0.5 { 1.0 } else { 1.1 };
                process.calls(kind)
            },
            ..DEFAULT
        },
    ]
}

fn with_steps_and_pauses() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "a slow start of a fifth of the window",
            calls: |process| shaped(process, |_, part| if part < 0.2 { 1.3 } else { 1.0 }),
            ..DEFAULT
        },
        Scenario {
            name: "a step to a slower level halfway",
            calls: |process| shaped(process, |_, part| if part < 0.5 { 1.0 } else { 1.05 }),
            ..DEFAULT
        },
        Scenario {
            name: "pauses of 20 calls in one of fifty",
            truth: 1.0,
            calls: |process| {
                let mut calls = process.calls(1.0);
                process.noise.slow_some(&mut calls, 0.02, 20.0);
                calls
            },
            ..DEFAULT
        },
    ]
}

fn with_rare_kinds() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "1 of 5 processes 1.5 times as slow",
            truth: 1.5_f64.powf(0.2),
            calls: |process| some_bad(process, 0.2, false),
            ..DEFAULT
        },
        Scenario {
            name: "1 of 5 processes of both arms",
            calls: |process| some_bad(process, 0.2, true),
            ..DEFAULT
        },
        Scenario {
            name: "1 of 10 processes, 36 processes",
            truth: 1.5_f64.powf(0.1),
            settings: "processes = 36\nmost-processes = 36",
            calls: |process| some_bad(process, 0.1, false),
            ..DEFAULT
        },
        Scenario {
            name: "1 of 10 processes, at most 30",
            truth: 1.5_f64.powf(0.1),
            expected: Expected::TooRare,
            calls: |process| some_bad(process, 0.1, false),
            ..DEFAULT
        },
    ]
}

fn without_a_level() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "two periods of an oscillation",
            expected: Expected::NoVerdict,
            calls: |process| {
                shaped(process, |arm, part| {
                    let high = (part * 4.0).floor().rem_euclid(2.0) < 0.5;
                    if high == (arm == Arm::A) { 1.1 } else { 0.9 }
                })
            },
            ..DEFAULT
        },
        Scenario {
            name: "a decay that is not over",
            expected: Expected::NoVerdict,
            calls: |process| {
                shaped(process, |arm, part| match arm {
                    Arm::A => 1.0,
                    Arm::B => 1.0 + 0.3 * (-2.0 * part).exp(),
                })
            },
            ..DEFAULT
        },
        Scenario {
            name: "a drift of 6 % in the window",
            expected: Expected::NoVerdict,
            calls: |process| {
                shaped(process, |arm, part| if arm == Arm::B { 1.0 + 0.06 * part } else { 1.0 })
            },
            ..DEFAULT
        },
        Scenario {
            name: "1 of 2 processes never settles",
            expected: Expected::NoVerdict,
            calls: |process| {
                let stairs = process.arm == Arm::B && process.noise.uniform() < 0.5;
                let height: f64 = if stairs { 0.2 } else { 0.0 };
                shaped(process, |_, part| (1.0 + height).powf((part * 8.0).floor()))
            },
            ..DEFAULT
        },
    ]
}

/// Shards of several nodes, merged.
fn on_nodes() -> Vec<Scenario> {
    let nodes = |name, nodes| Scenario { name, nodes: Some(nodes), ..DEFAULT };
    vec![
        nodes("8 nodes that agree", Nodes { ratio: 0.0, level: 0.0, ..NODES }),
        nodes("8 nodes, levels differ by 5 %", Nodes { ratio: 0.0, ..NODES }),
        nodes("8 nodes, ratios differ by 0.5 %", Nodes { ratio: 0.005, ..NODES }),
        nodes("8 nodes, ratios differ by 2 %", NODES),
        nodes("4 nodes, ratios differ by 2 %", Nodes { count: 4, rounds: 6, ..NODES }),
        nodes("20 nodes, ratios differ by 2 %", Nodes { count: 20, rounds: 2, ..NODES }),
        nodes("8 nodes of unequal size", Nodes { more_on_the_first: 12, ..NODES }),
        Scenario {
            name: "8 nodes, 5 % slower",
            truth: 1.05,
            calls: |process| slower_by(process, 1.05),
            nodes: Some(NODES),
            ..DEFAULT
        },
    ]
}
