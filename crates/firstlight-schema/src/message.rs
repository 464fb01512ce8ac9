//! The runner protocol: JSON lines over an inherited socket pair.
//!
//! `docs/guide/runner-protocol.md` explains it; `fixtures/protocol` holds conversations that this side and
//! the Python side must both accept or reject.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::Layer;
use crate::nanos::{Moment, Nanos};
use crate::phase::Phase;
use crate::suite::Scalar;
use crate::version::Version;

/// The version of this side.
pub const PROTOCOL: Version = Version { major: 1, minor: 1 };

/// The longest line either side may write.
pub const LONGEST_LINE: usize = 4 << 20;

/// A message of a measured process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Message {
    Hello(Hello),
    Phase(PhaseEdge),
    Imports(Imports),
    Event(TimedEvent),
    Memory(MemoryReading),
    Ready(At),
    Iterations(Iterations),
    Settled(Settled),
    Output(Output),
    Failed(Failed),
    Bye(At),
}

/// A request from firstlight to a measured process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Request {
    /// For the hooks: the one process that receives this is watched.
    Watch,
    Prepare(Prepare),
    /// Run the first call.
    First,
    /// Run the workload's own warm-up, or this many calls.
    WarmUp(Iterate),
    /// Run the measured calls.
    Iterate(Iterate),
    /// After the window: run this many more calls, and after each wait for all work that may still be
    /// running.
    Settle(Iterate),
    Finish,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Prepare {
    /// The workload's file, relative to the working directory; absent for custom runners.
    pub workload: Option<String>,
    pub case: String,
    pub parameters: BTreeMap<String, Scalar>,
    pub arm: String,
    pub options: BTreeMap<String, Scalar>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Iterate {
    /// The maximum number of calls.
    pub count: u32,
    /// No call begins after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ns: Option<Nanos>,
    /// This many calls are made however long they take.
    #[serde(default = "one")]
    pub at_least: u32,
}

fn one() -> u32 {
    1
}

/// The kind of program that sends messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Role {
    /// Hooks in an unchanged command.
    Hooks,
    /// A runner that answers requests.
    Runner,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Hello {
    pub protocol: Version,
    pub role: Role,
    pub pid: u32,
    pub language: String,
    /// Name and version of the interpreter or language, such as `cpython 3.11.7`.
    pub runtime: String,
    pub executable: Option<String>,
    /// The time at which the process was created, present if another program started it.
    pub started: Option<Moment>,
    /// Time at which the first line of the runner or the hooks ran.
    pub at: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct At {
    pub at: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Edge {
    Begin,
    End,
}

/// A phase opens or closes. Phases nest; an instant belongs to the innermost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PhaseEdge {
    pub edge: Edge,
    pub name: Phase,
    /// The package, function or part that the phase is about.
    pub label: Option<String>,
    pub at: Moment,
    /// 0 is the main thread; its phases form the ledger.
    pub thread: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

/// Details of a compiled program, known when its phase ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Detail {
    pub framework: Option<String>,
    pub function: Option<String>,
    pub signature: Option<String>,
    /// The digest of the whole signature, if `signature` only shows its beginning.
    pub digest: Option<String>,
    /// The arguments that differ from those of the function's last program in this process.
    pub changed: Option<String>,
    /// The reason why the function was recompiled, if it was: the argument with its old and its new type, a
    /// static argument, a new function object, or the framework's own reason.
    pub cause: Option<String>,
    /// The line of the user's code that caused it, such as `train.py:41 (init)`.
    pub source: Option<String>,
    /// Whether it is a single operation dispatched outside any jitted function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_by_op: Option<bool>,
    pub cache: Option<CacheAnswer>,
}

/// The answer of the cache on disk before a program was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CacheAnswer {
    Hit,
    Miss,
    /// The cache was not queried.
    Off,
}

/// One outermost import, split at every change of the running top-level package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Imports {
    pub thread: u32,
    /// Package, begin, end.
    pub segments: Vec<(String, Moment, Moment)>,
    /// Per package: from its beginning to its end, including its own imports.
    pub cumulative: BTreeMap<String, Nanos>,
    /// Modules compiled from source because no byte code was found, with the time.
    pub sources: u64,
    pub sources_ns: Nanos,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TimedEvent {
    pub at: Moment,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Event {
    Mark(Mark),
    Framework(Framework),
    Device(Device),
    CacheConfig(CacheConfig),
    CacheCounts(CacheCounts),
    AdapterFailed(AdapterFailed),
    ConfigChanged(ConfigChanged),
    WindowReads(WindowReads),
    Tracer(Tracer),
    ProgramHash(ProgramHash),
    Exec(Exec),
    NoBytecode(NoBytecode),
    Collections(Collections),
}

/// A named point; `first-result` ends the time to first result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Mark {
    pub name: String,
}

/// The mark that ends the time to first result.
pub const FIRST_RESULT: &str = "first-result";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Framework {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Device {
    pub platform: String,
    pub devices: Vec<String>,
}

/// The directory in which a framework actually stores its compiled programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CacheConfig {
    pub layer: Layer,
    pub directory: Option<String>,
    pub enabled: bool,
    pub min_compile_seconds: Option<f64>,
    pub min_entry_bytes: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CacheCounts {
    pub layer: Layer,
    pub hits: u64,
    pub misses: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AdapterFailed {
    pub adapter: String,
    pub error: String,
}

/// A setting that changed after the warm-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigChanged {
    pub name: String,
    pub before: String,
    pub after: String,
}

/// Bytes that the process read from files and pipes while the window was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct WindowReads {
    pub bytes: u64,
}

/// A tool that watches every call or instruction was on while the window was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Tracer {
    pub name: String,
}

/// The digest of a compiled program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ProgramHash {
    pub function: String,
    /// The digest of the argument types.
    pub digest: Option<String>,
    /// The digest of the optimised program.
    pub hash: String,
}

/// The process becomes another program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Exec {
    pub command: String,
}

/// The interpreter writes no byte code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct NoBytecode {
    /// Such as `PYTHONDONTWRITEBYTECODE is set`.
    pub why: String,
}

/// Garbage collections while the window was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Collections {
    /// Generation, begin, end.
    pub spans: Vec<(u8, Moment, Moment)>,
    /// Collections beyond those listed.
    #[serde(default)]
    pub unlisted: u64,
}

/// Memory at the end of a phase, and the peak while the phase was the innermost one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct MemoryReading {
    pub at: Moment,
    pub phase: Phase,
    pub rss_bytes: u64,
    pub peak_rss_bytes: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceMemory>,
}

/// A device's memory as its framework reports it; the peak is since the start of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeviceMemory {
    pub device: String,
    pub in_use_bytes: Option<u64>,
    pub peak_bytes: Option<u64>,
}

/// Begin and end of each call, including synchronisation. Long answers are sent in blocks between two calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Iterations {
    #[serde(default)]
    pub part: Part,
    /// Whether this block ends the answer.
    #[serde(default = "yes")]
    pub last: bool,
    /// Number of calls in each span; more than one only if they were timed together.
    #[serde(default = "one_call", skip_serializing_if = "is_one_call")]
    pub calls_per_span: NonZeroU64,
    pub spans: Vec<(Moment, Moment)>,
}

fn yes() -> bool {
    true
}

fn one_call() -> NonZeroU64 {
    NonZeroU64::MIN
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one_call(calls: &NonZeroU64) -> bool {
    *calls == NonZeroU64::MIN
}

impl Iterations {
    /// Calls that were timed one by one.
    pub fn single(part: Part, last: bool, spans: Vec<(Moment, Moment)>) -> Self {
        Self { part, last, calls_per_span: one_call(), spans }
    }

    /// Nanoseconds per call, span by span.
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    pub fn per_call(&self) -> impl Iterator<Item = f64> {
        let calls = self.calls_per_span.get() as f64;
        self.spans.iter().map(move |(begin, end)| end.since(*begin).as_f64() / calls)
    }
}

/// The purpose of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Part {
    /// The first call of a cold start.
    #[default]
    First,
    WarmUp,
    /// The calls that the warm regime measures.
    Window,
    /// The baseline's calls, each directly after its call of the window.
    Baseline,
}

/// Calls after the window: begin, end according to the workload, the end of waiting for all work, and the end
/// of a second wait, which gives the cost of waiting itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Settled {
    pub spans: Vec<(Moment, Moment, Moment, Moment)>,
}

/// The verdict of the workload's check on its result, after the clock stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Output {
    pub check: Check,
    /// Why the check failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Digest of the result's values, types and shapes, if they could be read.
    pub digest: Option<String>,
    /// Every array and number of the result, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<Leaf>,
    /// Leaves that are not listed, because they are unreadable or too many.
    #[serde(default, skip_serializing_if = "is_none_unread")]
    pub unread: u64,
    /// Parameters of the models that the step uses, where a framework distinguishes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ArrayCount>,
    /// Other arrays that the step uses: its arguments, and those in the closures of its functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<ArrayCount>,
}

/// Arrays of one element type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ArrayCount {
    /// The library's own name of the type, such as `float32`.
    pub dtype: String,
    pub arrays: u64,
    /// The total number of elements.
    pub elements: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none_unread(count: &u64) -> bool {
    *count == 0
}

/// One array or number of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Leaf {
    /// The library's own name of the type, such as `float32`.
    pub dtype: String,
    /// The digest of type, shape and bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub shape: Vec<u64>,
    /// Its path in the result, such as `['w'][0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Root mean square of the finite elements; absent if there are none or the leaf is not numeric.
    pub norm: Option<f64>,
    /// All elements of a small leaf; absent ones are not finite. Without `sketch` on a larger leaf these are
    /// only elements at equal distances, as stored by firstlight 0.1.
    pub values: Vec<Option<f64>>,
    /// A compact form of all elements of a larger leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<Sketch>,
    /// Elements that are not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_finite: Option<NotFinite>,
}

/// Sums of a leaf's finite elements, which are distributed over blocks by their places, each with a random
/// sign. One element that differs shows in its block; elements that all differ a little show in all blocks.
/// The reference is `_outputs.py` on the Python side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Sketch {
    pub sums: Vec<f64>,
}

/// The number and the places of elements that are not finite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct NotFinite {
    pub nan: u64,
    pub positive: u64,
    pub negative: u64,
    /// The digest of their kinds and positions.
    pub digest: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Check {
    Passed,
    Failed,
    /// The workload has no check.
    NotGiven,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Failed {
    pub at: Moment,
    pub error: String,
    /// The last lines of the traceback.
    pub traceback: String,
}
