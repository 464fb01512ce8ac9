//! Which programs were compiled, and how long each stage of each took.

use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::sample::Compile;

use crate::ledger::book;
use crate::timeline::{Stretch, Timeline};

const TORCH: &str = "torch";

/// All programs in the order in which their compilation ended.
pub(crate) fn compiles(timeline: &Timeline) -> Vec<Compile> {
    let mut programs: Vec<(Moment, Compile)> = timeline
        .stretches
        .iter()
        .enumerate()
        .filter_map(|(index, stretch)| {
            let program = if framework(stretch) == Some(TORCH) {
                torch_program(timeline, stretch)
            } else {
                staged_program(&timeline.stretches[..index], stretch)
            };
            Some((stretch.span.end, program?))
        })
        .collect();
    programs.sort_by_key(|&(end, _)| end);
    programs.into_iter().map(|(_, program)| program).collect()
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
