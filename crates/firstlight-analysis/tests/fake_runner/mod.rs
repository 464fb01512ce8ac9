//! A fake runner: processes whose calls have exactly known times, measured like real ones by `firstlight
//! run`. It follows the same stopping rule and uses the same `rebuild`.

use std::collections::BTreeMap;

use firstlight_analysis::rebuild::{rebuild, sample};
use firstlight_analysis::shards;
use firstlight_analysis::stopping::is_narrow_enough;
use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::machine::Machine;
use firstlight_schema::machine_state::{LoadAverages, MachineState};
use firstlight_schema::message::{Iterations, Message, Part};
use firstlight_schema::nanos::Moment;
use firstlight_schema::reading::{
    Outcome, RawRecord, RawSample, SampleRole, Streams, Subject, Usage,
};
use firstlight_schema::run::{EnvironmentKind, EnvironmentRecord, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::snapshot::{Harness, Manifest, Origin};
use firstlight_schema::suite::{Choice, DEFAULTS, Regime, SuiteFile};
use firstlight_schema::version::Build;
use serde_json::json;

use crate::noise::Noise;

const MS: u64 = 1_000_000;
const OPEN: u64 = 2_000 * MS;
/// Calls in a window.
pub(crate) const CALLS: usize = 120;

/// The arms `a`, the reference, and `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    A,
    B,
}

/// The inputs of one process: the machine's slowness in its round, and the run's own noise.
pub(crate) struct Process<'a> {
    pub(crate) arm: Arm,
    pub(crate) machine: f64,
    pub(crate) noise: &'a mut Noise,
}

impl Process<'_> {
    /// Calls around a level, which differs by one per cent from process to process.
    pub(crate) fn calls(&mut self, level: f64) -> Vec<f64> {
        let own = 1.0 + 0.01 * self.noise.normal();
        let level = 1e6 * level * own * self.machine;
        let mut calls = self.noise.series(CALLS, level, 0.02, 0.5);
        self.noise.slow_some(&mut calls, 0.01, 4.0);
        calls
    }
}

/// Known truths, and the permitted conclusions.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The ratio of `b` to `a` that an interval has to cover, as a ratio of geometric means over processes.
    pub(crate) truth: f64,
    pub(crate) expected: Expected,
    /// Lines of `[warm]` in the suite.
    pub(crate) settings: &'static str,
    pub(crate) machine: fn(&mut Noise, u32) -> Vec<f64>,
    pub(crate) calls: fn(&mut Process<'_>) -> Vec<f64>,
    /// Set if several nodes measure a shard each.
    pub(crate) nodes: Option<Nodes>,
}

/// Nodes whose level, and whose ratio of `b` to `a`, each differ by chance.
#[derive(Clone, Copy)]
pub(crate) struct Nodes {
    pub(crate) count: usize,
    /// Rounds of each node's shard; the first node has several times as many.
    pub(crate) rounds: u32,
    pub(crate) more_on_the_first: u32,
    /// The standard deviations between nodes, as fractions.
    pub(crate) level: f64,
    pub(crate) ratio: f64,
    /// A node that other processes slow down by 30 %.
    pub(crate) busy: Option<usize>,
}

/// The required end of a run of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Verdicts may be given; intervals cover the truth.
    Covered,
    /// The processes have no common level, so no verdict may be given.
    NoVerdict,
    /// Rarer than this many processes can show: the comparison reports that.
    TooRare,
}

/// One run of a scenario: its comparison of `b` with `a`.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Comparison {
    if let Some(nodes) = scenario.nodes {
        return merged(scenario, nodes, seed).cases[0].comparisons[0].clone();
    }
    let suite = suite(scenario.settings);
    let mut noise = Noise::new(seed);
    let machine = (scenario.machine)(&mut noise, suite.warm.most_processes);
    let mut records: Vec<RawRecord> = Vec::new();
    let mut examined: [Vec<Sample>; 2] = [Vec::new(), Vec::new()];
    for round in 1..=suite.warm.most_processes {
        for (arm, taken) in [Arm::A, Arm::B].into_iter().zip(&mut examined) {
            let slowness = machine[usize::try_from(round - 1).expect("there are few rounds")];
            let mut process = Process { arm, machine: slowness, noise: &mut noise };
            let calls = (scenario.calls)(&mut process);
            let record = record(&mut records, arm, round, &calls);
            taken.push(sample(record.clone(), Regime::Warm, &suite));
            records.push(record);
        }
        // Like the engine: from the smallest number on, after every block of two rounds.
        let asks = round >= suite.warm.processes && round % 2 == 0;
        if asks && is_narrow_enough(&examined, suite.target_of(&suite.cases[0])) {
            break;
        }
    }
    let document = rebuild(&origin(), &suite, None, records);
    document.cases[0].comparisons[0].clone()
}

/// The merged result of a scenario's nodes.
pub(crate) fn merged(scenario: &Scenario, nodes: Nodes, seed: u64) -> RunDocument {
    let settings = format!("processes = {0}\nmost-processes = {0}", nodes.rounds);
    let suite = suite(&settings);
    let mut noise = Noise::new(seed);
    let (mut records, mut shards, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for node in 0..nodes.count {
        let busy = nodes.busy == Some(node);
        let level = (nodes.level * noise.normal()).exp() * if busy { 1.3 } else { 1.0 };
        let ratio = (nodes.ratio * noise.normal()).exp();
        let mut shard: Vec<RawRecord> = Vec::new();
        let more = if node == 0 { nodes.more_on_the_first } else { 0 };
        for round in 1..=nodes.rounds + more {
            for arm in [Arm::A, Arm::B] {
                let machine = if arm == Arm::B { level * ratio } else { level };
                let mut process = Process { arm, machine, noise: &mut noise };
                let calls = (scenario.calls)(&mut process);
                let record = record(&mut shard, arm, round, &calls);
                shard.push(record);
            }
        }
        counts.push(u32::try_from(shard.len()).expect("there are few processes"));
        let load = if busy { 9.0 } else { 0.1 };
        let before = MachineState {
            cores: Some(2),
            load: Some(LoadAverages { one: load, five: load, fifteen: load }),
            ..MachineState::default()
        };
        let origin = Origin { node: Some(format!("n{node}")), before, ..origin() };
        shards.push(manifest(&format!("shard {node}"), origin));
        records.extend(shard);
    }
    let whole = shards::origin(&shards, &counts, Vec::new()).expect("there are shards");
    shards::rebuild(&manifest("merged", whole), &shards, &suite, records)
        .expect("all processes are complete")
}

fn manifest(id: &str, origin: Origin) -> Manifest {
    Manifest {
        schema: Manifest::schema_id(),
        id: Some(id.to_owned()),
        origin,
        after: None,
        lock: None,
        recomputed: None,
        sealed: None,
        privacy: None,
        files: Vec::new(),
    }
}

fn suite(settings: &str) -> SuiteFile {
    let text = format!(
        "name = \"fake\"\nregimes = [\"warm\"]\n[comparison]\ncontrol = false\n[warm]\n{settings}\n\
         [[case]]\nname = \"case\"\n[[arm]]\nname = \"a\"\ncommand = [\"x\"]\n\
         [[arm]]\nname = \"b\"\ncommand = [\"x\"]\n"
    );
    SuiteFile::parse(&text).expect("the fake suite is valid")
}

fn record(records: &mut [RawRecord], arm: Arm, round: u32, calls: &[f64]) -> RawRecord {
    let name = if arm == Arm::A { "a" } else { "b" };
    let subject = Subject {
        case: "case".to_owned(),
        arm: name.to_owned(),
        regime: Some(Regime::Warm),
        round: Some(round),
        again: false,
    };
    let number = u32::try_from(records.len() + 1).expect("there are few processes");
    RawRecord { subject: Some(subject), sample: raw(number, calls) }
}

/// A process whose measured calls took exactly these times.
fn raw(number: u32, calls: &[f64]) -> RawSample {
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
    let said = |json| serde_json::from_value(json).expect("the message is valid");
    let hello = json!({"type": "hello", "protocol": {"major": 1, "minor": 1}, "role": "runner",
        "pid": 1, "language": "python", "runtime": "x", "executable": null, "started": null,
        "at": 3_000});
    let output = json!({"type": "output", "check": "passed", "digest": "sha256:1",
        "leaves": [{"dtype": "float32", "digest": "1", "shape": [], "norm": 1.0, "values": [1.0]}]});
    let window = Message::Iterations(Iterations::single(Part::Window, true, spans));
    RawSample {
        number,
        role: SampleRole::Measured,
        started: String::new(),
        spawn: Moment(0),
        exec: Moment(MS),
        reaped: Moment(at + 1_000 * MS),
        outcome: Outcome::Completed,
        messages: vec![said(hello), window, said(output)],
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

fn origin() -> Origin {
    let build = Build::new("0", None);
    Origin {
        created: String::new(),
        suite: "fake".to_owned(),
        suite_digest: String::new(),
        firstlight: Harness { build, dirty: None, binary_sha256: None },
        argv: Vec::new(),
        choice: Choice::default(),
        defaults: DEFAULTS,
        variables: BTreeMap::new(),
        machine: Machine { cpu: None, cores: None, memory_bytes: None, kernel: None },
        before: MachineState::default(),
        environment: EnvironmentRecord {
            kind: EnvironmentKind::NotNeeded,
            python: None,
            lock_digest: None,
            installer: None,
            packages: BTreeMap::new(),
        },
        boot: None,
        node: None,
        suite_changes: Vec::new(),
        segments: Vec::new(),
        shards: Vec::new(),
    }
}

/// The outcomes of many runs of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// With a valid interval, whatever the verdict.
    pub(crate) intervals: u32,
    pub(crate) covered: u32,
    /// Called faster or slower although the truth lies within the margin, or on the other side.
    pub(crate) wrong: u32,
    pub(crate) decided: u32,
    pub(crate) equivalent: u32,
    pub(crate) refused: u32,
    pub(crate) pairs: u32,
}

impl Tally {
    pub(crate) fn new(scenario: &Scenario, runs: u32) -> Self {
        let mut tally = Self::default();
        for seed in 0..runs {
            tally.add(&run(scenario, u64::from(seed)), scenario.truth);
        }
        tally
    }

    fn add(&mut self, comparison: &Comparison, truth: f64) {
        if comparison.verdict == Verdict::Invalid {
            self.refused += 1;
            return;
        }
        let Some(interval) = comparison.ratio.and_then(|ratio| ratio.interval) else { return };
        self.intervals += 1;
        self.pairs += comparison.ratio.map_or(0, |ratio| ratio.n);
        self.covered += u32::from((interval.low..=interval.high).contains(&truth));
        let edge = 1.0 + comparison.margin;
        match comparison.verdict {
            Verdict::Faster | Verdict::Slower => {
                self.decided += 1;
                let right = match comparison.verdict {
                    Verdict::Faster => truth < 1.0 / edge,
                    _ => truth > edge,
                };
                self.wrong += u32::from(!right);
            }
            Verdict::Equivalent => self.equivalent += 1,
            _ => {}
        }
    }
}
