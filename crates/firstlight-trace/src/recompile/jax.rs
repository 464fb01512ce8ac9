//! JAX: the programs of a function are known by their module's name, their order by when they first
//! ran, their signatures from the HLO in the trace.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Compilation, Turn};
use rustc_hash::FxHashMap;

use super::diff::{Argument, diff, first_use, unknown};
use super::{served, timed};
use crate::attribute::{Compile, Findings};
use crate::model::{Detail, Program, Trace};

/// When a program ran.
struct Runs {
    first: i64,
    /// All starts in order would be better, and far more.
    last_before: Vec<i64>,
}

pub(super) fn explain(trace: &Trace, found: &Findings) -> Vec<Compilation> {
    let runs = runs(trace, found);
    let mut all: Vec<Compilation> = Vec::with_capacity(found.compiles.len());
    for compile in &found.compiles {
        all.push(one(trace, found, compile, &runs, &all));
    }
    all
}

fn one(
    trace: &Trace,
    found: &Findings,
    compile: &Compile,
    runs: &FxHashMap<i64, Runs>,
    earlier: &[Compilation],
) -> Compilation {
    let module = module(&compile.function);
    let of_function = || {
        let ids = trace.programs.iter().filter(|program| module_is(&program.module, &module));
        let known: Vec<i64> = ids.map(|program| program.id).collect();
        let named = ran_under(trace, &module);
        known.into_iter().chain(named).collect::<Vec<i64>>()
    };
    let ids = of_function();
    let first = |id: &i64| runs.get(id).map_or(i64::MAX, |runs| runs.first);
    // The new program is the one that first runs after it was compiled.
    let new = ids
        .iter()
        .copied()
        .filter(|id| first(id) >= compile.span.0)
        .min_by_key(|id| (first(id), *id));
    let before = |id: &i64| {
        let runs = runs.get(id)?;
        let index = runs.last_before.partition_point(|&start| start < compile.span.0);
        index.checked_sub(1).map(|index| runs.last_before[index])
    };
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
    let (step, parts, duration_ns) = timed(found, compile);
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

fn arguments(program: &Program) -> Vec<Argument<'_>> {
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
fn ran_under(trace: &Trace, module: &str) -> Vec<i64> {
    let mut ids: Vec<i64> = trace
        .details
        .iter()
        .filter_map(|detail| match detail {
            Detail::Program { id: Some(id), module: Some(name) } => {
                module_is(trace.names.text(*name), module).then_some(*id)
            }
            _ => None,
        })
        .filter(|id| !trace.programs.iter().any(|program| program.id == *id))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// When each program ran; of its many operators one per compilation is enough.
fn runs(trace: &Trace, found: &Findings) -> FxHashMap<i64, Runs> {
    let mut runs: FxHashMap<i64, Runs> = FxHashMap::default();
    if found.compiles.is_empty() {
        return runs;
    }
    let marks: Vec<i64> = found.compiles.iter().map(|compile| compile.span.0).collect();
    for line in &trace.lines {
        for index in 0..line.events.len() {
            let Detail::Program { id: Some(id), .. } = *trace.detail(line, index) else { continue };
            let start = line.events.start[index];
            let own = runs.entry(id).or_insert(Runs { first: start, last_before: Vec::new() });
            own.first = own.first.min(start);
            // Two starts between the same compilations tell the same; the later is kept.
            let between = |at: i64| marks.partition_point(|&mark| mark <= at);
            match own.last_before.last_mut() {
                Some(last) if *last <= start && between(*last) == between(start) => *last = start,
                _ => own.last_before.push(start),
            }
        }
    }
    for own in runs.values_mut() {
        own.last_before.sort_unstable();
    }
    runs
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
