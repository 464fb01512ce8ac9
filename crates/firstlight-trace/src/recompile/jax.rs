//! JAX: a function's programs are identified by their module's name, sorted by their first run, and have
//! their signatures from the HLO in the trace.

use std::collections::BTreeMap;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Cause, CauseKind, Compilation, Turn};
use rustc_hash::FxHashMap;

use super::diff::{Argument, diff, first_use, is_open, same, unknown};
use super::jax_log::JaxLog;
use super::{Timed, served};
use crate::attribute::{Attribution, Compile};
use crate::model::{Detail, Program as Code, Trace};

/// The times of each program's runs; one of its many operators per compilation is enough.
pub(super) struct Runs {
    /// Starts of the compilations.
    marks: Vec<i64>,
    programs: FxHashMap<i64, Program>,
}

/// Events of one program on one line, without a compilation between them.
struct Stretch {
    id: i64,
    /// The number of compilations that begin before them, and the start of the next one.
    between: usize,
    until: i64,
    first: i64,
    last: i64,
}

/// The runs of a program.
struct Program {
    first: i64,
    /// The last start between two compilations, by the number of compilations before it.
    last: BTreeMap<usize, i64>,
}

impl Runs {
    pub(super) fn new(found: &Attribution) -> Self {
        let marks = found.compiles.iter().map(|compile| compile.span.0).collect();
        Self { marks, programs: FxHashMap::default() }
    }

    pub(super) fn feed(&mut self, piece: &Trace) {
        if self.marks.is_empty() {
            return;
        }
        for line in &piece.lines {
            // Consecutive events of one program are recorded together.
            let mut stretch: Option<Stretch> = None;
            for index in 0..line.events.len() {
                let Detail::Program { id: Some(id), .. } = *piece.detail(line, index) else {
                    continue;
                };
                let start = line.events.start[index];
                match &mut stretch {
                    Some(own) if own.id == id && start < own.until => own.last = start,
                    other => {
                        let between = self.marks.partition_point(|&mark| mark <= start);
                        let until = self.marks.get(between).copied().unwrap_or(i64::MAX);
                        let next = Stretch { id, between, first: start, last: start, until };
                        if let Some(done) = other.replace(next) {
                            self.book(&done);
                        }
                    }
                }
            }
            if let Some(done) = stretch {
                self.book(&done);
            }
        }
    }

    fn book(&mut self, done: &Stretch) {
        let own = self.programs.entry(done.id);
        let own = own.or_insert_with(|| Program { first: done.first, last: BTreeMap::new() });
        own.first = own.first.min(done.first);
        let last = own.last.entry(done.between).or_insert(done.last);
        *last = done.last.max(*last);
    }

    fn first(&self, id: i64) -> i64 {
        self.programs.get(&id).map_or(i64::MAX, |own| own.first)
    }

    /// The last start before the compilation that begins at `mark`.
    fn last_before(&self, id: i64, mark: i64) -> Option<i64> {
        let own = self.programs.get(&id)?;
        own.last.values().rev().find(|start| **start < mark).copied()
    }
}

pub(super) fn explain(
    trace: &Trace,
    found: &Attribution,
    timed: Vec<Timed>,
    runs: &Runs,
    log: Option<&JaxLog>,
) -> Vec<Compilation> {
    let mut all: Vec<Compilation> = Vec::with_capacity(found.compiles.len());
    for (compile, timed) in found.compiles.iter().zip(timed) {
        let mut compilation = one(trace, found, (compile, timed), runs, &all);
        let last = all.iter().rev().find(|other| other.function == compilation.function);
        let since =
            last.map_or(i64::MIN, |last| i64::try_from(last.start_ns.0).unwrap_or(i64::MAX));
        if compilation.turn != Turn::First
            && let Some(log) = log.filter(|log| !log.is_empty())
            && let Some(began) = trace.facts.began
        {
            explain_from_log(&mut compilation, log, (since, compile.span), began);
        } else if compilation.cause.kind == CauseKind::SameSignature
            && found.cleared.iter().any(|&at| since < at && at < compile.span.0)
        {
            compilation.cause = cleared();
        }
        all.push(compilation);
    }
    all
}

/// Uses the cause from JAX's own log, if it has one.
fn explain_from_log(
    compilation: &mut Compilation,
    log: &JaxLog,
    (since, span): (i64, (i64, i64)),
    began: i64,
) {
    let Some(explained) = log.about(&compilation.function, span, began) else { return };
    let open = is_open(compilation.cause.kind);
    let unchanged = compilation.cause.kind == CauseKind::SameSignature;
    if let Some(cause) = explained.cause(unchanged) {
        // The program has the argument's number.
        if open || compilation.cause.kind != cause.kind {
            compilation.cause = cause;
        }
    } else if explained.new && log.cleared(since, span.0, began) {
        compilation.cause = cleared();
    } else if explained.new && open {
        compilation.cause = explained.new_function();
    }
}

fn cleared() -> Cause {
    let text = "the cache of compiled functions was cleared (`jax.clear_caches`)".to_owned();
    Cause { kind: CauseKind::ClearedCache, text, changes: Vec::new() }
}

fn one(
    trace: &Trace,
    found: &Attribution,
    (compile, timed): (&Compile, Timed),
    runs: &Runs,
    earlier: &[Compilation],
) -> Compilation {
    let function = compile.function.as_str();
    let of_function =
        trace.programs.iter().filter(|program| is_module_of(&program.module, function));
    let mut ids: Vec<i64> = of_function.map(|program| program.id).collect();
    ids.extend(ran_under(trace, found, function));
    let first = |id: &i64| runs.first(*id);
    // The new program is the one whose first run follows the compilation.
    let new = ids
        .iter()
        .copied()
        .filter(|id| first(id) >= compile.span.0)
        .min_by_key(|id| (first(id), *id));
    let before = |id: &i64| runs.last_before(*id, compile.span.0);
    let ran_before = ids.iter().copied().filter(|id| Some(*id) != new && before(id).is_some());
    let old = ran_before.max_by_key(before).or_else(|| {
        // Compiled before the recording began, without a run since.
        ids.iter().copied().filter(|id| new.is_some_and(|new| *id < new)).max()
    });
    let seen = earlier.iter().any(|other| other.function == compile.function);
    let turn = if old.is_some() || seen {
        Turn::Again
    } else if new.is_some() && !trace.programs.is_empty() {
        Turn::First
    } else {
        Turn::Unknown
    };
    let program = |id: i64| trace.programs.iter().find(|program| program.id == id);
    let cause = match (old.and_then(program), new.and_then(program)) {
        (Some(old), Some(new)) => match diff(&arguments(old), &arguments(new)) {
            cause if cause.kind == CauseKind::SameSignature => same(remaining(old, new)),
            cause if cause.kind == CauseKind::ArgumentCount => {
                Cause { text: format!("{}; {OTHER_COUNT}", cause.text), ..cause }
            }
            cause => cause,
        },
        _ if turn == Turn::First => first_use(),
        _ if trace.programs.is_empty() => {
            unknown("this format does not hold the programs; read the xplane.pb")
        }
        (None, _) if turn == Turn::Again => unknown("the earlier program is not in the recording"),
        _ => unknown("the program is not in the recording"),
    };
    let Timed { step, parts, duration_ns } = timed;
    Compilation {
        function: compile.function.clone(),
        step,
        start_ns: Nanos(u64::try_from(compile.span.0).unwrap_or(0)),
        duration_ns,
        parts,
        turn,
        served: served(compile),
        program: new.map(|id| id.to_string()),
        previous: old.map(|id| id.to_string()),
        cause,
    }
}

fn arguments(program: &Code) -> Vec<Argument<'_>> {
    let arguments = program.parameters.iter();
    arguments.map(|parameter| Argument { name: &parameter.name, shape: &parameter.shape }).collect()
}

/// The remaining causes if the programs use another number of arguments: a program only has those that its
/// code uses, so the caller may have passed as many as before.
const OTHER_COUNT: &str = "the cause is not in the recording; possible are a static argument or another value \
                           that decides which arguments the code uses, another number of arguments, a value \
                           that a closure holds, or a setting; `firstlight trace --record` names which";

/// The remaining causes if the arguments that both programs use are the same.
fn remaining(old: &Code, new: &Code) -> &'static str {
    if old.digest == new.digest {
        "not in the recording: the code and the arguments it uses are the same; possible are a new function \
         object (a closure, partial or lambda that is created again), an argument that the code does not use, a \
         weak type, a setting, or a cleared cache; `firstlight trace --record` names which"
    } else {
        "not in the recording: the arguments that the code uses are the same and the code differs; possible \
         are a static argument, a value that a closure holds, a weak type, a setting, or a sharding; \
         `firstlight trace --record` names which"
    }
}

/// Whether a module belongs to a function: `jit_step` for `step`. Characters that are invalid in a module's
/// name are underscores there, and are cut from its end: `<lambda>` is `jit__lambda`.
fn is_module_of(name: &str, function: &str) -> bool {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let Some(name) = name.strip_prefix("jit_") else { return false };
    let wanted: String = function.chars().map(plain).collect();
    // Some versions write `jit(step)`.
    let cut = |text: &str| text.trim_end_matches('_').to_owned();
    name == wanted
        || (wanted != function && cut(name) == cut(&wanted))
        || name == format!("{wanted}_")
}

/// Programs that ran under a module's name, with or without their code in the trace.
fn ran_under(trace: &Trace, found: &Attribution, function: &str) -> Vec<i64> {
    let named =
        found.ran.iter().filter(|(_, name)| is_module_of(trace.names.text(*name), function));
    let known = |id: &i64| trace.programs.iter().any(|program| program.id == *id);
    let mut ids: Vec<i64> = named.map(|(id, _)| *id).filter(|id| !known(id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::is_module_of;

    #[test]
    fn a_function_is_found_by_its_module_name() {
        assert!(is_module_of("jit_step", "step") && is_module_of("jit(step)", "step"));
        for module in ["jit__lambda", "jit__lambda_", "jit_<lambda>"] {
            assert!(is_module_of(module, "<lambda>"), "{module}");
        }
        assert!(!is_module_of("jit_step2", "step") && !is_module_of("jit_step", "step_"));
    }
}
