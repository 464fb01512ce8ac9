//! Puts the events of a JSON trace onto their lines, and keeps what its header says.

use firstlight_schema::trace::{NoticeName, TraceFormat};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::decimal::nanoseconds;
use super::json_event::{Args, Id, JsonEvent};
use crate::error::Result;
use crate::limits::{Limits, Meter};
use crate::model::{Detail, Events, Facts, Line, Place, Trace};
use crate::names::{Category, NameId, Names};

/// Inputs longer than this explain nothing to anybody.
const LONGEST_INPUTS: usize = 1 << 16;

pub(crate) struct Collector {
    names: Names,
    lines: Vec<Line>,
    details: Vec<Detail>,
    programs: FxHashMap<(Option<i64>, Option<NameId>), u32>,
    by_id: FxHashMap<(Id<'static>, Id<'static>), usize>,
    /// Events mostly come in runs of one thread.
    last: Option<(Id<'static>, Id<'static>, usize)>,
    groups: FxHashMap<Id<'static>, String>,
    threads: FxHashMap<(Id<'static>, Id<'static>), String>,
    facts: Facts,
    kineto: bool,
    negative: u64,
    untimed: u64,
    meter: Meter,
}

#[derive(Deserialize)]
struct Device {
    name: Option<String>,
}

impl Collector {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            names: Names::default(),
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
            meter: Meter::new(limits),
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
                // Eight of a kind are told once.
                facts.devices.dedup();
            }
            "record_shapes" => facts.shapes = Some(value == "1" || value == "true"),
            "host_name" => facts.hosts.push(value.trim_matches('"').to_owned()),
            key => {
                if let Some(of) = key.strip_suffix("_version") {
                    let version = value.trim_matches('"').to_owned();
                    facts.versions.push((of.replace('_', "-"), version));
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
            // Flows, counters and instants take no time.
            _ => Ok(()),
        }
    }

    fn complete(&mut self, event: &JsonEvent<'_>, at: u64) -> Result<()> {
        let category = Category::of(&event.cat.0);
        // `Trace` and the like span everything on a line of their own.
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
            self.meter.bytes(event.name.0.len() as u64 + 32, at)?;
        }
        self.meter.event(at)?;
        let detail = self.detail(event, category, at)?;
        let line = self.line(event, category);
        self.lines[line].events.push(name, start, duration, detail);
        Ok(())
    }

    fn detail(&mut self, event: &JsonEvent<'_>, category: Category, at: u64) -> Result<u32> {
        let Some(raw) = event.args else { return Ok(0) };
        let wanted = match category {
            // JAX's converter writes no categories.
            Category::None
            | Category::Kernel
            | Category::Memcpy
            | Category::Memset
            | Category::CudaRuntime => true,
            Category::CpuOp => event.name.0 == "CompiledFunction",
            Category::UserAnnotation
            | Category::GpuUserAnnotation
            | Category::PythonFunction
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
        } else if args.program_id.number().is_some() || !args.hlo_module.0.is_empty() {
            let module = (!args.hlo_module.0.is_empty())
                .then(|| self.names.intern(Category::None, &args.hlo_module.0));
            let key = (args.program_id.number(), module);
            if let Some(&known) = self.programs.get(&key) {
                return Ok(known);
            }
            self.programs.insert(key, u32::try_from(self.details.len()).unwrap_or(0));
            Detail::Program { id: key.0, module }
        } else if let Some(dims) = args.input_dims {
            let types = args.input_type.map_or("", |raw| raw.get());
            let text = format!("{}\n{types}", dims.get());
            if text.len() > LONGEST_INPUTS {
                return Ok(0);
            }
            self.meter.bytes(text.len() as u64, at)?;
            Detail::Inputs(self.names.intern(Category::Other, &text))
        } else {
            return Ok(0);
        };
        self.meter.bytes(size_of::<Detail>() as u64, at)?;
        self.details.push(detail);
        Ok(u32::try_from(self.details.len() - 1).expect("fewer details than 2^32"))
    }

    fn line(&mut self, event: &JsonEvent<'_>, category: Category) -> usize {
        if let Some((pid, tid, line)) = &self.last
            && *pid == event.pid
            && *tid == event.tid
        {
            return *line;
        }
        let key = (event.pid.clone().into_owned(), event.tid.clone().into_owned());
        let lines = &mut self.lines;
        let line = *self.by_id.entry(key.clone()).or_insert_with(|| {
            let place = if category.on_device() { Place::Device } else { Place::Host };
            lines.push(Line {
                group: String::new(),
                name: String::new(),
                id: key.1.number().unwrap_or(0),
                place,
                events: Events::default(),
            });
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

    pub(crate) fn finish(mut self, bytes: u64) -> Trace {
        for ((pid, tid), &line) in &self.by_id {
            let line = &mut self.lines[line];
            line.group = self.groups.get(pid).cloned().unwrap_or_else(|| pid.to_string());
            let name = self.threads.get(&(pid.clone(), tid.clone()));
            line.name = name.cloned().unwrap_or_else(|| tid.to_string());
            if line.group.starts_with("/device:") {
                line.place = Place::Device;
            }
        }
        let kineto = self.kineto
            || self
                .names
                .ids()
                .any(|id| !matches!(self.names.category(id), Category::None | Category::Other));
        let jax = self.groups.values().any(|name| name == "/host:CPU");
        let format = match () {
            () if kineto => TraceFormat::Kineto,
            () if jax => TraceFormat::JaxJson,
            () => TraceFormat::ChromeJson,
        };
        let mut trace = Trace {
            format,
            names: self.names,
            lines: self.lines,
            details: self.details,
            facts: self.facts,
            programs: Vec::new(),
            notices: Vec::new(),
            bytes,
        };
        if self.negative > 0 {
            let text = format!("{} events last less than no time; taken as none", self.negative);
            trace.notice(NoticeName::NegativeDuration, text);
        }
        if self.untimed > 0 {
            let text = format!("{} events have no time that is a number; left out", self.untimed);
            trace.notice(NoticeName::NoTime, text);
        }
        trace
    }
}
