//! The compiled programs, and the time of each of their stages.

use std::collections::{BTreeMap, BTreeSet};

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Event, Message};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::ArmResult;
use firstlight_schema::sample::Compile;

use crate::ledger::{Span, owners};
use crate::timeline::{Stretch, Timeline};

const TORCH: &str = "torch";

/// A program with the end of its compilation and its new arguments.
pub(crate) struct TimedProgram {
    pub(crate) end: Moment,
    pub(crate) changed: Option<String>,
    /// Of all argument types.
    pub(crate) digest: Option<String>,
    pub(crate) compile: Compile,
}

/// All programs in the order in which their compilation ended.
///
/// Stages are exclusive: each instant of a thread belongs to the innermost interval on it, and counts for the
/// program with that stage. An interval of compiling that is not a stage of another program, such as the
/// trace of a function inside another one, counts for the program around it. Other phases, such as starting a
/// device, count for no program.
pub(crate) fn programs(timeline: &Timeline) -> Vec<TimedProgram> {
    let stretches = &timeline.stretches;
    let mut owner: Vec<Option<Stage>> = vec![None; stretches.len()];
    let mut found: Vec<usize> = Vec::new();
    for (index, stretch) in stretches.iter().enumerate() {
        if framework(stretch) == Some(TORCH) {
            owner[index] = Some(Stage { program: index, phase: stretch.span.phase });
        } else if is_program(stretch) {
            owner[index] = Some(Stage { program: index, phase: Phase::Compile });
            for phase in [Phase::Trace, Phase::Lower] {
                if let Some(stage) = stage_of(&stretches[..index], stretch, phase) {
                    owner[stage] = Some(Stage { program: index, phase });
                }
            }
        } else {
            continue;
        }
        found.push(index);
    }
    let times = exclusive(stretches, &owner);
    let mut programs: Vec<TimedProgram> = found
        .into_iter()
        .filter_map(|index| {
            let time = |phase| times.get(&Stage { program: index, phase }).copied();
            timed_program(&stretches[index], time)
        })
        .collect();
    programs.sort_by_key(|program| program.end);
    programs
}

fn timed_program(stretch: &Stretch, time: impl Fn(Phase) -> Option<Nanos>) -> Option<TimedProgram> {
    let detail = stretch.detail.as_ref()?;
    Some(TimedProgram {
        end: stretch.span.end,
        changed: detail.changed.clone(),
        digest: detail.digest.clone(),
        compile: Compile {
            function: detail.function.clone().or_else(|| stretch.span.label.clone())?,
            signature: detail.signature.clone(),
            framework: detail.framework.clone(),
            trace_ns: time(Phase::Trace),
            lower_ns: time(Phase::Lower),
            compile_ns: time(Phase::Compile),
            cache: detail.cache,
            thread: stretch.thread,
            cause: detail.cause.clone(),
            source: detail.source.clone(),
            op_by_op: detail.op_by_op == Some(true),
        },
    })
}

/// A stage of the program with this index among the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stage {
    program: usize,
    phase: Phase,
}

/// The time for which each stage of each program was the innermost interval on its thread.
fn exclusive(stretches: &[Stretch], owner: &[Option<Stage>]) -> BTreeMap<Stage, Nanos> {
    let mut times = BTreeMap::new();
    let threads: BTreeSet<u32> = stretches.iter().map(|stretch| stretch.thread).collect();
    for thread in threads {
        let places: Vec<usize> =
            (0..stretches.len()).filter(|&i| stretches[i].thread == thread).collect();
        let spans: Vec<Span> = places.iter().map(|&i| stretches[i].span.clone()).collect();
        // The spans of programs so far; other spans are skipped when searching for the surrounding program.
        let mut programs: Vec<(&Span, Stage)> = Vec::new();
        let mut stages: Vec<Option<Stage>> = Vec::with_capacity(places.len());
        for (span, &place) in spans.iter().zip(&places) {
            stages.push(owner[place].or_else(|| inherited(span, &programs)));
            programs.extend(owner[place].map(|stage| (span, stage)));
        }
        for (span, length) in owners(&spans) {
            if let Some(stage) = stages[span] {
                *times.entry(stage).or_insert(Nanos::ZERO) += length;
            }
        }
    }
    times
}

/// The stage of the surrounding program to which an interval of compiling without its own program belongs.
fn inherited(inner: &Span, programs: &[(&Span, Stage)]) -> Option<Stage> {
    if !inner.phase.is_compilation() {
        return None;
    }
    let is_around = |outer: &Span| outer.begin <= inner.begin && outer.end >= inner.end;
    let (_, around) = programs.iter().rev().find(|(span, _)| is_around(span))?;
    Some(Stage { program: around.program, phase: inner.phase })
}

/// Functions whose compiled programs differ between processes of an arm.
pub(crate) fn nondeterministic(arm: &ArmResult) -> Option<Reason> {
    let samples = arm.regimes.iter().flat_map(|regime| &regime.samples);
    let mut known: BTreeMap<(&str, Option<&str>), BTreeSet<BTreeSet<&str>>> = BTreeMap::new();
    let mut processes = 0;
    for sample in samples {
        let mut programs: BTreeMap<(&str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
        for message in &sample.raw.messages {
            if let Message::Event(event) = message
                && let Event::ProgramHash(program) = &event.event
            {
                let key = (program.function.as_str(), program.digest.as_deref());
                programs.entry(key).or_default().insert(&program.hash);
            }
        }
        processes += usize::from(!programs.is_empty());
        for (key, hashes) in programs {
            known.entry(key).or_default().insert(hashes);
        }
    }
    let differing: Vec<_> = known.iter().filter(|(_, programs)| programs.len() > 1).collect();
    let ((function, _), programs) = differing.first()?;
    let text = format!(
        "{function} became {} different programs in {processes} processes{}",
        programs.len(),
        if differing.len() > 1 {
            format!(", and {} more did", differing.len() - 1)
        } else {
            String::new()
        },
    );
    Some(Reason::new(Finding::NondeterministicCompile, text))
}

fn framework(stretch: &Stretch) -> Option<&str> {
    stretch.detail.as_ref()?.framework.as_deref()
}

/// A framework that traces, lowers and compiles one function after the other, such as JAX: the compile
/// interval is the program.
fn is_program(stretch: &Stretch) -> bool {
    let compiles = matches!(stretch.span.phase, Phase::Compile | Phase::CacheRead);
    compiles && stretch.detail.is_some() && stretch.span.label.is_some()
}

/// The nearest earlier trace or lowering of the program.
fn stage_of(earlier: &[Stretch], compile: &Stretch, phase: Phase) -> Option<usize> {
    let label = compile.span.label.as_deref()?;
    earlier
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, stretch)| {
            stretch.thread == compile.thread && stretch.span.end <= compile.span.begin
        })
        // An earlier program of the same name has its stages before it.
        .take_while(|(_, stretch)| !is_program_of(stretch, label))
        .find(|(_, stretch)| stretch.span.phase == phase && is_about(stretch, label))
        .map(|(index, _)| index)
}

fn is_program_of(stretch: &Stretch, label: &str) -> bool {
    matches!(stretch.span.phase, Phase::Compile | Phase::CacheRead) && is_about(stretch, label)
}

/// JAX traces `step` and then lowers and compiles `jit(step)`.
fn is_about(stretch: &Stretch, label: &str) -> bool {
    stretch.span.label.as_deref().is_some_and(|name| inner_name(name) == inner_name(label))
}

fn inner_name(label: &str) -> &str {
    label
        .split_once('(')
        .and_then(|(wrapper, rest)| {
            let plain = wrapper.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if plain { rest.strip_suffix(')') } else { None }
        })
        .unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use super::inner_name;

    #[test]
    fn a_wrapper_is_removed_from_a_name_but_a_name_with_parentheses_stays() {
        assert_eq!(inner_name("jit(step)"), "step");
        assert_eq!(inner_name("pmap(step)"), "step");
        assert_eq!(inner_name("step"), "step");
        assert_eq!(inner_name("<lambda>"), "<lambda>");
        assert_eq!(inner_name("jit(<lambda>)"), "<lambda>");
    }
}
