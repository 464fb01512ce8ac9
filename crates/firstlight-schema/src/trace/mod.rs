//! The document `trace`: where each step's time went in a profiler's recording, what was compiled in
//! it, and why.

mod cost;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::finding::Reason;
use crate::nanos::Nanos;
use crate::version::{Build, SchemaId, Version};

pub use cost::{HostOutside, Inflation, TracedRun, Tracing, Wrapper, WrapperPhase};

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
    /// Findings about the file, or derived from it.
    pub notices: Vec<Notice>,
    /// How steps were identified.
    pub steps_by: StepsBy,
    /// The thread that the steps are on.
    pub thread: String,
    pub steps: Vec<Step>,
    /// Medians over the steps in which nothing was compiled.
    pub steady: Vec<SteadyRow>,
    /// Time of a steady step outside of the compiled program and of its calls, waiting included; none
    /// where no step is steady.
    pub host_outside: Option<HostOutside>,
    /// Work of the host outside of the compiled program, over the same steps.
    pub frames: Vec<Frame>,
    /// Known wrappers around compiled functions, by phase; only with Python frames.
    pub wrappers: Vec<Wrapper>,
    pub compilations: Vec<Compilation>,
    /// Programs by the time of their operators in the whole recording, if events name their program.
    #[serde(default)]
    pub programs: Vec<ProgramRow>,
    /// Memory by allocator, if the recording has it.
    #[serde(default)]
    pub memory: Vec<MemoryRow>,
    /// How far apart several devices finish a step; none with one device.
    #[serde(default)]
    pub skew: Option<Skew>,
    /// Places where torch.compile left its graph, if its log is available.
    #[serde(default)]
    pub graph_breaks: Vec<GraphBreak>,
    /// Every event by its name, the longest in sum first.
    pub events: Vec<EventRow>,
    pub findings: Vec<Reason>,
    /// The cost of recording, if the same work was also recorded with less or no tracing.
    pub inflation: Option<Inflation>,
}

impl TraceDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }

    /// A document without steps, to be filled in.
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

/// Metadata of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recording {
    /// The file that was read.
    pub file: String,
    pub format: TraceFormat,
    /// Bytes of it, unpacked.
    pub bytes: u64,
    pub events: u64,
    pub lines: u64,
    pub framework: Framework,
    /// By name: jax, jaxlib, cuda-driver, …
    pub versions: Vec<NamedVersion>,
    pub devices: Vec<String>,
    pub hosts: Vec<String>,
    /// Unknown if the format does not record it.
    pub tracer: Option<TracerLevels>,
    /// Whether Python frames were recorded: by the levels, or because some are there.
    pub python_traced: bool,
    /// From the first event to the end of the last.
    pub span_ns: Nanos,
    /// The rules by which names of events were understood.
    pub rules: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NamedVersion {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum TraceFormat {
    Xplane,
    /// PyTorch's.
    Kineto,
    /// Chrome JSON as JAX's converter writes it.
    JaxJson,
    /// Any other Chrome JSON.
    ChromeJson,
}

impl TraceFormat {
    pub fn name(self) -> &'static str {
        match self {
            Self::Xplane => "xplane",
            Self::Kineto => "Kineto JSON",
            Self::JaxJson => "JAX's Chrome JSON",
            Self::ChromeJson => "Chrome JSON",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Framework {
    Jax,
    Torch,
    Unknown,
}

impl Framework {
    pub fn name(self) -> &'static str {
        match self {
            Self::Jax => "JAX",
            Self::Torch => "PyTorch",
            Self::Unknown => "unknown",
        }
    }
}

/// How much JAX's profiler was configured to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TracerLevels {
    pub host: u32,
    pub device: u32,
    pub python: u32,
}

/// Something about the file that a reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Notice {
    pub name: NoticeName,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum NoticeName {
    /// The profiler itself wrote this.
    ErrorInFile,
    WarningInFile,
    /// The converter's cap on events was reached.
    EventCap,
    InvalidJson,
    Truncated,
    NegativeDuration,
    NoTime,
    /// Another file than the named one was read.
    XplaneInstead,
    OtherRuns,
    /// Steps were not marked in the program.
    StepsGuessed,
    /// Kernels of a CUDA graph cannot be assigned to operations.
    CudaGraphs,
    /// Steps on more than one thread.
    OtherThreads,
    /// There are no specific rules for this version of the framework.
    UnknownVersion,
}

impl NoticeName {
    pub fn name(self) -> &'static str {
        match self {
            Self::ErrorInFile => "error-in-file",
            Self::WarningInFile => "warning-in-file",
            Self::EventCap => "event-cap",
            Self::InvalidJson => "invalid-json",
            Self::Truncated => "truncated",
            Self::NegativeDuration => "negative-duration",
            Self::NoTime => "no-time",
            Self::XplaneInstead => "xplane-instead",
            Self::OtherRuns => "other-runs",
            Self::StepsGuessed => "steps-guessed",
            Self::CudaGraphs => "cuda-graphs",
            Self::OtherThreads => "other-threads",
            Self::UnknownVersion => "unknown-version",
        }
    }
}

/// How steps were identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum StepsBy {
    /// The program marked them.
    Annotation,
    /// From one call of the most called compiled function to the next.
    RepeatedCall,
    /// From one run of the most run program to the next.
    RepeatedModule,
    /// There is but one: the whole recording.
    WholeTrace,
}

impl StepsBy {
    /// How the steps were found.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotation => "annotated",
            Self::RepeatedCall => "from call to call",
            Self::RepeatedModule => "from program to program",
            Self::WholeTrace => "the whole recording",
        }
    }
}

/// Where an instant of a step went; the first that applies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Bucket {
    Compile,
    Callback,
    Execute,
    Transfer,
    Dispatch,
    Wait,
    Host,
}

impl Bucket {
    pub const ALL: [Self; 7] = [
        Self::Compile,
        Self::Callback,
        Self::Execute,
        Self::Transfer,
        Self::Dispatch,
        Self::Wait,
        Self::Host,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Callback => "callback",
            Self::Execute => "execute",
            Self::Transfer => "transfer",
            Self::Dispatch => "dispatch",
            Self::Wait => "wait",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A part of a bucket.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Part {
    /// Kernels that the compiler tries out.
    Autotune,
    /// Python to the framework's own representation.
    Trace,
    /// That representation to the compiler's input.
    Lower,
    /// The compiler.
    Compile,
    /// Host code that a running program calls back.
    Callback,
    /// The compiled program runs.
    Compiled,
    /// Kernels launched outside of any compiled program.
    Eager,
    Transfer,
    /// Inside a call of a compiled function, and nothing of it runs yet.
    Call,
    /// torch: looking for the compiled code that fits the arguments.
    Guards,
    /// torch: what runs before and after the compiled graph, in the compiled region.
    Prologue,
    /// The host waits for the device.
    Blocked,
    /// The host waits for a result to be copied to it.
    Fetch,
    /// The host outside of compiled calls: before the step's first call …
    Before,
    Between,
    After,
}

impl Part {
    pub const ALL: [Self; 16] = [
        Self::Autotune,
        Self::Trace,
        Self::Lower,
        Self::Compile,
        Self::Callback,
        Self::Compiled,
        Self::Eager,
        Self::Transfer,
        Self::Call,
        Self::Guards,
        Self::Prologue,
        Self::Blocked,
        Self::Fetch,
        Self::Before,
        Self::Between,
        Self::After,
    ];

    pub fn bucket(self) -> Bucket {
        match self {
            Self::Autotune | Self::Trace | Self::Lower | Self::Compile => Bucket::Compile,
            Self::Callback => Bucket::Callback,
            Self::Compiled | Self::Eager => Bucket::Execute,
            Self::Transfer => Bucket::Transfer,
            Self::Call | Self::Guards | Self::Prologue => Bucket::Dispatch,
            Self::Blocked | Self::Fetch => Bucket::Wait,
            Self::Before | Self::Between | Self::After => Bucket::Host,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Autotune => "autotune",
            Self::Trace => "trace",
            Self::Lower => "lower",
            Self::Compile => "compile",
            Self::Callback => "callback",
            Self::Compiled => "compiled",
            Self::Eager => "eager",
            Self::Transfer => "transfer",
            Self::Call => "call",
            Self::Guards => "guards",
            Self::Prologue => "prologue",
            Self::Blocked => "blocked",
            Self::Fetch => "fetch",
            Self::Before => "before",
            Self::Between => "between",
            Self::After => "after",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One step: its parts sum to its duration, to the nanosecond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    pub name: String,
    pub number: i64,
    /// From the recording's first event.
    pub start_ns: Nanos,
    pub duration_ns: Nanos,
    /// Between the step before and this one.
    pub gap_ns: Nanos,
    /// Whether something was traced, lowered or compiled in it.
    pub compiled: bool,
    /// Why medians exclude it although nothing was compiled in it; none if they include it.
    #[serde(default)]
    pub left_out: Option<LeftOut>,
    /// Only parts that took any time.
    pub parts: Vec<PartTime>,
    /// Outside of the compiled program and of its calls: `wait` and `host` together.
    pub host_outside_ns: Nanos,
    /// Host work outside of compiled calls while the program ran or data moved: part of no sum.
    pub overlapped_host_ns: Nanos,
    /// Time during which any kernel or program ran: part of no sum.
    pub device_busy_ns: Nanos,
    /// Inside calls of compiled functions on any thread: part of no sum.
    pub region_ns: Nanos,
    pub calls: u32,
    /// Peak of the largest allocator during the step; none if the recording lacks it.
    #[serde(default)]
    pub peak_bytes: Option<u64>,
    /// Busy times of each device in it, if there are several.
    #[serde(default)]
    pub devices: Vec<DeviceTime>,
    /// For drawing: stretches too short to be seen are left out.
    pub timeline: Vec<Stretch>,
}

impl Step {
    /// Whether medians are taken over it: nothing was compiled in it, and it is a whole step.
    pub fn is_steady(&self) -> bool {
        !self.compiled && self.left_out.is_none()
    }

    pub fn part(&self, part: Part) -> Nanos {
        self.parts.iter().filter(|row| row.part == part).map(|row| row.ns).sum()
    }

    /// From the first device that finishes to the last one.
    pub fn skew(&self) -> Option<Nanos> {
        let ends = || self.devices.iter().map(|device| device.end_ns.0);
        let (first, last) = (ends().min()?, ends().max()?);
        (self.devices.len() > 1).then(|| Nanos(last - first))
    }

    /// Outside of the compiled program and of its calls.
    pub fn outside(parts: &[PartTime]) -> Nanos {
        let outside = |row: &&PartTime| matches!(row.part.bucket(), Bucket::Wait | Bucket::Host);
        parts.iter().filter(outside).map(|row| row.ns).sum()
    }

    pub fn bucket(&self, bucket: Bucket) -> Nanos {
        self.parts.iter().filter(|row| row.part.bucket() == bucket).map(|row| row.ns).sum()
    }
}

/// A device in a step; times are from the step's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeviceTime {
    /// `/device:GPU:0`, `cpu:3`
    pub device: String,
    pub busy_ns: Nanos,
    /// When it began, and when it was done.
    pub start_ns: Nanos,
    pub end_ns: Nanos,
}

/// How far apart devices finish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Skew {
    /// From the first device that finishes a steady step to the last one.
    pub median: Estimate,
    /// The device that is most often the last, and in how many steady steps.
    pub last: String,
    pub last_in: u32,
}

/// A program and its longest operators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramRow {
    /// `jit_step`
    pub module: String,
    pub program: Option<String>,
    /// All operators in sum, on all threads and devices.
    pub total_ns: Nanos,
    pub operators: Vec<OperatorRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OperatorRow {
    pub name: String,
    pub count: u64,
    /// Without the operators inside it.
    pub total_ns: Nanos,
    /// Of the program.
    pub share: f64,
}

/// Memory that an allocator had handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryRow {
    pub allocator: String,
    pub peak_bytes: u64,
    pub peak_at_ns: Nanos,
    /// The step that the peak is in; none outside of all steps.
    pub peak_step: Option<i64>,
    /// For drawing: the highest of each stretch.
    pub timeline: Vec<MemoryPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryPoint {
    pub at_ns: Nanos,
    pub bytes: u64,
}

/// Why medians exclude a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum LeftOut {
    /// The steps were guessed, and no step follows that would show where it ends.
    Unended,
    /// It is the last one, and nothing was called or ran in it.
    Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartTime {
    pub part: Part,
    pub ns: Nanos,
}

/// A stretch of a step, from the step's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stretch {
    pub part: Part,
    pub start_ns: Nanos,
    pub duration_ns: Nanos,
}

/// A bucket, or a part of one, over the steady steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyRow {
    pub bucket: Bucket,
    /// Nothing for the whole bucket.
    pub part: Option<Part>,
    pub median: Estimate,
    /// Of the mean step.
    pub share: f64,
}

/// A Python frame, an annotation or another event around host work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Frame {
    pub name: String,
    pub kind: FrameKind,
    pub count: u64,
    /// Per steady step on average, in host time outside of the compiled program: with what it called …
    pub inclusive_ns: f64,
    /// … and as the innermost.
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

/// A function that was traced, lowered or compiled, or taken from a cache instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Compilation {
    pub function: String,
    /// The number of the step it happened in; none outside of all steps.
    pub step: Option<i64>,
    pub start_ns: Nanos,
    pub duration_ns: Nanos,
    pub parts: Vec<PartTime>,
    pub turn: Turn,
    pub served: Served,
    /// The program's number, or torch's compile id.
    pub program: Option<String>,
    /// The program that it replaces.
    pub previous: Option<String>,
    pub cause: Cause,
}

/// Whether the function had been compiled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Turn {
    First,
    Again,
    Unknown,
}

/// The origin of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Served {
    Compiler,
    DiskCache,
    Unknown,
}

/// Why a function was compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cause {
    pub kind: CauseKind,
    /// One line for people.
    pub text: String,
    pub changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CauseKind {
    FirstUse,
    Shape,
    Type,
    Rank,
    ArgumentCount,
    /// The framework's own log says why.
    Guard,
    /// The arguments that the program uses have the same types and shapes; the text lists what remains
    /// possible.
    SameSignature,
    /// The same code under another function object: a closure, partial or lambda that was created again.
    NewFunction,
    /// An argument became or ceased to be of weak type.
    WeakType,
    /// A static argument, or the structure of the arguments.
    StaticArgument,
    /// A setting of the framework.
    Setting,
    ClearedCache,
    Unknown,
}

/// An argument that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Change {
    pub parameter: u32,
    pub name: Option<String>,
    pub before: String,
    pub after: String,
}

/// Dynamo left the graph: a function is compiled in parts, with Python between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GraphBreak {
    /// torch's compile id.
    pub compile_id: String,
    pub function: Option<String>,
    /// The source line: `train.py:63`
    pub place: String,
    /// As Dynamo explains it.
    pub reason: String,
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
