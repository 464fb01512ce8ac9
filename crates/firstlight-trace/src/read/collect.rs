//! Distributes the events of a JSON trace over their lines, and keeps its header.

use firstlight_schema::trace::{NoticeName, TraceFormat};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::decimal::nanoseconds;
use super::json_event::{Args, Id, JsonEvent};
use super::sieve::Sieve;
use crate::error::Result;
use crate::model::{
    COMPLETION, Detail, Events, Facts, Line, MemorySample, Place, ProgramRun, Run, Trace,
};
use crate::names::{Category, NameId, Names};

/// Longer inputs explain nothing to a reader.
const LONGEST_INPUTS: usize = 1 << 16;
/// The number of operators of a compiled region whose inputs are kept.
const FIRST_OPERATORS: u8 = 8;

pub(crate) struct Collector {
    names: Names,
    lines: Vec<Line>,
    details: Vec<Detail>,
    programs: FxHashMap<ProgramRun, u32>,
    by_id: FxHashMap<(Id<'static>, Id<'static>), usize>,
    /// Consecutive events are usually on one thread.
    last: Option<(Id<'static>, Id<'static>, usize)>,
    groups: FxHashMap<Id<'static>, String>,
    threads: FxHashMap<(Id<'static>, Id<'static>), String>,
    facts: Facts,
    kineto: bool,
    negative: u64,
    untimed: u64,
    /// The current compiled region: its line, its end, and the number of further operators whose inputs are
    /// kept.
    region: Option<(usize, i64, u8)>,
    memory: Vec<MemorySample>,
    sieve: Sieve,
}

/// The name of the events of allocators.
const MEMORY: &str = "[memory]";

#[derive(Deserialize)]
struct Memory {
    #[serde(rename = "Total Allocated")]
    allocated: i64,
    #[serde(rename = "Device Type", default)]
    kind: i64,
    #[serde(rename = "Device Id", default)]
    device: i64,
}

#[derive(Deserialize)]
struct Device {
    name: Option<String>,
}

impl Collector {
    /// `names` are those of an earlier pass, if there was one.
    pub(crate) fn new(sieve: Sieve, names: Names) -> Self {
        Self {
            names,
            lines: Vec::new(),
            details: vec![Detail::Nothing],
            programs: FxHashMap::default(),
            by_id: FxHashMap::default(),
            last: None,
            groups: FxHashMap::default(),
            threads: FxHashMap::default(),
            facts: Facts::default(),
            kineto: false,
            negative: 0,
            untimed: 0,
            region: None,
            memory: Vec::new(),
            sieve,
        }
    }

    /// A field beside the events; `key` with its quotes.
    pub(crate) fn header(&mut self, key: &str, value: &str) {
        let facts = &mut self.facts;
        match key.trim_matches('"') {
            "baseTimeNanoseconds" => {
                facts.began = value.parse().ok();
                self.kineto = true;
            }
            "schemaVersion" => self.kineto = true,
            "deviceProperties" => {
                self.kineto = true;
                let devices = serde_json::from_str::<Vec<Device>>(value).unwrap_or_default();
                facts.devices.extend(devices.into_iter().filter_map(|device| device.name));
                // Eight devices of a kind are listed once.
                facts.devices.dedup();
            }
            "record_shapes" => facts.shapes = Some(value == "1" || value == "true"),
            "host_name" => facts.hosts.push(value.trim_matches('"').to_owned()),
            key => {
                if let Some(package) = key.strip_suffix("_version") {
                    let version = value.trim_matches('"').to_owned();
                    facts.versions.push((package.replace('_', "-"), version));
                }
            }
        }
    }

    pub(crate) fn event(&mut self, event: &JsonEvent<'_>, at: u64) -> Result<()> {
        match event.ph.0.as_ref() {
            "X" => self.complete(event, at),
            "M" => {
                self.metadata(event);
                Ok(())
            }
            "i" if event.name.0 == MEMORY => self.memory(event, at),
            // Flows, counters and other instants have no duration.
            _ => Ok(()),
        }
    }

    /// The memory handed out by an allocator of PyTorch.
    fn memory(&mut self, event: &JsonEvent<'_>, at: u64) -> Result<()> {
        let time = event.ts.and_then(|raw| nanoseconds(raw.get().trim_matches('"')));
        let args = event.args.and_then(|raw| serde_json::from_str::<Memory>(raw.get()).ok());
        let (Some(time), Some(args)) = (time, args) else { return Ok(()) };
        let name = match args.kind {
            0 => "CPU".to_owned(),
            1 => format!("GPU {}", args.device),
            kind => format!("device type {kind}, {}", args.device),
        };
        let allocator = self.names.intern(Category::Other, &name);
        if !self.sieve.rereads() {
            self.sieve.bytes(size_of::<MemorySample>() as u64, at)?;
            let bytes = u64::try_from(args.allocated).unwrap_or(0);
            self.memory.push(MemorySample { at: time, allocator, bytes });
        }
        Ok(())
    }

    fn complete(&mut self, event: &JsonEvent<'_>, at: u64) -> Result<()> {
        let category = Category::parse(&event.cat.0);
        // `Trace` and similar events span the whole recording on a separate line.
        if category == Category::Other && event.cat.0 == "Trace" {
            return Ok(());
        }
        let time = |raw: Option<&serde_json::value::RawValue>| {
            raw.and_then(|raw| nanoseconds(raw.get().trim_matches('"')))
        };
        let (Some(start), duration) = (time(event.ts), time(event.dur)) else {
            self.untimed += 1;
            return Ok(());
        };
        let mut duration = duration.unwrap_or(0);
        if duration < 0 {
            self.negative += 1;
            duration = 0;
        }
        let before = self.names.len();
        let name = self.names.intern(category, &event.name.0);
        if self.names.len() > before {
            self.sieve.bytes(event.name.0.len() as u64 + 32, at)?;
        }
        let line = self.line(event);
        if category.on_device() {
            self.lines[line].place = Place::Device;
        }
        let asked = category == Category::CpuOp && self.asks(event, line, start, duration);
        if !self.sieve.wants(start) {
            return Ok(());
        }
        self.sieve.event(at)?;
        let detail = self.detail(event, category, asked, at)?;
        if self.sieve.keeps() {
            self.lines[line].events.push(name, start, duration, detail);
        } else {
            self.pass(line, (name, start, duration), detail);
        }
        Ok(())
    }

    /// Whether an operator's inputs may explain a compilation: those of a compiled function, or of the first
    /// operators in a compiled region. A region comes before its content.
    fn asks(&mut self, event: &JsonEvent<'_>, line: usize, start: i64, duration: i64) -> bool {
        let name = event.name.0.as_ref();
        if name.starts_with("Torch-Compiled Region") {
            self.region = Some((line, start.saturating_add(duration), FIRST_OPERATORS));
        }
        match &mut self.region {
            _ if name == "CompiledFunction" => true,
            Some((own, end, left)) if *own == line && start < *end && *left > 0 => {
                let operator = name.starts_with("aten::");
                *left -= u8::from(operator);
                operator
            }
            _ => false,
        }
    }

    /// Drops an event, and all previous ones if they exceed the budget.
    fn pass(&mut self, line: usize, event: (NameId, i64, i64), detail: u32) {
        let known = self.details[detail as usize];
        self.sieve.pass(&mut self.lines[line], &self.names, event, &known);
        if self.sieve.drops() {
            for line in &mut self.lines {
                line.events = Events::default();
            }
        }
        if !matches!(known, Detail::Nothing | Detail::Program { .. }) {
            self.details.truncate(detail as usize);
        }
    }

    fn detail(
        &mut self,
        event: &JsonEvent<'_>,
        category: Category,
        asked: bool,
        at: u64,
    ) -> Result<u32> {
        let Some(raw) = event.args else { return Ok(0) };
        let wanted = match category {
            // JAX's converter writes no categories.
            Category::None
            | Category::Kernel
            | Category::Memcpy
            | Category::Memset
            | Category::CudaRuntime => true,
            Category::CpuOp => asked,
            Category::UserAnnotation
            | Category::GpuUserAnnotation
            | Category::PythonFunction
            | Category::DeviceSync
            | Category::Overhead
            | Category::Other => false,
        };
        if !wanted {
            return Ok(0);
        }
        let Ok(args) = serde_json::from_str::<Args<'_>>(raw.get()) else { return Ok(0) };
        let detail = if let Some(step) = args.step_num.number() {
            Detail::Step(step)
        } else if let Some(id) = args.correlation.number() {
            Detail::Correlation(id.unsigned_abs())
        } else if args.program_id.number().is_some()
            || !args.hlo_module.0.is_empty()
            || (args.run_id.number().is_some() && event.name.0.starts_with(COMPLETION))
        {
            let module = (!args.hlo_module.0.is_empty())
                .then(|| self.names.intern(Category::None, &args.hlo_module.0));
            let run = args.run_id.number().filter(|_| self.sieve.keeps());
            let run = run.map(|run| Run::new(run, args.device_ordinal.number()));
            let key = (args.program_id.number(), module, run);
            if let Some(&known) = self.programs.get(&key) {
                return Ok(known);
            }
            self.programs.insert(key, u32::try_from(self.details.len()).unwrap_or(0));
            Detail::Program { id: key.0, module, run }
        } else if let Some(dims) = args.input_dims {
            let types = args.input_type.map_or("", |raw| raw.get());
            let text = format!("{}\n{types}", dims.get());
            if text.len() > LONGEST_INPUTS {
                return Ok(0);
            }
            self.sieve.bytes(text.len() as u64, at)?;
            Detail::Inputs(self.names.intern(Category::Other, &text))
        } else {
            return Ok(0);
        };
        self.sieve.detail(&detail, at)?;
        self.details.push(detail);
        Ok(u32::try_from(self.details.len() - 1).expect("fewer details than 2^32"))
    }

    fn line(&mut self, event: &JsonEvent<'_>) -> usize {
        if let Some((pid, tid, line)) = &self.last
            && *pid == event.pid
            && *tid == event.tid
        {
            return *line;
        }
        let key = (event.pid.clone().into_owned(), event.tid.clone().into_owned());
        let lines = &mut self.lines;
        let line = *self.by_id.entry(key.clone()).or_insert_with(|| {
            let id = key.1.number().unwrap_or(0);
            lines.push(Line { id, ..Line::new(String::new(), Place::Host) });
            lines.len() - 1
        });
        self.last = Some((key.0, key.1, line));
        line
    }

    fn metadata(&mut self, event: &JsonEvent<'_>) {
        let Some(raw) = event.args else { return };
        let Ok(args) = serde_json::from_str::<Args<'_>>(raw.get()) else { return };
        if args.name.0.is_empty() {
            return;
        }
        let name = args.name.0.into_owned();
        let (pid, tid) = (event.pid.clone().into_owned(), event.tid.clone().into_owned());
        match event.name.0.as_ref() {
            "process_name" => {
                self.groups.insert(pid, name);
            }
            "thread_name" => {
                self.threads.insert((pid, tid), name);
            }
            _ => {}
        }
    }

    pub(crate) fn finish(mut self, bytes: u64) -> (Trace, Sieve) {
        for ((pid, tid), &line) in &self.by_id {
            let line = &mut self.lines[line];
            line.group = self.groups.get(pid).cloned().unwrap_or_else(|| pid.to_string());
            let name = self.threads.get(&(pid.clone(), tid.clone()));
            line.name = name.cloned().unwrap_or_else(|| tid.to_string());
            if line.group.starts_with("/device:") {
                line.place = Place::Device;
            } else if line.place == Place::Device {
                // Kineto gives all devices the name of the process.
                line.group = format!("GPU {pid}");
            }
        }
        let kineto = self.kineto
            || self
                .names
                .ids()
                .any(|id| !matches!(self.names.category(id), Category::None | Category::Other));
        let jax = self.groups.values().any(|name| name == "/host:CPU");
        let format = if kineto {
            TraceFormat::Kineto
        } else if jax {
            TraceFormat::JaxJson
        } else {
            TraceFormat::ChromeJson
        };
        let mut trace = Trace {
            format,
            names: self.names,
            lines: self.lines,
            details: self.details,
            facts: self.facts,
            programs: Vec::new(),
            memory: self.memory,
            notices: Vec::new(),
            bytes,
        };
        if self.negative > 0 {
            let text =
                format!("{} events have a negative duration, which was set to zero", self.negative);
            trace.notice(NoticeName::NegativeDuration, text);
        }
        if self.untimed > 0 {
            let text = format!("{} events without a valid time were skipped", self.untimed);
            trace.notice(NoticeName::NoTime, text);
        }
        (trace, self.sieve)
    }
}
