//! The largest parts of a cold start, in one to four lines: each a finding with its number and its share.
//!
//! All numbers are means over the processes, from the ledger shown above the lines: up to the first result if
//! every process marks one, otherwise of the whole process.

use std::collections::BTreeMap;

use firstlight_schema::diagnosis::Diagnosis;
use firstlight_schema::finding::Finding;
use firstlight_schema::message::{CacheAnswer, Event, Message};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::ArmResult;
use firstlight_schema::sample::{Compile, PhaseTime, Sample};
use firstlight_schema::suite::Regime;

use crate::notices::sources;
use crate::programs::programs;
use crate::stats::count;
use crate::timeline::Timeline;

const MOST_LINES: usize = 4;
/// Parts with a smaller share get no line.
const WORTH_A_LINE: f64 = 0.05;
/// Device start-up and exit get a line from this share on, because neither is easily changed.
const WORTH_A_LINE_ALONE: f64 = 0.1;
/// Fewer operations compiled one by one get no line.
const FEWEST_OPERATIONS: usize = 3;
/// A phase needs no line if other lines explain this share of it.
const EXPLAINED: f64 = 0.5;
/// Packages that the measurement cannot do without.
const FRAMEWORKS: [&str; 7] =
    ["jax", "jaxlib", "torch", "numba", "llvmlite", "numpy", "standard library"];

/// The lines about these samples, the most expensive first; empty if no process completed.
pub fn diagnose(samples: &[Sample]) -> Vec<Diagnosis> {
    let Some(start) = Start::new(samples) else { return Vec::new() };
    let mut lines: Vec<Diagnosis> = start.recompiled();
    lines.extend(start.op_by_op());
    lines.extend(start.cache_unused());
    lines.extend(start.imports());
    lines.extend(start.bytecode());
    lines.extend(start.waiting());
    lines.extend(start.launcher());
    lines.extend(start.device_init());
    lines.extend(start.exit());
    lines.sort_by(|a, b| b.cost_ns.total_cmp(&a.cost_ns));
    lines.truncate(MOST_LINES);
    if lines.len() < MOST_LINES {
        lines.extend(start.largest_phase(&lines));
        lines.sort_by(|a, b| b.cost_ns.total_cmp(&a.cost_ns));
    }
    lines
}

/// The saving of a primed cache, if both regimes were measured and their intervals do not overlap.
fn primed_saves(arm: &ArmResult) -> Option<Diagnosis> {
    let select = |regime: Regime| {
        let found = arm.regimes.iter().find(|known| known.regime == regime)?;
        let summary = found.summary.as_ref()?;
        Some(summary.first_result.unwrap_or(summary.wall))
    };
    let (clean, primed) = (select(Regime::ColdClean)?, select(Regime::ColdPrimed)?);
    let (saved, apart) = (clean.point - primed.point, clean.interval?.low > primed.interval?.high);
    let share = saved / clean.point;
    (apart && share >= WORTH_A_LINE).then(|| Diagnosis {
        finding: Finding::PrimedCacheSaves,
        what: "a primed compilation cache saves".to_owned(),
        cost_ns: saved,
        share,
        cause: None,
        action: advice(Finding::CompilationCacheUnused),
    })
}

/// Puts the saving of a primed cache first in an arm's cold start, replacing the estimated saving.
pub fn compare_regimes(arm: &mut ArmResult) {
    let Some(line) = primed_saves(arm) else { return };
    let clean = arm.regimes.iter_mut().find(|known| known.regime == Regime::ColdClean);
    let lines = &mut clean.expect("the regimes were compared").diagnosis;
    lines.retain(|line| line.finding != Finding::CompilationCacheUnused);
    lines.truncate(MOST_LINES - 1);
    lines.insert(0, line);
}

fn advice(finding: Finding) -> Option<String> {
    finding.advice().map(str::to_owned)
}

/// Several starts of one command, up to the end of their ledgers.
struct Start<'a> {
    samples: Vec<&'a Sample>,
    /// Programs that were compiled before the end, sample by sample.
    programs: Vec<Vec<Compile>>,
    /// The mean length of a ledger.
    whole: f64,
}

impl<'a> Start<'a> {
    fn new(samples: &'a [Sample]) -> Option<Self> {
        let failed = |sample: &Sample| sample.reasons.iter().any(|one| one.finding.is_failure());
        let any_valid = samples.iter().any(|sample| sample.valid);
        let samples: Vec<&Sample> = samples
            .iter()
            .filter(|sample| if any_valid { sample.valid } else { !failed(sample) })
            .collect();
        let whole = mean(samples.iter().map(|sample| sum(ledger(sample))))?;
        let programs = samples.iter().map(|sample| compiled(sample)).collect();
        (whole > 0.0).then_some(Self { samples, programs, whole })
    }

    /// A line with this mean cost, if its share is large enough.
    fn line(&self, finding: Finding, what: String, cost_ns: f64, least: f64) -> Option<Diagnosis> {
        let share = cost_ns / self.whole;
        (share >= least).then_some(Diagnosis {
            finding,
            what,
            cost_ns,
            share,
            cause: None,
            action: None,
        })
    }

    fn mean_of(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        mean(self.samples.iter().map(|sample| value(sample))).unwrap_or(0.0)
    }

    fn phase(&self, phase: Phase) -> f64 {
        self.mean_of(|sample| row(sample, phase).map_or(0.0, |row| row.ns.as_f64()))
    }

    /// The largest part of a phase over all samples, with its mean.
    fn largest_part(&self, phase: Phase) -> Option<(String, f64)> {
        let mut parts: BTreeMap<&str, f64> = BTreeMap::new();
        for part in self.samples.iter().filter_map(|one| row(one, phase)).flat_map(|r| &r.parts) {
            *parts.entry(&part.name).or_default() += part.ns.as_f64();
        }
        let (name, sum) = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((name.to_owned(), sum / count(self.samples.len())))
    }

    /// The mean time over the samples of the chosen programs, and their number.
    fn compiling(&self, chosen: impl Fn(&Compile) -> bool) -> (f64, f64) {
        let select = |programs: &Vec<Compile>| -> (f64, f64) {
            let chosen = programs.iter().filter(|program| chosen(program));
            chosen.fold((0.0, 0.0), |(ns, n), program| (ns + cost(program), n + 1.0))
        };
        let found: Vec<(f64, f64)> = self.programs.iter().map(select).collect();
        let means = |value: fn(&(f64, f64)) -> f64| mean(found.iter().map(value)).unwrap_or(0.0);
        (means(|one| one.0), means(|one| one.1))
    }

    /// Functions that were compiled more than once in a process.
    fn recompiled(&self) -> Vec<Diagnosis> {
        let mut functions: Vec<&str> = Vec::new();
        for program in self.programs.iter().flatten().filter(|program| !program.op_by_op) {
            if program.cause.is_some() && !functions.contains(&program.function.as_str()) {
                functions.push(&program.function);
            }
        }
        let line = |function: &&str| {
            let is_it = |program: &Compile| program.function == **function && !program.op_by_op;
            let (ns, times) = self.compiling(is_it);
            let mut causes = self.programs.iter().flatten().filter(|program| is_it(program));
            let cause = causes.find_map(|program| program.cause.clone());
            let often = if times < 2.5 { "twice".to_owned() } else { format!("{times:.0} times") };
            let what = format!("{function} compiled {often}");
            let line = self.line(Finding::Recompiled, what, ns, WORTH_A_LINE)?;
            let action = cause.as_ref().filter(|why| why.contains("new function object"));
            let action = action.map(|_| "create the jitted function once and keep it".to_owned());
            Some(Diagnosis { cause, action, ..line })
        };
        functions.iter().filter_map(line).collect()
    }

    /// Single operations that were compiled outside any jitted function.
    fn op_by_op(&self) -> Option<Diagnosis> {
        let (ns, operations) = self.compiling(|program| program.op_by_op);
        let (_, all) = self.compiling(|_| true);
        if operations < count(FEWEST_OPERATIONS) {
            return None;
        }
        let what = format!("{operations:.0} of {all:.0} programs ran op by op");
        let line = self.line(Finding::OpByOp, what, ns, WORTH_A_LINE)?;
        let mut sources: BTreeMap<&str, f64> = BTreeMap::new();
        for program in self.programs.iter().flatten().filter(|program| program.op_by_op) {
            if let Some(source) = &program.source {
                *sources.entry(source).or_default() += cost(program);
            }
        }
        let most = sources.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let cause = most.map(|(source, _)| format!("most expensive at {source}"));
        Some(Diagnosis { cause, action: advice(Finding::OpByOp), ..line })
    }

    /// Programs that were compiled without asking a cache on disk.
    fn cache_unused(&self) -> Option<Diagnosis> {
        let actions = [
            ("jax", "JAX", advice(Finding::CompilationCacheUnused)),
            ("numba", "Numba", Some("pass `cache=True` to `numba.jit`".to_owned())),
        ];
        let line = |(framework, name, action): (&str, &str, Option<String>)| {
            let unasked = |program: &Compile| {
                program.framework.as_deref() == Some(framework)
                    && program.cache == Some(CacheAnswer::Off)
            };
            let ns = self.mean_over_programs(unasked, |program| program.compile_ns);
            let what = format!("{name} compiles without a compilation cache");
            let line = self.line(Finding::CompilationCacheUnused, what, ns, WORTH_A_LINE)?;
            Some(Diagnosis { action, ..line })
        };
        actions.into_iter().find_map(line)
    }

    fn mean_over_programs(
        &self,
        chosen: impl Fn(&Compile) -> bool,
        stage: impl Fn(&Compile) -> Option<Nanos>,
    ) -> f64 {
        let select = |programs: &Vec<Compile>| -> f64 {
            let chosen = programs.iter().filter(|program| chosen(program));
            chosen.filter_map(&stage).map(Nanos::as_f64).sum()
        };
        mean(self.programs.iter().map(select)).unwrap_or(0.0)
    }

    /// Packages that the program imports itself, without the frameworks that they import in turn.
    fn imports(&self) -> Vec<Diagnosis> {
        let mut packages: BTreeMap<String, f64> = BTreeMap::new();
        for sample in &self.samples {
            for (package, ns) in imported(sample) {
                *packages.entry(package).or_default() += ns / count(self.samples.len());
            }
        }
        let line = |(package, ns): (String, f64)| {
            let what = format!("importing {package}");
            let line = self.line(Finding::SlowImport, what, ns, WORTH_A_LINE)?;
            Some(Diagnosis { action: advice(Finding::SlowImport), ..line })
        };
        packages.into_iter().filter_map(line).collect()
    }

    fn bytecode(&self) -> Option<Diagnosis> {
        let found: Vec<(u64, Nanos)> = self.samples.iter().map(|sample| sources(sample)).collect();
        let ns = mean(found.iter().map(|(_, spent)| spent.as_f64()))?;
        let most = found.iter().map(|(modules, _)| *modules).max().unwrap_or(0);
        let what = format!("{most} modules were compiled from source");
        let line = self.line(Finding::BytecodeNotCached, what, ns, WORTH_A_LINE)?;
        let recorded =
            self.samples.iter().flat_map(|sample| &sample.raw.messages).find_map(|message| {
                match message {
                    Message::Event(event) => match &event.event {
                        Event::NoBytecode(recorded) => Some(recorded.why.clone()),
                        _ => None,
                    },
                    _ => None,
                }
            });
        let compiling = found.iter().filter(|(modules, _)| *modules * 2 > most).count();
        let cause = recorded.unwrap_or_else(|| match (compiling, found.len()) {
            (1, n) if n > 1 => format!("in one of {n} processes only; the others found byte code"),
            _ => "their byte code is not on disk".to_owned(),
        });
        Some(Diagnosis { cause: Some(cause), ..line })
    }

    fn waiting(&self) -> Option<Diagnosis> {
        let (command, _) = self.largest_part(Phase::Children)?;
        let what = format!("waiting for `{command}`");
        let ns = self.phase(Phase::Children);
        let line = self.line(Finding::ChildrenNotSeen, what, ns, WORTH_A_LINE)?;
        let cause = Some("its phases are not seen".to_owned());
        Some(Diagnosis { cause, action: advice(Finding::ChildrenNotSeen), ..line })
    }

    fn launcher(&self) -> Option<Diagnosis> {
        let what = "programs around the interpreter".to_owned();
        let ns = self.phase(Phase::Launcher);
        let line = self.line(Finding::SlowLauncher, what, ns, WORTH_A_LINE)?;
        Some(Diagnosis { action: advice(Finding::SlowLauncher), ..line })
    }

    fn device_init(&self) -> Option<Diagnosis> {
        let (framework, _) = self.largest_part(Phase::DeviceInit)?;
        let what = format!("starting the backend of {framework}");
        let ns = self.phase(Phase::DeviceInit);
        self.line(Finding::SlowDeviceInit, what, ns, WORTH_A_LINE_ALONE)
    }

    fn exit(&self) -> Option<Diagnosis> {
        let ns = self.phase(Phase::Teardown);
        let what = "exiting after the program's own code".to_owned();
        let line = self.line(Finding::SlowExit, what, ns, WORTH_A_LINE_ALONE)?;
        let (part, own) = self.largest_part(Phase::Teardown)?;
        let cause = Some(format!("{:.0} % of it in {part}", own / ns * 100.0));
        Some(Diagnosis { cause, ..line })
    }

    /// The largest phase, unless the lines above explain it.
    fn largest_phase(&self, lines: &[Diagnosis]) -> Option<Diagnosis> {
        let (phase, ns) = Phase::ALL
            .into_iter()
            .map(|phase| (phase, self.phase(phase)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let about = |line: &&Diagnosis| explains(line.finding, phase);
        let explained: f64 = lines.iter().filter(about).map(|line| line.cost_ns).sum();
        if explained >= EXPLAINED * ns {
            return None;
        }
        let line = self.line(Finding::LargestPhase, doing(phase).to_owned(), ns, 0.0)?;
        let part = self.largest_part(phase).filter(|(_, own)| *own >= WORTH_A_LINE * self.whole);
        let cause = part.map(|(name, own)| {
            format!("largest part {name}, {:.0} % of the total", own / self.whole * 100.0)
        });
        Some(Diagnosis { cause, ..line })
    }
}

/// Whether a line with this finding is about a phase.
fn explains(finding: Finding, phase: Phase) -> bool {
    match finding {
        Finding::Recompiled | Finding::OpByOp => phase.is_compilation(),
        Finding::CompilationCacheUnused => phase == Phase::Compile,
        Finding::SlowImport | Finding::BytecodeNotCached => phase == Phase::Import,
        Finding::ChildrenNotSeen => phase == Phase::Children,
        Finding::SlowLauncher => phase == Phase::Launcher,
        Finding::SlowDeviceInit => phase == Phase::DeviceInit,
        Finding::SlowExit => phase == Phase::Teardown,
        _ => false,
    }
}

/// The work of a process in a phase.
fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Spawn => "starting the process",
        Phase::Launcher => "programs around the interpreter",
        Phase::Interpreter => "starting the interpreter",
        Phase::Probe => "firstlight's own hooks",
        Phase::Import => "importing modules",
        Phase::DeviceInit => "starting devices",
        Phase::Setup => "the workload's setup",
        Phase::Trace => "tracing functions",
        Phase::Lower => "lowering functions",
        Phase::Compile => "compiling functions",
        Phase::CacheRead => "reading compiled programs from a cache",
        Phase::CacheWrite => "writing compiled programs to a cache",
        Phase::FirstRun => "the first run itself",
        Phase::WarmUp => "warming up",
        Phase::Window => "the measured calls",
        Phase::Run => "the program's own code",
        Phase::Children => "waiting for child processes",
        Phase::Teardown => "exiting",
        Phase::Unattributed => "time that firstlight could not attribute",
    }
}

fn ledger(sample: &Sample) -> &[PhaseTime] {
    sample.first_result.as_ref().map_or(&sample.phases, |first| &first.phases)
}

fn row(sample: &Sample, phase: Phase) -> Option<&PhaseTime> {
    ledger(sample).iter().find(|row| row.name == phase)
}

fn sum(ledger: &[PhaseTime]) -> f64 {
    ledger.iter().map(|row| row.ns.as_f64()).sum()
}

fn end(sample: &Sample) -> Moment {
    let first = sample.first_result.as_ref();
    first.map_or(sample.raw.reaped, |first| sample.raw.spawn + first.ns)
}

/// The programs of the main thread that were compiled before the ledger's end.
fn compiled(sample: &Sample) -> Vec<Compile> {
    let until = end(sample);
    let all = programs(&Timeline::new(&sample.raw)).into_iter();
    all.filter(|program| program.end <= until && program.compile.thread == 0)
        .map(|program| program.compile)
        .collect()
}

fn cost(program: &Compile) -> f64 {
    let stages = [program.trace_ns, program.lower_ns, program.compile_ns];
    stages.into_iter().flatten().map(Nanos::as_f64).sum()
}

/// The time of each package that the program itself imports: its segments without those of frameworks.
fn imported(sample: &Sample) -> Vec<(String, f64)> {
    let until = end(sample);
    let mut found: Vec<(String, f64)> = Vec::new();
    for message in &sample.raw.messages {
        let Message::Imports(imports) = message else { continue };
        let Some((package, ..)) = imports.segments.first() else { continue };
        if imports.thread != 0 || FRAMEWORKS.contains(&package.as_str()) {
            continue;
        }
        let own = imports
            .segments
            .iter()
            .filter(|(name, begin, _)| !FRAMEWORKS.contains(&name.as_str()) && *begin <= until);
        let ns = own.map(|(_, begin, end)| end.since(*begin).as_f64()).sum();
        found.push((package.clone(), ns));
    }
    found
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}
