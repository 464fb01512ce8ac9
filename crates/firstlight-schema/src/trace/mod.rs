//! The document `trace`: the time of each step in a profiler's recording by bucket, its compilations and
//! their causes.

mod compilation;
mod cost;
mod part;
mod program;
mod recording;
mod step;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Reason;
use crate::nanos::Nanos;
use crate::version::{Build, SchemaId, Version};

pub use compilation::{Cause, CauseKind, Change, Compilation, GraphBreak, Served, Turn};
pub use cost::{HostOutside, Inflation, TracedRun, Tracing, Wrapper, WrapperPhase};
pub use part::{Bucket, Part, PartTime};
pub use program::{MemoryPoint, MemoryRow, OperatorRow, ProgramMemory, ProgramRow};
pub use recording::{
    Framework, NamedVersion, Notice, NoticeName, Recording, TraceFormat, TracerLevels,
};
pub use step::{DeviceTime, LeftOut, Skew, SteadyRow, Step, StepsBy, Stretch};

pub const NAME: &str = "trace";
pub const VERSION: Version = Version { major: 1, minor: 1 };

/// A recording, attributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct TraceDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    pub recording: Recording,
    /// Findings about the file, or computed from it.
    pub notices: Vec<Notice>,
    /// How steps were identified.
    pub steps_by: StepsBy,
    /// The thread that the steps are on.
    pub thread: String,
    pub steps: Vec<Step>,
    /// Medians over the steps without a compilation.
    pub steady: Vec<SteadyRow>,
    /// Time of a steady step outside the compiled program and its calls, waiting included; absent if no step
    /// is steady.
    pub host_outside: Option<HostOutside>,
    /// Work of the host outside the compiled program, over the same steps.
    pub frames: Vec<Frame>,
    /// Known wrappers around compiled functions, by phase; only with Python frames.
    pub wrappers: Vec<Wrapper>,
    pub compilations: Vec<Compilation>,
    /// Programs sorted by the time of their operators in the whole recording, if events name their program.
    #[serde(default)]
    pub programs: Vec<ProgramRow>,
    /// Memory by allocator, if the recording has it.
    #[serde(default)]
    pub memory: Vec<MemoryRow>,
    /// The time between the first and the last device finishing a step; absent with one device.
    #[serde(default)]
    pub skew: Option<Skew>,
    /// Places where torch.compile left its graph, if its log is available.
    #[serde(default)]
    pub graph_breaks: Vec<GraphBreak>,
    /// All events by name, the largest sum first.
    pub events: Vec<EventRow>,
    pub findings: Vec<Reason>,
    /// The cost of recording, if the same work was also recorded with less or no tracing.
    pub inflation: Option<Inflation>,
}

impl TraceDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }

    /// A document without steps, to be filled in later.
    pub fn new(firstlight: Build, recording: Recording, steps_by: StepsBy, thread: String) -> Self {
        Self {
            schema: Self::schema_id(),
            firstlight,
            recording,
            notices: Vec::new(),
            steps_by,
            thread,
            steps: Vec::new(),
            steady: Vec::new(),
            host_outside: None,
            frames: Vec::new(),
            wrappers: Vec::new(),
            compilations: Vec::new(),
            programs: Vec::new(),
            memory: Vec::new(),
            skew: None,
            graph_breaks: Vec::new(),
            events: Vec::new(),
            findings: Vec::new(),
            inflation: None,
        }
    }
}

/// A Python frame, an annotation or another event around host work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Frame {
    pub name: String,
    pub kind: FrameKind,
    pub count: u64,
    /// Per steady step on average, in host time outside the compiled program: including its callees …
    pub inclusive_ns: f64,
    /// … and as the innermost event.
    pub exclusive_ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum FrameKind {
    Annotation,
    Python,
    /// An operator or an event of the framework itself.
    Framework,
    /// No event encloses it.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EventRow {
    pub name: String,
    pub on_device: bool,
    pub count: u64,
    pub total_ns: Nanos,
    pub mean_ns: f64,
}
