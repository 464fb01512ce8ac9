//! A trace in memory: lines of events in nanoseconds, independent of the file format.

use std::num::NonZeroU32;

use firstlight_schema::trace::{Notice, NoticeName, ProgramMemory, TraceFormat, TracerLevels};

use crate::names::{NameId, Names};
use crate::read::FOREVER;

/// A recording.
#[derive(Debug)]
pub struct Trace {
    pub format: TraceFormat,
    pub names: Names,
    pub lines: Vec<Line>,
    /// Rare properties of events; events hold an index, and the first entry is empty.
    pub details: Vec<Detail>,
    pub facts: Facts,
    pub programs: Vec<Program>,
    /// Memory handed out by allocators, sorted by time.
    pub memory: Vec<MemorySample>,
    pub notices: Vec<Notice>,
    /// The size of the unpacked file.
    pub bytes: u64,
}

impl Trace {
    pub fn events(&self) -> usize {
        self.lines.iter().map(Line::count).sum()
    }

    pub(crate) fn detail(&self, line: &Line, index: usize) -> &Detail {
        &self.details[line.events.detail[index] as usize]
    }

    /// Sets the start of the events' clock, which the file gives on its own clock.
    pub(crate) fn began_with(&mut self, first: i64) {
        for sample in &mut self.memory {
            sample.at = sample.at.saturating_sub(first).clamp(0, FOREVER);
        }
        self.memory.sort_by_key(|sample| sample.at);
        if let Some(began) = &mut self.facts.began {
            *began = began.saturating_add(first);
        }
    }

    pub(crate) fn notice(&mut self, name: NoticeName, text: impl Into<String>) {
        self.notices.push(Notice { name, text: text.into() });
    }
}

/// Memory handed out by an allocator at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySample {
    pub at: i64,
    pub allocator: NameId,
    pub bytes: u64,
}

/// Metadata of a recording.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Names and versions, such as `jaxlib` and `0.10.2`.
    pub versions: Vec<(String, String)>,
    pub devices: Vec<String>,
    pub hosts: Vec<String>,
    pub tracer: Option<TracerLevels>,
    /// Whether operators have their input shapes.
    pub shapes: Option<bool>,
    /// The start of the events' clock, in nanoseconds since 1970.
    pub began: Option<i64>,
}

impl Facts {
    pub fn version(&self, wanted: &str) -> Option<&str> {
        self.versions.iter().find(|(name, _)| name == wanted).map(|(_, version)| version.as_str())
    }
}

/// Whether a line belongs to a thread or to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Host,
    Device,
}

/// A thread of a host, or a stream of a device.
#[derive(Debug)]
pub struct Line {
    /// The plane or the process.
    pub group: String,
    pub name: String,
    /// Its number within its group in the file.
    pub id: i64,
    pub place: Place,
    pub events: Events,
    /// A summary of its events, if they are read in pieces.
    pub(crate) tally: Option<Tally>,
}

impl Line {
    pub(crate) fn new(group: String, place: Place) -> Self {
        Self { group, name: String::new(), id: 0, place, events: Events::default(), tally: None }
    }

    /// The number of its events, in memory or not.
    pub(crate) fn count(&self) -> usize {
        let tally = self.tally.as_ref().map(|tally| usize::try_from(tally.events));
        tally.map_or(self.events.len(), |events| events.unwrap_or(usize::MAX))
    }
}

/// Counts of a line's events that identify the thread with the steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    /// Steps of JAX, and those with a duration.
    pub(crate) steps: u64,
    pub(crate) timed_steps: u64,
    pub(crate) calls: u64,
    /// Steps of PyTorch.
    pub(crate) profiler_steps: u64,
    pub(crate) timed_profiler_steps: u64,
}

impl Tally {
    /// Whether a name is that of a call, or of a step of PyTorch.
    pub(crate) fn kind(names: &Names, name: NameId) -> (bool, bool) {
        let (category, text) = (names.category(name), names.text(name));
        (crate::rules::is_call(text), crate::rules::is_profiler_step(category, text))
    }

    pub(crate) fn add(&mut self, (call, step): (bool, bool), duration: i64, detail: &Detail) {
        let timed = u64::from(duration > 0);
        self.events += 1;
        self.calls += u64::from(call);
        if step {
            self.profiler_steps += 1;
            self.timed_profiler_steps += timed;
        }
        if matches!(detail, Detail::Step(_)) {
            self.steps += 1;
            self.timed_steps += timed;
        }
    }

    /// The sum for a line that appears twice.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            events: self.events + other.events,
            steps: self.steps + other.steps,
            timed_steps: self.timed_steps + other.timed_steps,
            calls: self.calls + other.calls,
            profiler_steps: self.profiler_steps + other.profiler_steps,
            timed_profiler_steps: self.timed_profiler_steps + other.timed_profiler_steps,
        }
    }

    /// The counts of every line.
    pub(crate) fn per_line(trace: &Trace) -> Vec<Self> {
        let kinds: Vec<(bool, bool)> =
            trace.names.ids().map(|id| Self::kind(&trace.names, id)).collect();
        let count = |line: &Line| {
            let mut tally = Self::default();
            for (index, name) in line.events.name.iter().enumerate() {
                let duration = line.events.duration[index];
                tally.add(kinds[name.index()], duration, trace.detail(line, index));
            }
            tally
        };
        trace.lines.iter().map(|line| line.tally.clone().unwrap_or_else(|| count(line))).collect()
    }
}

/// The events of a line, column by column; after reading they are sorted by start, enclosing events first.
#[derive(Debug, Default)]
pub struct Events {
    pub name: Vec<NameId>,
    pub start: Vec<i64>,
    pub duration: Vec<i64>,
    pub detail: Vec<u32>,
}

impl Events {
    pub(crate) fn push(&mut self, name: NameId, start: i64, duration: i64, detail: u32) {
        self.name.push(name);
        self.start.push(start);
        self.duration.push(duration);
        self.detail.push(detail);
    }

    pub fn len(&self) -> usize {
        self.name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    pub(crate) fn end(&self, index: usize) -> i64 {
        self.start[index].saturating_add(self.duration[index])
    }

    /// Sorts the events by start; for equal starts the longer first.
    pub(crate) fn sort(&mut self) {
        let key = |i: usize| (self.start[i], std::cmp::Reverse(self.duration[i]));
        if (1..self.len()).all(|i| key(i - 1) <= key(i)) {
            return;
        }
        let count = u32::try_from(self.len()).expect("fewer events than 2^32 on a line");
        let mut order: Vec<u32> = (0..count).collect();
        // Stable, so that equal events keep the file's order.
        order.sort_by_key(|&i| key(i as usize));
        permute(&mut self.name, &order);
        permute(&mut self.start, &order);
        permute(&mut self.duration, &order);
        permute(&mut self.detail, &order);
    }
}

fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|&i| column[i as usize]).collect();
}

/// A rare property of an event besides its name and time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    Nothing,
    /// The number of a step.
    Step(i64),
    /// The compiled program of an event, and its run.
    Program {
        id: Option<i64>,
        module: Option<NameId>,
        run: Option<Run>,
    },
    /// The start of a wait that ends with the event of the same number.
    Produces(u64),
    Consumes(u64),
    /// The common number of a launch and the launched kernel.
    Correlation(u64),
    /// Input shapes and types of an operator, as text.
    Inputs(NameId),
}

/// Events of the processor that name their run but no program.
pub(crate) const COMPLETION: &str = "ThunkExecutor::Execute";

/// A run of a program on one device of the host: enough of both numbers to distinguish it from the previous
/// run on the same thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run(NonZeroU32);

/// A program by number and module, and a run of it.
pub(crate) type ProgramRun = (Option<i64>, Option<NameId>, Option<Run>);

impl Run {
    const DEVICES: u32 = 127;

    /// The number of the device; devices beyond the last distinguishable one share its number.
    pub(crate) fn device(self) -> u32 {
        (self.0.get() >> 1) & Self::DEVICES
    }

    pub(crate) fn new(run: i64, device: Option<i64>) -> Self {
        let device = u32::try_from(device.unwrap_or(0))
            .map_or(Self::DEVICES, |device| device.min(Self::DEVICES));
        let run = u32::try_from(run & 0xff_ffff).expect("24 bits");
        Self(NonZeroU32::MIN | (run << 8) | (device << 1))
    }
}

/// A compiled program whose code is in the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub id: i64,
    /// `jit_step`
    pub module: String,
    pub parameters: Vec<Parameter>,
    /// Names of its operators that call host code.
    pub callbacks: Vec<String>,
    /// A digest of the code without names and source locations, so that equal programs have the same digest.
    pub digest: u64,
    /// `None` if the recording does not contain it.
    pub memory: Option<ProgramMemory>,
}

/// A parameter of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The argument's own name, if the compiler kept it.
    pub name: String,
    /// `f32[64,128]`
    pub shape: String,
}
