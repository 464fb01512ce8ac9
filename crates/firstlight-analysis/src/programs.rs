//! Which programs were compiled, and how long each stage of each took.

use std::collections::{BTreeMap, BTreeSet};

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Event, Message};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::ArmResult;
use firstlight_schema::sample::Compile;

use crate::ledger::book;
use crate::timeline::{Stretch, Timeline};

const TORCH: &str = "torch";

/// A program with when its compilation ended and which arguments were new.
pub(crate) struct TimedProgram {
    pub(crate) end: Moment,
    pub(crate) changed: Option<String>,
    /// Of all argument types.
    pub(crate) digest: Option<String>,
    pub(crate) compile: Compile,
}

/// All programs in the order in which their compilation ended.
pub(crate) fn programs(timeline: &Timeline) -> Vec<TimedProgram> {
    let mut programs: Vec<TimedProgram> = timeline
        .stretches
        .iter()
        .enumerate()
        .filter_map(|(index, stretch)| {
            let program = if framework(stretch) == Some(TORCH) {
                torch_program(timeline, stretch)
            } else {
                staged_program(&timeline.stretches[..index], stretch)
            };
            let changed = stretch.detail.as_ref().and_then(|detail| detail.changed.clone());
            let digest = stretch.detail.as_ref().and_then(|detail| detail.digest.clone());
            Some(TimedProgram { end: stretch.span.end, changed, digest, compile: program? })
        })
        .collect();
    programs.sort_by_key(|program| program.end);
    programs
}

/// Functions whose compiled programs are not the same in every process of an arm.
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

/// A framework that traces, lowers and compiles one function after the other, such as JAX: the
/// compile stretch is the program, and its nearest earlier trace and lowering belong to it.
fn staged_program(earlier: &[Stretch], compile: &Stretch) -> Option<Compile> {
    if !matches!(compile.span.phase, Phase::Compile | Phase::CacheRead) {
        return None;
    }
    let detail = compile.detail.as_ref()?;
    let label = compile.span.label.as_deref()?;
    let stage = |phase| {
        earlier
            .iter()
            .rev()
            .filter(|stretch| {
                stretch.thread == compile.thread && stretch.span.end <= compile.span.begin
            })
            // An earlier program of the same name has its own stages before it.
            .take_while(|stretch| !is_program_of(stretch, label))
            .find(|stretch| stretch.span.phase == phase && is_about(stretch, label))
            .map(length)
    };
    Some(Compile {
        function: label.to_owned(),
        signature: detail.signature.clone(),
        framework: detail.framework.clone(),
        trace_ns: stage(Phase::Trace),
        lower_ns: stage(Phase::Lower),
        compile_ns: Some(length(compile)),
        cache: detail.cache,
        thread: compile.thread,
    })
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

/// torch.compile nests its stages in one stretch, which is the program; each instant of it counts
/// for the innermost stage.
fn torch_program(timeline: &Timeline, whole: &Stretch) -> Option<Compile> {
    let detail = whole.detail.as_ref()?;
    let inside: Vec<_> = timeline
        .stretches
        .iter()
        .filter(|stretch| stretch.thread == whole.thread)
        .filter(|stretch| {
            stretch.span.begin >= whole.span.begin && stretch.span.end <= whole.span.end
        })
        .map(|stretch| stretch.span.clone())
        .collect();
    let ledger = book(whole.span.begin, whole.span.end, &inside);
    let stage = |phase| ledger.iter().find(|row| row.name == phase).map(|row| row.ns);
    Some(Compile {
        function: detail.function.clone()?,
        signature: detail.signature.clone(),
        framework: detail.framework.clone(),
        trace_ns: stage(Phase::Trace),
        lower_ns: stage(Phase::Lower),
        compile_ns: stage(Phase::Compile),
        cache: detail.cache,
        thread: whole.thread,
    })
}

fn length(stretch: &Stretch) -> Nanos {
    stretch.span.end.since(stretch.span.begin)
}

#[cfg(test)]
mod tests {
    use super::inner_name;

    #[test]
    fn a_wrapper_is_taken_off_a_name_but_a_name_with_parentheses_stays() {
        assert_eq!(inner_name("jit(step)"), "step");
        assert_eq!(inner_name("pmap(step)"), "step");
        assert_eq!(inner_name("step"), "step");
        assert_eq!(inner_name("<lambda>"), "<lambda>");
        assert_eq!(inner_name("jit(<lambda>)"), "<lambda>");
    }
}
