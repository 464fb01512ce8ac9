//! Books every instant of a step to one part. What belongs where is found by framework ([`jax`],
//! [`torch`]); the booking is the same for all ([`book`]).

mod book;
mod frames;
pub(crate) mod jax;
mod steps;
pub(crate) mod torch;

use firstlight_schema::trace::{FrameKind, Framework, Part, StepsBy};

pub(crate) use book::book;
pub(crate) use frames::frames;

use crate::intervals::{Set, Span};
use crate::model::{Detail, Trace};
use crate::names::{ByName, Category};

/// What was found in a trace, before it is booked.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) framework: Framework,
    pub(crate) rules: &'static str,
    pub(crate) steps_by: StepsBy,
    /// The line that the steps are on.
    pub(crate) owner: usize,
    pub(crate) steps: Vec<Mark>,
    /// Parts of the time in the order in which they win.
    pub(crate) layers: Vec<(Part, Set)>,
    /// Calls of compiled functions, which divide the host's time into before, between and after.
    pub(crate) calls: Set,
    /// The same on any thread.
    pub(crate) region: Set,
    /// A device or a program was at work.
    pub(crate) busy: Set,
    pub(crate) compiles: Vec<Compile>,
    pub(crate) frames: ByName<FrameKind>,
}

/// A step as it was marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) number: i64,
    pub(crate) span: Span,
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

/// Finds steps and parts, by whatever framework made the trace.
pub(crate) fn find(trace: &Trace) -> Findings {
    match framework(trace) {
        Framework::Torch => torch::find(trace),
        // JAX's rules find nothing in a foreign trace, and then the whole of it is one step.
        _ => jax::find(trace),
    }
}

pub(crate) fn framework(trace: &Trace) -> Framework {
    let names = &trace.names;
    let jax = trace.facts.version("jax").is_some()
        || trace.facts.version("jaxlib").is_some()
        || trace.details.iter().any(|detail| matches!(detail, Detail::Step(_)))
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
