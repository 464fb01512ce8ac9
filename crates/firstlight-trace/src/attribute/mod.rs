//! Books every instant of a step to one part. What belongs where is found by framework ([`jax`],
//! [`torch`]); the booking is the same for all ([`book`]).
//!
//! Events come in pieces, which for a recording in memory is one. A first sweep over them finds the steps
//! and what was compiled, which is short; a second one divides the time of each piece, books the steps
//! in it, and forgets it.

mod book;
mod devices;
mod frames;
pub(crate) mod jax;
mod layer;
mod operators;
mod steps;
pub(crate) mod torch;
mod totals;

use firstlight_schema::trace::{FrameKind, Framework, Part, StepsBy};

pub(crate) use book::{Booker, keep_empty_alone};
pub(crate) use devices::device_times;
pub(crate) use frames::Frames;
pub(crate) use operators::Operators;
pub(crate) use totals::Totals;

use crate::error::Result;
use crate::intervals::{Set, Span};
use crate::model::{Detail, Tally, Trace};
use crate::names::{ByName, Category, NameId};
use crate::read::Pieces;

/// What was found in a trace, before it is booked.
pub(crate) struct Attribution {
    pub(crate) framework: Framework,
    pub(crate) rules: &'static str,
    pub(crate) steps_by: StepsBy,
    /// The line that the steps are on.
    pub(crate) owner: usize,
    /// Other lines of the host that have steps.
    pub(crate) others: usize,
    pub(crate) steps: Vec<Mark>,
    pub(crate) compiles: Vec<Compile>,
    pub(crate) frames: ByName<FrameKind>,
    /// Programs that ran, by number and module.
    pub(crate) ran: Vec<(i64, NameId)>,
    /// When the program cleared the caches of compiled functions, where Python frames tell it.
    pub(crate) cleared: Vec<i64>,
    pub(crate) totals: Totals,
    own: Own,
}

/// What only one framework has.
enum Own {
    Jax(jax::Known),
    Torch(torch::Known),
}

/// What the time of a piece was spent with.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Parts of the time in the order in which they win.
    pub(crate) parts: Vec<(Part, Set)>,
    /// Calls of compiled functions, which divide the host's time into before, between and after.
    pub(crate) calls: Set,
    /// The same on any thread.
    pub(crate) region: Set,
    /// A device or a program was at work.
    pub(crate) busy: Set,
}

/// A step as it was marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) number: i64,
    pub(crate) span: Span,
    /// Whether it is known where it ends.
    pub(crate) ended: bool,
}

/// Something was compiled.
#[derive(Clone, Debug)]
pub(crate) struct Compile {
    pub(crate) function: String,
    pub(crate) span: Span,
    pub(crate) parts: Vec<(Part, Span)>,
    /// The compiler itself was seen at work.
    pub(crate) compiler: bool,
    /// A disk cache was seen at work.
    pub(crate) cache: bool,
    /// torch's compile id.
    pub(crate) id: Option<String>,
}

/// Finds steps and compilations, by whatever framework made the trace.
pub(crate) fn find(source: &mut dyn Pieces) -> Result<Attribution> {
    match framework(source.trace()) {
        Framework::Torch => torch::find(source),
        // JAX's rules find nothing in a foreign trace, and then the whole of it is one step.
        Framework::Jax | Framework::Unknown => jax::find(source),
    }
}

impl Attribution {
    /// What must stay in memory while the pieces are gone through again.
    pub(crate) fn held(&self) -> u64 {
        match &self.own {
            Own::Jax(known) => known.held(),
            Own::Torch(known) => known.held(),
        }
    }

    pub(crate) fn divider(&self) -> Divider<'_> {
        match &self.own {
            Own::Jax(known) => Divider::Jax(jax::Divider::new(self, known)),
            Own::Torch(known) => Divider::Torch(torch::Divider::new(self.owner, known)),
        }
    }
}

/// Divides the time of one piece after another.
pub(crate) enum Divider<'a> {
    Jax(jax::Divider<'a>),
    Torch(torch::Divider<'a>),
}

impl Divider<'_> {
    pub(crate) fn divide(&mut self, piece: &Trace, span: Span) -> Layers {
        match self {
            Self::Jax(divider) => divider.divide(piece, span),
            Self::Torch(divider) => divider.divide(piece, span),
        }
    }
}

pub(crate) fn framework(trace: &Trace) -> Framework {
    let names = &trace.names;
    let marked = |line: &crate::model::Line| line.tally.as_ref().is_some_and(|own| own.steps > 0);
    let jax = trace.facts.version("jax").is_some()
        || trace.facts.version("jaxlib").is_some()
        || trace.details.iter().any(|detail| matches!(detail, Detail::Step(_)))
        || trace.lines.iter().any(marked)
        || names.ids().any(|id| names.text(id).starts_with("PjitFunction("));
    let torch = names.ids().any(|id| {
        names.category(id) == Category::CpuOp || names.text(id).starts_with("ProfilerStep#")
    });
    match (jax, torch) {
        (true, _) => Framework::Jax,
        (false, true) => Framework::Torch,
        (false, false) => Framework::Unknown,
    }
}

/// Programs that ran, by what their events say.
fn ran(trace: &Trace) -> Vec<(i64, NameId)> {
    let all = trace.details.iter().filter_map(|detail| match detail {
        Detail::Program { id: Some(id), module: Some(module), .. } => Some((*id, *module)),
        _ => None,
    });
    let mut all: Vec<(i64, NameId)> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Lines of the host that have steps, besides the one that is shown.
fn others(trace: &Trace, tallies: &[Tally], owner: usize) -> usize {
    let lines = trace.lines.iter().zip(tallies).enumerate();
    let host = |line: &crate::model::Line| line.place == crate::model::Place::Host;
    lines.filter(|(index, (line, own))| *index != owner && host(line) && own.steps > 0).count()
}
