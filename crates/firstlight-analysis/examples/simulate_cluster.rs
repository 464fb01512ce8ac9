//! Plays a scheduler with up to a thousand nodes, failures, stragglers and pre-emptions against the planner
//! and the gatherer that `firstlight run --on slurm` uses. No process is started. `cargo xtask
//! simulate-cluster` prints the table.

#![expect(clippy::print_stdout, reason = "it prints a table")]
#![expect(clippy::cast_precision_loss, reason = "counts of a simulation stay far below 2^53")]

#[path = "../tests/noise/mod.rs"]
#[expect(dead_code, reason = "only some of its shapes are drawn here")]
mod noise;

use std::process::ExitCode;

use firstlight_analysis::cluster::plan;
use firstlight_analysis::stats::Ratio;
use firstlight_slurm::{Gatherer, QueueState, Seen, ShardState, Step, arrays};
use noise::Noise;

/// Seconds between two looks.
const LOOK: f64 = 10.0;
/// Seconds that a round of all arms takes on a usual node.
const ROUND: f64 = 60.0;
/// Processes per arm in all, over all nodes.
const PROCESSES: u32 = 4_000;
/// The mean time between failures of one node, and between pre-emptions of one task, in seconds.
const FAILURE: f64 = 24.0 * 3_600.0;
const PREEMPTION: f64 = 4.0 * 3_600.0;
/// A failed node is back after so long.
const REPAIR: f64 = 1_800.0;
/// Time limit of a task; it seals what it has before.
const LIMIT: f64 = 2.0 * 3_600.0;
/// The mean time that a task waits in the queue while a node is free.
const LATENCY: f64 = 20.0;
/// One node in fifty takes three times as long.
const STRAGGLERS: f64 = 0.02;
/// Standard deviations of the ratio between nodes and between rounds of one node.
const BETWEEN: f64 = 0.01;
const WITHIN: f64 = 0.02;
const MAX_ARRAY: u32 = 1_001;

struct Node {
    slowness: f64,
    effect: f64,
    down_until: f64,
    task: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nowhere,
    /// Since when it may start.
    Queue(f64),
    On(usize),
}

struct Task {
    place: Place,
    /// Rounds that are on disk, each with the node that measured it.
    rounds: Vec<(usize, f64)>,
    /// Seconds since the round under way began.
    under_way: f64,
    /// When its time limit ends.
    until: f64,
}

struct Outcome {
    makespan: f64,
    lost: f64,
    measured: f64,
    submissions: u32,
    half_width: f64,
    /// Tasks that were submitted while they were under way: their rounds would be measured twice.
    repeated: u32,
}

fn exponential(noise: &mut Noise, mean: f64) -> f64 {
    -mean * (1.0 - noise.uniform()).ln()
}

fn simulate(nodes: u32, seed: u64) -> Outcome {
    let mut noise = Noise::new(seed);
    let planned = plan(PROCESSES, nodes);
    let rounds = planned.processes as usize;
    let mut machines: Vec<Node> = (0..nodes)
        .map(|_| Node {
            slowness: if noise.uniform() < STRAGGLERS { 3.0 } else { 1.0 },
            effect: BETWEEN * noise.normal(),
            down_until: 0.0,
            task: None,
        })
        .collect();
    let mut tasks: Vec<Task> = (0..planned.tasks)
        .map(|_| Task { place: Place::Nowhere, rounds: Vec::new(), under_way: 0.0, until: 0.0 })
        .collect();
    let mut gatherer = Gatherer::new(planned.tasks);
    let (mut now, mut lost, mut submissions, mut repeated) = (0.0, 0.0, 0, 0);
    loop {
        let looks: Vec<Seen> = tasks.iter().map(|task| look(task, rounds)).collect();
        match gatherer.step(&looks) {
            Step::Wait => {}
            Step::Merge => break,
            Step::GiveUp(_) => unreachable!("every task makes progress in the end"),
            Step::Submit(wanted) => {
                for array in arrays(&wanted, MAX_ARRAY) {
                    submissions += 1;
                    for &index in &array.tasks {
                        repeated += u32::from(tasks[index as usize].place != Place::Nowhere);
                        let ready = now + exponential(&mut noise, LATENCY);
                        tasks[index as usize].place = Place::Queue(ready);
                    }
                    gatherer.submitted(&array.tasks);
                }
            }
        }
        start(&mut tasks, &mut machines, now);
        for task in &mut tasks {
            lost += advance(task, &mut machines, rounds, now, &mut noise);
        }
        now += LOOK;
    }
    let measured: usize = tasks.iter().map(|task| task.rounds.len()).sum();
    let on_nodes: Vec<usize> = tasks.iter().flat_map(|t| t.rounds.iter().map(|r| r.0)).collect();
    let pairs: Vec<(f64, f64)> =
        tasks.iter().flat_map(|t| t.rounds.iter().map(|r| (1.0, r.1.exp()))).collect();
    let ratio =
        Ratio::paired_over_nodes(&pairs, &on_nodes).and_then(|ratio| ratio.estimate.interval);
    Outcome {
        makespan: now,
        lost,
        measured: measured as f64 * ROUND,
        submissions,
        half_width: ratio.map_or(f64::NAN, |ends| (ends.high / ends.low).ln() / 2.0),
        repeated,
    }
}

fn look(task: &Task, rounds: usize) -> Seen {
    let processes = u32::try_from(task.rounds.len()).unwrap_or(u32::MAX);
    let shard = match task.rounds.len() {
        done if done >= rounds => ShardState::Complete,
        0 => ShardState::Missing,
        _ => ShardState::Unfinished { processes },
    };
    let queue = match task.place {
        Place::Nowhere => QueueState::Absent,
        Place::Queue(_) => QueueState::Queued,
        Place::On(_) => QueueState::Running,
    };
    Seen { shard, queue }
}

/// The scheduler: the first task that may start gets the first free node.
fn start(tasks: &mut [Task], machines: &mut [Node], now: f64) {
    let mut free: Vec<usize> = (0..machines.len())
        .filter(|&node| machines[node].task.is_none() && machines[node].down_until <= now)
        .rev()
        .collect();
    for (index, task) in tasks.iter_mut().enumerate() {
        let Place::Queue(ready) = task.place else { continue };
        if ready > now {
            continue;
        }
        let Some(node) = free.pop() else { return };
        machines[node].task = Some(index);
        (task.place, task.under_way, task.until) = (Place::On(node), 0.0, now + LIMIT);
    }
}

/// One look further; returns the seconds of work that were lost.
fn advance(
    task: &mut Task,
    machines: &mut [Node],
    rounds: usize,
    now: f64,
    noise: &mut Noise,
) -> f64 {
    let Place::On(place) = task.place else { return 0.0 };
    let node = &mut machines[place];
    let failed = noise.uniform() < LOOK / FAILURE;
    let preempted = noise.uniform() < LOOK / PREEMPTION;
    task.under_way += LOOK;
    let length = ROUND * node.slowness;
    while task.under_way >= length && task.rounds.len() < rounds {
        task.under_way -= length;
        task.rounds.push((place, node.effect + WITHIN * noise.normal()));
    }
    let over = task.rounds.len() >= rounds;
    if !(failed || preempted || over || now >= task.until) {
        return 0.0;
    }
    if failed {
        node.down_until = now + REPAIR;
    }
    node.task = None;
    task.place = Place::Nowhere;
    if over { 0.0 } else { std::mem::take(&mut task.under_way) }
}

fn main() -> ExitCode {
    println!(
        "{PROCESSES} rounds of {ROUND:.0} s; a node fails once in 24 h, a task is pre-empted once in 4 h, \
         1 node in 50 takes 3 times as long,\ntime limit 2 h, ratios differ by 1 % between nodes and by 2 % \
         between rounds; means over 5 runs\n"
    );
    println!(
        "{:>6} {:>6} {:>10} {:>10} {:>10} {:>10} {:>12} {:>10}",
        "nodes", "tasks", "makespan", "at best", "lost work", "arrays", "half-width", "repeated"
    );
    let mut repeated = 0;
    for nodes in [4, 10, 30, 100, 300, 1_000] {
        const RUNS: u32 = 5;
        let found: Vec<Outcome> =
            (0..RUNS).map(|run| simulate(nodes, u64::from(nodes * 100 + run))).collect();
        let mean = |of: fn(&Outcome) -> f64| found.iter().map(of).sum::<f64>() / f64::from(RUNS);
        let planned = plan(PROCESSES, nodes);
        repeated += found.iter().map(|one| one.repeated).sum::<u32>();
        println!(
            "{nodes:>6} {:>6} {:>8.2} h {:>8.2} h {:>8.2} % {:>10.1} {:>10.2} % {repeated:>10}",
            planned.tasks,
            mean(|one| one.makespan) / 3_600.0,
            f64::from(planned.processes) * ROUND / 3_600.0,
            100.0 * mean(|one| one.lost / one.measured),
            mean(|one| f64::from(one.submissions)),
            100.0 * mean(|one| one.half_width),
        );
    }
    if repeated == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
