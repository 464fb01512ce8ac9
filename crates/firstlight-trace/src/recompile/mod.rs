//! What was compiled, and why: first or again, by the compiler or from a disk cache, and the argument
//! that is not what it was.

mod diff;
mod jax;
mod torch;
mod torch_trace;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Compilation, Framework, Part, PartTime, Served};

pub use torch_trace::TorchTrace;

use crate::attribute::{Compile, Findings};
use crate::intervals::Set;
use crate::model::Trace;

/// Explains every compilation of a trace.
pub(crate) fn explain(
    trace: &Trace,
    found: &Findings,
    log: Option<&TorchTrace>,
) -> Vec<Compilation> {
    match found.framework {
        Framework::Torch => torch::explain(trace, found, log),
        _ => jax::explain(trace, found),
    }
}

/// What is known of a compilation without its cause.
fn timed(found: &Findings, compile: &Compile) -> (Option<i64>, Vec<PartTime>, Nanos) {
    let inside = |span: (i64, i64)| span.0 <= compile.span.0 && compile.span.0 < span.1;
    let step = found.steps.iter().find(|step| inside(step.span)).map(|step| step.number);
    let nanos = |ns: i64| Nanos(u64::try_from(ns).unwrap_or(0));
    let mut left = Set::one(compile.span);
    let mut parts = Vec::new();
    for (part, layer) in &found.layers {
        if !matches!(part, Part::Autotune | Part::Trace | Part::Lower | Part::Compile) {
            continue;
        }
        let own = left.and(layer);
        if !own.is_empty() {
            left = left.without(&own);
            parts.push(PartTime { part: *part, ns: nanos(own.total()) });
        }
    }
    let whole = parts.iter().map(|row| row.ns).sum();
    (step, parts, whole)
}

fn served(compile: &Compile) -> Served {
    match (compile.compiler, compile.cache) {
        (true, _) => Served::Compiler,
        (false, true) => Served::DiskCache,
        (false, false) => Served::Unknown,
    }
}
