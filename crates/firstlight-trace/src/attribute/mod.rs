//! Attributes every instant of a step to one part. The framework's rules ([`jax`], [`torch`]) find the parts;
//! the attribution is the same for all ([`book`]).
//!
//! Events come in pieces; a recording in memory is one piece. A first pass finds the steps and compilations,
//! which are small. A second pass divides the time of each piece, attributes the steps in it, and drops it.

mod book;
mod devices;
mod frames;
pub(crate) mod jax;
mod layer;
mod operators;
mod steps;
pub(crate) mod torch;
mod totals;

use firstlight_schema::trace::{Bucket, FrameKind, Framework, Part, StepsBy};

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

/// The steps and compilations of a trace, before attribution.
pub(crate) struct Attribution {
    pub(crate) framework: Framework,
    pub(crate) rules: &'static str,
    pub(crate) steps_by: StepsBy,
    /// The line with the steps.
    pub(crate) owner: usize,
    /// The number of other host lines with steps.
    pub(crate) others: usize,
    pub(crate) steps: Vec<Mark>,
    pub(crate) compiles: Vec<Compile>,
    pub(crate) frames: ByName<FrameKind>,
    /// Programs that ran, by number and module.
    pub(crate) ran: Vec<(i64, NameId)>,
    /// Times at which the program cleared the caches of compiled functions, if Python frames show them.
    pub(crate) cleared: Vec<i64>,
    pub(crate) totals: Totals,
    own: Own,
}

/// Data of a single framework.
enum Own {
    Jax(jax::Known),
    Torch(torch::Known),
}

/// The uses of a piece's time.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Parts of the time, in order of priority.
    pub(crate) parts: Vec<(Part, Set)>,
    /// Calls of compiled functions, which divide the host's time into before, between and after.
    pub(crate) calls: Set,
    /// The same on any thread.
    pub(crate) region: Set,
    /// Kernels that a compiler tried on a device.
    pub(crate) tried: Set,
}

impl Layers {
    /// Times within an interval at which a device or a program was busy.
    fn busy(&self, span: Span) -> Set {
        let bucket = |wanted: Bucket| {
            let own = self.parts.iter().filter(move |(part, _)| part.bucket() == wanted);
            own.fold(Set::default(), |sum, (_, layer)| sum.or(&layer.within(span)))
        };
        let running = bucket(Bucket::Execute).or(&self.tried.within(span));
        running.without(&bucket(Bucket::Callback))
    }
}

/// A marked step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) number: i64,
    pub(crate) span: Span,
    /// Whether its end is known.
    pub(crate) ended: bool,
}

/// A compilation.
#[derive(Clone, Debug)]
pub(crate) struct Compile {
    pub(crate) function: String,
    pub(crate) span: Span,
    pub(crate) parts: Vec<(Part, Span)>,
    /// Whether the compiler itself ran.
    pub(crate) compiler: bool,
    /// Whether a disk cache was used.
    pub(crate) cache: bool,
    /// torch's compile id.
    pub(crate) id: Option<String>,
}

/// Finds steps and compilations for any framework.
pub(crate) fn find(source: &mut dyn Pieces) -> Result<Attribution> {
    match framework(source.trace()) {
        Framework::Torch => torch::find(source),
        // JAX's rules find nothing in a foreign trace, which then is a single step.
        Framework::Jax | Framework::Unknown => jax::find(source),
    }
}

impl Attribution {
    /// The memory that must be kept during a second pass over the pieces.
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

/// Programs that ran, according to their events.
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

/// Host lines with steps, except the one that is shown.
fn others(trace: &Trace, tallies: &[Tally], owner: usize) -> usize {
    let lines = trace.lines.iter().zip(tallies).enumerate();
    let host = |line: &crate::model::Line| line.place == crate::model::Place::Host;
    lines.filter(|(index, (line, own))| *index != owner && host(line) && own.steps > 0).count()
}
