//! Compilations and their causes: first or repeated, by the compiler or from a disk cache, and the argument
//! that changed.

mod diff;
mod jax;
mod jax_log;
mod torch;
mod torch_trace;

use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Bucket, Compilation, Framework, Part, PartTime, Served};

pub use jax_log::JaxLog;
pub use torch_trace::TorchTrace;

use crate::attribute::{Attribution, Compile, Layers};
use crate::intervals::{Set, Span};
use crate::model::Trace;

/// The frameworks' own logs of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    pub torch: TorchTrace,
    pub jax: JaxLog,
}

/// The file and the folder of a recording's logs, beside a profile folder.
const JAX_LOG: &str = "explanations.jsonl";
const TORCH_LOGS: &str = "torch-trace";

impl Logs {
    /// The logs that `firstlight trace --record` stored beside a profile folder; empty if there are none.
    pub fn beside(profile: &Path) -> Self {
        let folder = profile.parent().unwrap_or(profile);
        let read = |path: &Path| {
            fs::read(path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default()
        };
        let listed = fs::read_dir(folder.join(TORCH_LOGS)).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
        files.sort();
        let mut torch = TorchTrace::default();
        for file in files {
            torch.extend(TorchTrace::parse(&read(&file)));
        }
        Self { torch, jax: JaxLog::parse(&read(&folder.join(JAX_LOG))) }
    }
}

/// Collects, piece by piece, the information that explains a trace's compilations.
pub(crate) struct Explainer<'a> {
    found: &'a Attribution,
    /// The time of each compilation by part, in order of priority.
    parts: Vec<Vec<(Part, i64)>>,
    evidence: Evidence,
}

enum Evidence {
    Jax(jax::Runs),
    Torch(torch::Calls),
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(found: &'a Attribution) -> Self {
        let evidence = if found.framework == Framework::Torch {
            Evidence::Torch(torch::Calls::new(found))
        } else {
            Evidence::Jax(jax::Runs::new(found))
        };
        Self { found, parts: vec![Vec::new(); found.compiles.len()], evidence }
    }

    pub(crate) fn feed(&mut self, piece: &Trace, span: Span, layers: &Layers) {
        for (parts, compile) in self.parts.iter_mut().zip(&self.found.compiles) {
            let own = (compile.span.0.max(span.0), compile.span.1.min(span.1));
            if own.0 < own.1 {
                divide(parts, own, layers);
            }
        }
        match &mut self.evidence {
            Evidence::Jax(runs) => runs.feed(piece),
            Evidence::Torch(calls) => calls.feed(piece, span),
        }
    }

    pub(crate) fn finish(self, trace: &Trace, logs: Option<&Logs>) -> Vec<Compilation> {
        let timed: Vec<Timed> = self
            .parts
            .iter()
            .zip(&self.found.compiles)
            .map(|(parts, compile)| timed(self.found, compile, parts))
            .collect();
        match self.evidence {
            Evidence::Jax(runs) => {
                jax::explain(trace, self.found, timed, &runs, logs.map(|logs| &logs.jax))
            }
            Evidence::Torch(calls) => {
                torch::explain(trace, self.found, timed, &calls, logs.map(|logs| &logs.torch))
            }
        }
    }
}

/// A compilation without its cause: its step, its parts, and its duration.
struct Timed {
    step: Option<i64>,
    parts: Vec<PartTime>,
    duration_ns: Nanos,
}

fn divide(parts: &mut Vec<(Part, i64)>, span: Span, layers: &Layers) {
    let compiling = |part: Part| part.bucket() == Bucket::Compile;
    let of_compiling = layers.parts.iter().filter(|(part, _)| compiling(*part));
    if parts.is_empty() {
        parts.extend(of_compiling.clone().map(|(part, _)| (*part, 0)));
    }
    let mut left = Set::one(span);
    for ((_, layer), (_, sum)) in of_compiling.zip(parts) {
        let own = left.and(&layer.within(span));
        left = left.without(&own);
        *sum += own.total();
    }
}

fn timed(found: &Attribution, compile: &Compile, parts: &[(Part, i64)]) -> Timed {
    let inside = |span: Span| span.0 <= compile.span.0 && compile.span.0 < span.1;
    let step = found.steps.iter().find(|step| inside(step.span)).map(|step| step.number);
    let nanos = |ns: i64| Nanos(u64::try_from(ns).unwrap_or(0));
    let parts: Vec<PartTime> = parts
        .iter()
        .filter(|(_, ns)| *ns > 0)
        .map(|(part, ns)| PartTime { part: *part, ns: nanos(*ns) })
        .collect();
    let duration_ns = parts.iter().map(|row| row.ns).sum();
    Timed { step, parts, duration_ns }
}

fn served(compile: &Compile) -> Served {
    match (compile.compiler, compile.cache) {
        (true, _) => Served::Compiler,
        (false, true) => Served::DiskCache,
        (false, false) => Served::Unknown,
    }
}
