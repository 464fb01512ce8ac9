//! JAX: the programs of a function are known by their module's name, their order by when they first
//! ran, their signatures from the HLO in the trace.

use std::collections::BTreeMap;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Compilation, Turn};
use rustc_hash::FxHashMap;

use super::diff::{Argument, diff, first_use, unknown};
use super::{Timed, served};
use crate::attribute::{Compile, Findings};
use crate::model::{Detail, Program as Code, Trace};

/// When each program ran; of its many operators one per compilation is enough.
pub(super) struct Runs {
    /// Starts of the compilations.
    marks: Vec<i64>,
    programs: FxHashMap<i64, Program>,
}

/// When a program ran.
struct Program {
    first: i64,
    /// The last start between two compilations, by how many begin before it.
    last: BTreeMap<usize, i64>,
}

impl Runs {
    pub(super) fn new(found: &Findings) -> Self {
        let marks = found.compiles.iter().map(|compile| compile.span.0).collect();
        Self { marks, programs: FxHashMap::default() }
    }

    pub(super) fn feed(&mut self, piece: &Trace) {
        if self.marks.is_empty() {
            return;
        }
        for line in &piece.lines {
            for index in 0..line.events.len() {
                let Detail::Program { id: Some(id), .. } = *piece.detail(line, index) else {
                    continue;
                };
                let start = line.events.start[index];
                let between = self.marks.partition_point(|&mark| mark <= start);
                let own = self.programs.entry(id);
                let own = own.or_insert_with(|| Program { first: start, last: BTreeMap::new() });
                own.first = own.first.min(start);
                let last = own.last.entry(between).or_insert(start);
                *last = start.max(*last);
            }
        }
    }

    fn first(&self, id: i64) -> i64 {
        self.programs.get(&id).map_or(i64::MAX, |own| own.first)
    }

    /// The last start before the compilation that begins then.
    fn last_before(&self, id: i64, mark: i64) -> Option<i64> {
        let own = self.programs.get(&id)?;
        own.last.values().rev().find(|start| **start < mark).copied()
    }
}

pub(super) fn explain(
    trace: &Trace,
    found: &Findings,
    timed: Vec<Timed>,
    runs: &Runs,
) -> Vec<Compilation> {
    let mut all: Vec<Compilation> = Vec::with_capacity(found.compiles.len());
    for (compile, timed) in found.compiles.iter().zip(timed) {
        all.push(one(trace, found, (compile, timed), runs, &all));
    }
    all
}

fn one(
    trace: &Trace,
    found: &Findings,
    (compile, timed): (&Compile, Timed),
    runs: &Runs,
    earlier: &[Compilation],
) -> Compilation {
    let module = module(&compile.function);
    let of_function = || {
        let ids = trace.programs.iter().filter(|program| module_is(&program.module, &module));
        let known: Vec<i64> = ids.map(|program| program.id).collect();
        let named = ran_under(trace, found, &module);
        known.into_iter().chain(named).collect::<Vec<i64>>()
    };
    let ids = of_function();
    let first = |id: &i64| runs.first(*id);
    // The new program is the one that first runs after it was compiled.
    let new = ids
        .iter()
        .copied()
        .filter(|id| first(id) >= compile.span.0)
        .min_by_key(|id| (first(id), *id));
    let before = |id: &i64| runs.last_before(*id, compile.span.0);
    let ran_before = ids.iter().copied().filter(|id| Some(*id) != new && before(id).is_some());
    let old = ran_before.max_by_key(before).or_else(|| {
        // Compiled before the recording began, and not run since.
        ids.iter().copied().filter(|id| new.is_some_and(|new| *id < new)).max()
    });
    let seen = earlier.iter().any(|other| other.function == compile.function);
    let turn = match () {
        () if old.is_some() || seen => Turn::Again,
        () if new.is_some() && !trace.programs.is_empty() => Turn::First,
        () => Turn::Unknown,
    };
    let program = |id: i64| trace.programs.iter().find(|program| program.id == id);
    let cause = match (old.and_then(program), new.and_then(program)) {
        (Some(old), Some(new)) => diff(&arguments(old), &arguments(new)),
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

/// `jit_step` for `step`; what cannot stand in a module's name is an underscore there.
fn module(function: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    format!("jit_{}", function.chars().map(plain).collect::<String>())
}

fn module_is(name: &str, module: &str) -> bool {
    // Some versions write `jit(step)`, and lambdas keep their brackets in places.
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name == module || name.chars().map(plain).eq(module.chars())
}

/// Programs that ran under a module's name, whether or not their code is in the trace.
fn ran_under(trace: &Trace, found: &Findings, module: &str) -> Vec<i64> {
    let named = found.ran.iter().filter(|(_, name)| module_is(trace.names.text(*name), module));
    let known = |id: &i64| trace.programs.iter().any(|program| program.id == *id);
    let mut ids: Vec<i64> = named.map(|(id, _)| *id).filter(|id| !known(id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::{module, module_is};

    #[test]
    fn a_functions_module_is_known_by_its_name() {
        assert_eq!(module("step"), "jit_step");
        assert_eq!(module("<lambda>"), "jit__lambda_");
        assert!(module_is("jit_<lambda>", "jit__lambda_"));
        assert!(!module_is("jit_step2", "jit_step"));
    }
}
