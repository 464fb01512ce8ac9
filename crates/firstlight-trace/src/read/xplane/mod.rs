//! `xplane.pb`, the JAX profiler's own format (`XSpace` of tsl's `xplane.proto`).
//!
//! A plane's lines come before the names of their events, so each plane is read twice: once without the
//! lines, then line by line. Only one event's bytes are in memory at a time, in addition to the kept data.

mod ids;
mod stats;
mod walk;

use std::io::{Read, Seek};

use firstlight_schema::trace::{NoticeName, TraceFormat, TracerLevels};
use prost::Message;
use rustc_hash::FxHashMap;

use super::hlo;
use super::messages::{ProfileOptions, StatValue, XStat, XStatMetadata};
use super::pieces::Pieces;
use super::sieve::Sieve;
use super::wire::{Field, Fields, signed};
use crate::error::{Problem, Result};
use crate::model::{
    COMPLETION, Detail, Events, Facts, Line, MemorySample, Place, Program, ProgramRun, Run, Trace,
};
use crate::names::{Category, NameId, Names};

use ids::ById;
use stats::{Found, Stats, Wanted, hlo_proto};
use walk::{Head, LONGEST_EVENT};

/// `names` are those of an earlier pass, if there was one.
pub(crate) fn read(
    source: impl Read + Seek,
    bytes: u64,
    sieve: Sieve,
    names: Names,
) -> Result<(Trace, Sieve)> {
    let mut reader = Reader {
        pieces: Pieces::new(source),
        bytes,
        sieve,
        negative: 0,
        trace: Trace {
            format: TraceFormat::Xplane,
            names,
            lines: Vec::new(),
            details: vec![Detail::Nothing],
            facts: Facts::default(),
            programs: Vec::new(),
            memory: Vec::new(),
            notices: Vec::new(),
            bytes,
        },
    };
    reader.space()?;
    if reader.negative > 0 {
        let text =
            format!("{} events have a negative duration, which was set to zero", reader.negative);
        reader.trace.notice(NoticeName::NegativeDuration, text);
    }
    Ok((reader.trace, reader.sieve))
}

struct Reader<R> {
    pieces: Pieces<R>,
    bytes: u64,
    sieve: Sieve,
    negative: u64,
    trace: Trace,
}

/// The data of a plane except its lines.
#[derive(Default)]
struct Plane {
    name: String,
    device: bool,
    /// The kind of an event, by the id of its metadata.
    kinds: ById<Kind>,
    /// The common properties of all events of a kind; the first entry is empty.
    constants: Vec<Found>,
    stats: ById<Wanted>,
    texts: FxHashMap<i64, String>,
    /// Names that stats refer to.
    references: ById<NameId>,
    lines: Vec<(u64, u64)>,
    /// Cached details by the programs' numbers.
    details: FxHashMap<(Option<i64>, Option<NameId>), u32>,
    /// The current run: events of one run are consecutive on a line.
    running: Option<(ProgramRun, u32)>,
}

impl Plane {
    /// The name that a stat refers to.
    fn reference(&mut self, id: i64, names: &mut Names) -> Option<NameId> {
        if let Some(&name) = self.references.get(id) {
            return Some(name);
        }
        let name = names.intern(Category::None, self.texts.get(&id)?);
        self.references.insert(id, name);
        Some(name)
    }
}

/// What the metadata of events defines.
#[derive(Clone, Copy)]
struct Kind {
    name: NameId,
    /// Whether its events begin or end a wait, if they have a number.
    waits: bool,
    /// Whether its events end a run of a program.
    completes: bool,
    /// An index into the plane's constants.
    constants: u32,
}

impl Kind {
    fn new(name: NameId, text: &str) -> Self {
        let (waits, completes) = (text.contains("Await"), text.starts_with(COMPLETION));
        Self { name, waits, completes, constants: 0 }
    }
}

impl<R: Read + Seek> Reader<R> {
    fn space(&mut self) -> Result<()> {
        while let Some(head) = self.head(self.bytes)? {
            match head {
                Head::Stretch { number: 1, from, to } => self.plane(from, to)?,
                Head::Stretch { number, from, to } => {
                    let text = self.text(from, to)?;
                    match number {
                        2 => self.trace.notice(NoticeName::ErrorInFile, text),
                        3 => self.trace.notice(NoticeName::WarningInFile, text),
                        4 => self.trace.facts.hosts.push(text),
                        _ => {}
                    }
                }
                Head::Number(..) => {}
            }
        }
        Ok(())
    }

    fn plane(&mut self, from: u64, to: u64) -> Result<()> {
        let mut plane = Plane { constants: vec![Found::default()], ..Plane::default() };
        let (mut events, mut own) = (Vec::new(), Vec::new());
        self.pieces.seek(from)?;
        while let Some(head) = self.head(to)? {
            let Head::Stretch { number, from, to } = head else { continue };
            match number {
                2 => plane.name = self.text(from, to)?,
                3 => {
                    plane.lines.push((from, to));
                    self.pieces.seek(to)?;
                }
                4 => {
                    events.push((from, to));
                    self.pieces.seek(to)?;
                }
                5 => {
                    let bytes = self.entry(from, to)?;
                    self.stat_metadata(&mut plane, &bytes, from)?;
                }
                6 => own.push(self.entry(from, to)?),
                _ => self.pieces.seek(to)?,
            }
        }
        // Entries of the map come in any order, and an event's constants need the stats' names.
        for (from, to) in events {
            let bytes = self.entry(from, to)?;
            self.event_metadata(&mut plane, &bytes, from)?;
        }
        self.facts(&plane, &own);
        plane.device = plane.name.starts_with("/device:");
        for (from, to) in std::mem::take(&mut plane.lines) {
            self.line(&mut plane, from, to)?;
        }
        self.pieces.seek(to)
    }

    fn stat_metadata(&mut self, plane: &mut Plane, entry: &[u8], base: u64) -> Result<()> {
        let (key, value) = map_entry(entry, base)?;
        let Ok(metadata) = XStatMetadata::decode(value) else {
            return Err(Problem::Corrupt { at: base, what: "a stat's metadata".to_owned() });
        };
        let id = if metadata.id == 0 { key } else { metadata.id };
        let name = String::from_utf8_lossy(&metadata.name).into_owned();
        if let Some(wanted) = Wanted::parse(&name) {
            plane.stats.insert(id, wanted);
        }
        self.sieve.bytes(name.len() as u64 + 48, base)?;
        plane.texts.insert(id, name);
        Ok(())
    }

    fn event_metadata(&mut self, plane: &mut Plane, entry: &[u8], base: u64) -> Result<()> {
        let (key, value) = map_entry(entry, base)?;
        let mut id = key;
        let (mut name, mut display) = (None, None);
        let mut found = Found::default();
        let mut proto = None;
        let mut fields = Fields::new(value, base);
        while let Some(field) = fields.next_field()? {
            match field {
                Field::Varint(1, value) => id = signed(value),
                Field::Bytes(2, text) => name = Some(text),
                Field::Bytes(4, text) => display = Some(text),
                Field::Bytes(5, stat) => {
                    self.stat(plane, stat, fields.offset(), &mut found)?;
                    if let Some(bytes) = hlo_proto(plane, stat) {
                        proto = Some(bytes);
                    }
                }
                Field::Varint(..) | Field::Bytes(..) | Field::Fixed => {}
            }
        }
        if let Some(bytes) = proto {
            self.program(found.program, &bytes, base)?;
        }
        let text = name.filter(|name| !name.is_empty()).or(display).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        self.sieve.bytes(text.len() as u64 + 48, base)?;
        let mut kind = Kind::new(self.trace.names.intern(Category::None, &text), &text);
        if found.program.is_some() || found.module.is_some() || found.step.is_some() {
            kind.constants = index(plane.constants.len());
            plane.constants.push(found);
        }
        plane.kinds.insert(id, kind);
        Ok(())
    }

    fn program(&mut self, id: Option<i64>, proto: &[u8], base: u64) -> Result<()> {
        if self.sieve.rereads() {
            return Ok(());
        }
        // If a program is invalid, its explanation is lost, but not the trace.
        if let Ok(Some(hlo::Signature { module, parameters, callbacks, digest, memory })) =
            hlo::signature(proto, base)
        {
            let kept: usize = parameters.iter().map(|p| p.name.len() + p.shape.len() + 64).sum();
            let names: usize = callbacks.iter().map(|name| name.len() + 24).sum();
            self.sieve.bytes((kept + names) as u64, base)?;
            let id = id.unwrap_or(-1);
            let program = Program { id, module, parameters, callbacks, digest, memory };
            self.trace.programs.push(program);
        }
        Ok(())
    }

    fn facts(&mut self, plane: &Plane, stats: &[Vec<u8>]) {
        let facts = &mut self.trace.facts;
        for bytes in stats {
            let Ok(stat) = XStat::decode(bytes.as_slice()) else { continue };
            let Some(name) = plane.texts.get(&stat.metadata_id) else { continue };
            let text = match &stat.value {
                Some(StatValue::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                Some(StatValue::Reference(id)) => {
                    plane.texts.get(&signed(*id)).cloned().unwrap_or_default()
                }
                Some(StatValue::Signed(number)) => number.to_string(),
                Some(StatValue::Unsigned(number)) => number.to_string(),
                Some(StatValue::Bytes(bytes)) if name == "profile_options" => {
                    facts.tracer =
                        ProfileOptions::decode(bytes.as_slice()).ok().as_ref().map(levels);
                    continue;
                }
                Some(StatValue::Bytes(_) | StatValue::Double(_)) | None => continue,
            };
            match name.as_str() {
                "profile_start_time" => facts.began = text.parse().ok(),
                "gpu_device_name" | "device_type_string" => facts.devices.push(text),
                _ => {
                    if let Some(package) = name.strip_suffix("_version") {
                        facts.versions.push((package.replace('_', "-"), text));
                    }
                }
            }
        }
    }

    fn line(&mut self, plane: &mut Plane, from: u64, to: u64) -> Result<()> {
        let on = if plane.device { Place::Device } else { Place::Host };
        let mut line = Line::new(plane.name.clone(), on);
        // The line's time may come after its events; events before it are read without it.
        let (mut began, mut timed, mut late) = (0_i64, false, 0);
        let samples = self.trace.memory.len();
        let mut late_samples = samples;
        // Except if it must be known immediately.
        let mut ahead = (!self.sieve.chooses()).then_some(0);
        self.pieces.seek(from)?;
        while let Some(head) = self.head(to)? {
            match head {
                Head::Number(1, id) => line.id = signed(id),
                Head::Number(3, ns) => (began, timed) = (signed(ns), true),
                Head::Number(..) => {}
                Head::Stretch { number: 2, from, to } => line.name = self.text(from, to)?,
                Head::Stretch { number: 11, from, to } => {
                    let name = self.text(from, to)?;
                    if !name.is_empty() {
                        line.name = name;
                    }
                }
                Head::Stretch { number: 4, from, to: end } => {
                    let later = match ahead {
                        _ if timed => 0,
                        Some(later) => later,
                        None => *ahead.insert(self.last_time(from, end, to)?),
                    };
                    self.event(plane, &mut line, (began, later), from, end)?;
                    if !timed {
                        late = line.events.len();
                        late_samples = self.trace.memory.len();
                    }
                }
                Head::Stretch { to, .. } => self.pieces.seek(to)?,
            }
        }
        if !self.sieve.chooses() {
            for start in &mut line.events.start[..late] {
                *start = start.saturating_add(began);
            }
            for sample in &mut self.trace.memory[samples..late_samples] {
                sample.at = sample.at.saturating_add(began);
            }
        }
        self.join(line);
        Ok(())
    }

    /// The time of a line that comes after the event at `from`.
    fn last_time(&mut self, from: u64, event: u64, to: u64) -> Result<i64> {
        let mut time = 0;
        self.pieces.seek(event)?;
        while let Some(head) = self.head(to)? {
            match head {
                Head::Number(3, ns) => time = signed(ns),
                Head::Number(..) => {}
                Head::Stretch { to, .. } => self.pieces.seek(to)?,
            }
        }
        self.pieces.seek(from)?;
        Ok(time)
    }

    /// Joins two parts of one line.
    fn join(&mut self, line: Line) {
        let known = self.trace.lines.iter_mut().find(|known| {
            known.group == line.group && known.id == line.id && known.name == line.name
        });
        match known {
            Some(known) => {
                known.events.name.extend(line.events.name);
                known.events.start.extend(line.events.start);
                known.events.duration.extend(line.events.duration);
                known.events.detail.extend(line.events.detail);
                known.tally = match (known.tally.take(), line.tally) {
                    (Some(one), Some(other)) => Some(one.and(&other)),
                    (one, other) => one.or(other),
                };
            }
            None => self.trace.lines.push(line),
        }
    }

    fn event(
        &mut self,
        plane: &mut Plane,
        line: &mut Line,
        (began, later): (i64, i64),
        from: u64,
        to: u64,
    ) -> Result<()> {
        let length = self.hold(from, to, LONGEST_EVENT, "an event")?;
        let bytes = &self.pieces.window()[..length];
        let (mut metadata, mut offset, mut duration) = (0, Some(0), 0);
        let mut stats = Stats::default();
        let mut fields = Fields::new(bytes, from);
        while let Some(field) = fields.next_field()? {
            match field {
                Field::Varint(1, value) => metadata = signed(value),
                Field::Varint(2, value) => offset = Some(signed(value)),
                Field::Varint(3, value) => duration = signed(value),
                // A count without a time.
                Field::Varint(5, _) => offset = None,
                Field::Bytes(4, stat) => stats.look(plane, stat, fields.offset())?,
                Field::Varint(..) | Field::Bytes(..) | Field::Fixed => {}
            }
        }
        // Both ends are whole nanoseconds, so that nested events stay nested.
        let start = began.saturating_add(offset.unwrap_or(0).div_euclid(1000));
        let wanted = offset.is_some() && self.sieve.wants(start.saturating_add(later));
        let kind = plane.kinds.get(metadata).copied();
        let constants = kind.map_or(0, |kind| kind.constants) as usize;
        let found = (wanted && (stats.any || constants > 0))
            .then(|| stats.over(plane.constants[constants], &mut self.trace.names, plane));
        self.pieces.advance(length);
        let Some(offset) = offset else { return Ok(()) };
        if duration < 0 {
            self.negative += 1;
            duration = 0;
        }
        if !wanted {
            return Ok(());
        }
        self.sieve.event(from)?;
        let kind = kind.unwrap_or_else(|| {
            const NONE: &str = "(no name)";
            Kind::new(self.trace.names.intern(Category::None, NONE), NONE)
        });
        let end = began.saturating_add(offset.saturating_add(duration).div_euclid(1000));
        let duration = end.saturating_sub(start).max(0);
        let start = start.saturating_add(later);
        let detail = match found {
            Some(found) => {
                self.sample(&found, start, from)?;
                self.detail(plane, &found, kind, from)?
            }
            None => 0,
        };
        if self.sieve.keeps() {
            line.events.push(kind.name, start, duration, detail);
        } else {
            self.pass(line, (kind.name, start, duration), detail);
        }
        Ok(())
    }

    /// The memory handed out by an allocator.
    fn sample(&mut self, found: &Found, start: i64, at: u64) -> Result<()> {
        if let (Some(bytes), Some(allocator), false) =
            (found.bytes, found.allocator, self.sieve.rereads())
        {
            self.sieve.bytes(size_of::<MemorySample>() as u64, at)?;
            self.trace.memory.push(MemorySample { at: start, allocator, bytes });
        }
        Ok(())
    }

    /// Drops an event, and all previous ones if they exceed the budget.
    fn pass(&mut self, line: &mut Line, event: (NameId, i64, i64), detail: u32) {
        let trace = &mut self.trace;
        let known = trace.details[detail as usize];
        self.sieve.pass(line, &trace.names, event, &known);
        if self.sieve.drops() {
            for line in trace.lines.iter_mut().chain([line]) {
                line.events = Events::default();
            }
        }
        if !matches!(known, Detail::Nothing | Detail::Program { .. }) {
            trace.details.truncate(detail as usize);
        }
    }

    fn detail(&mut self, plane: &mut Plane, found: &Found, kind: Kind, at: u64) -> Result<u32> {
        let trace = &mut self.trace;
        let completes = found.run.is_some() && kind.completes;
        let detail = if let Some(step) = found.step {
            Detail::Step(step)
        } else if found.program.is_some() || found.module.is_some() || completes {
            let run = found.run.filter(|_| !plane.device && self.sieve.keeps());
            let run = run.map(|run| Run::new(run, found.device));
            let (id, module) = (found.program, found.module);
            let same = plane.running.filter(|(key, _)| *key == (id, module, run));
            let known = same.map(|(_, index)| index);
            let known = known
                .or_else(|| plane.details.get(&(id, module)).copied().filter(|_| run.is_none()));
            if let Some(known) = known {
                return Ok(known);
            }
            Detail::Program { id, module, run }
        } else {
            // Thousands of operators produce something; only waits are identified by it.
            match (found.produces, found.consumes) {
                (Some(id), _) if kind.waits => Detail::Produces(id),
                (_, Some(id)) if kind.waits => Detail::Consumes(id),
                _ => return Ok(0),
            }
        };
        self.sieve.detail(&detail, at)?;
        let index = index(trace.details.len());
        trace.details.push(detail);
        match detail {
            Detail::Program { id, module, run: None } => {
                plane.details.insert((id, module), index);
            }
            Detail::Program { id, module, run } => plane.running = Some(((id, module, run), index)),
            _ => {}
        }
        Ok(index)
    }

    fn stat(&mut self, plane: &mut Plane, stat: &[u8], base: u64, found: &mut Found) -> Result<()> {
        let mut stats = Stats::default();
        stats.look(plane, stat, base)?;
        if stats.any {
            *found = stats.over(*found, &mut self.trace.names, plane);
        }
        Ok(())
    }
}

fn index(count: usize) -> u32 {
    u32::try_from(count).expect("fewer entries than 2^32")
}

fn levels(options: &ProfileOptions) -> TracerLevels {
    TracerLevels { host: options.host, device: options.device, python: options.python }
}

/// Key and value of a map's entry.
fn map_entry(entry: &[u8], base: u64) -> Result<(i64, &[u8])> {
    let (mut key, mut value) = (0, &[][..]);
    let mut fields = Fields::new(entry, base);
    while let Some(field) = fields.next_field()? {
        match field {
            Field::Varint(1, number) => key = signed(number),
            Field::Bytes(2, bytes) => value = bytes,
            Field::Varint(..) | Field::Bytes(..) | Field::Fixed => {}
        }
    }
    Ok((key, value))
}
