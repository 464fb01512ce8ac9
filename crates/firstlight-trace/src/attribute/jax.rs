//! JAX: calls are the outermost `PjitFunction`s; a call that lowers has missed the cache of compiled
//! programs; programs run on worker threads or on devices.

use firstlight_schema::trace::{FrameKind, Part, StepsBy};
use rustc_hash::FxHashMap;

use super::layer::Layer;
use super::steps::{by_repetition, outermost, whole};
use super::{Compile, Findings, Layers, Mark, Own, Totals};
use crate::error::Result;
use crate::intervals::{Set, Span};
use crate::model::{Detail, Line, Place, Tally, Trace};
use crate::names::{ByName, NameId, Names};
use crate::read::Pieces;
use crate::rules::{JaxRole, JaxRules, moves_data};

/// The line of a device on which its programs are told, where there is one.
const MODULES: &str = "XLA Modules";

pub(crate) fn find(source: &mut dyn Pieces) -> Result<Findings> {
    let trace = source.trace();
    let version = trace.facts.version("jaxlib").or_else(|| trace.facts.version("jax"));
    let (table, _) = JaxRules::of(version);
    let known = Known::new(trace, table);
    let frames = trace.names.map(|_, name| match table.role(name) {
        JaxRole::Python => FrameKind::Python,
        _ if is_internal(name) => FrameKind::Framework,
        _ => FrameKind::Annotation,
    });
    let tallies = Tally::of(trace);
    let owner = owner(trace, &tallies);
    let (framework, ran) = (super::framework(trace), super::ran(trace));
    let others = super::others(trace, &tallies, owner);
    // Where the program marks its steps, nobody asks what repeats.
    let unmarked = tallies[owner].timed_steps == 0;
    let mut totals = Totals::new(&trace.names);
    let mut host = Host::default();
    let mut marks = Vec::new();
    let mut runs = Launches::default();
    source.each(&[], 0, &mut |piece, _| {
        totals.feed(piece, owner, &frames);
        host.feed(piece, owner, &known.roles);
        host.forget_times(unmarked);
        marks.extend(marked(piece, owner));
        if unmarked {
            runs.feed(&Devices::walk(piece, &known, &Set::default()).runs);
        }
        host.held() + (runs.0.len() * size_of::<(NameId, Span)>()) as u64
    })?;
    host.finish(&source.trace().names);
    let names = &source.trace().names;
    let marks = outermost(marks);
    let (steps_by, steps) = if marks.is_empty() {
        by_repetition(&host.calls, |name| function(names.text(name)), StepsBy::RepeatedCall)
            .or_else(|| by_repetition(&runs.0, |name| names.text(name), StepsBy::RepeatedModule))
            .unwrap_or_else(|| whole(totals.end))
    } else {
        (StepsBy::Annotation, marks)
    };
    let own = Own::Jax(known.with(&host));
    let (rules, compiles) = (table.name, host.compiles);
    Ok(Findings {
        framework,
        rules,
        steps_by,
        owner,
        others,
        steps,
        compiles,
        frames,
        ran,
        totals,
        own,
    })
}

/// What names mean, and what is known of the whole recording.
pub(crate) struct Known {
    roles: ByName<JaxRole>,
    moving: ByName<bool>,
    modules: ByName<bool>,
    /// Of the whole recording: gaps between two events that belong together, and compilations.
    awaits: Set,
    compile: Set,
    parts: Vec<(Part, Set)>,
}

impl Known {
    fn new(trace: &Trace, table: &JaxRules) -> Self {
        Self {
            roles: trace.names.map(|_, name| table.role(name)),
            moving: trace.names.map(|_, name| moves_data(name)),
            // A converted JSON has neither the programs nor their numbers, but still their names.
            modules: trace.names.map(|_, name| {
                name.starts_with("jit_")
                    || trace.programs.iter().any(|program| program.module == name)
            }),
            awaits: Set::default(),
            compile: Set::default(),
            parts: Vec::new(),
        }
    }

    fn with(mut self, host: &Host) -> Self {
        let part = |part: Part| {
            let spans = host.compiles.iter().flat_map(|compile| &compile.parts);
            let own = spans.filter(|(own, _)| *own == part).map(|(_, span)| *span);
            (part, Set::union(own.collect()))
        };
        self.awaits = Set::union(host.awaits.clone());
        self.compile = Set::union(host.compiles.iter().map(|compile| compile.span).collect());
        self.parts = [Part::Trace, Part::Lower, Part::Compile].map(part).into();
        self
    }

    pub(super) fn held(&self) -> u64 {
        size_of_val(self.awaits.spans()) as u64
    }
}

/// Divides the time of one piece after another.
pub(crate) struct Divider<'a> {
    owner: usize,
    known: &'a Known,
    host: Host,
    layers: [Layer; 7],
}

impl<'a> Divider<'a> {
    pub(super) fn new(found: &Findings, known: &'a Known) -> Self {
        Self { owner: found.owner, known, host: Host::default(), layers: Default::default() }
    }

    pub(super) fn divide(&mut self, piece: &Trace, span: Span) -> Layers {
        let known = self.known;
        self.host.feed(piece, self.owner, &known.roles);
        let devices = Devices::walk(piece, known, &known.compile);
        let (calls, blocked, fetching) = self.host.times();
        let spans = [
            calls,
            blocked,
            fetching,
            devices.compiled,
            devices.eager,
            devices.tried,
            devices.moved,
        ];
        let mut layers = self.layers.iter_mut();
        let [calls, blocked, fetching, compiled, eager, tried, moved] =
            spans.map(|own| layers.next().expect("as many layers as spans").of(own, span.1));
        let busy = compiled.or(&eager).or(&tried);
        let mut parts = vec![(Part::Autotune, tried.and(&known.compile))];
        parts.extend(known.parts.iter().map(|(part, set)| (*part, set.within(span))));
        parts.extend([
            (Part::Compiled, compiled),
            (Part::Eager, eager),
            (Part::Transfer, moved),
            (Part::Call, calls.clone()),
            (Part::Blocked, blocked.or(&known.awaits.within(span))),
            (Part::Fetch, fetching),
        ]);
        Layers { parts, region: calls.clone(), calls, busy }
    }
}

/// JAX does not mark its users' annotations; its own events look like C++.
fn is_internal(name: &str) -> bool {
    const OWN: [&str; 6] = [
        "Wait for ",
        "ParseArguments",
        "MemoryAllocation",
        "MemoryDeallocation",
        "trace_to_jaxpr",
        "np.asarray(",
    ];
    name.contains("::") || OWN.iter().any(|own| name.starts_with(own))
}

/// The host line with most steps, or else with most calls, or else the busiest.
fn owner(trace: &Trace, tallies: &[Tally]) -> usize {
    let worth = |line: usize| {
        let own = &tallies[line];
        let device = trace.lines[line].place == Place::Device;
        if device { (0, 0, 0) } else { (own.steps, own.calls, own.events) }
    };
    (0..trace.lines.len()).max_by_key(|&line| worth(line)).expect("a trace has lines")
}

fn marked(piece: &Trace, owner: usize) -> impl Iterator<Item = Mark> {
    let line = &piece.lines[owner];
    (0..line.events.len()).filter_map(move |index| match piece.detail(line, index) {
        Detail::Step(number) => Some(Mark {
            name: piece.names.text(line.events.name[index]).to_owned(),
            number: *number,
            span: (line.events.start[index], line.events.end(index)),
        }),
        _ => None,
    })
}

/// What the thread of the steps does, piece by piece.
#[derive(Default)]
struct Host {
    calls: Vec<(NameId, Span)>,
    compiles: Vec<Compile>,
    blocked: Vec<Span>,
    fetching: Vec<Span>,
    /// From an event to the one that has the same number.
    awaits: Vec<Span>,
    waits: FxHashMap<u64, i64>,
    open: Option<Open>,
}

/// A call while it is open, and what was seen in it.
struct Open {
    /// What was called; nothing where it is a compilation that nobody called for.
    function: Option<NameId>,
    span: Span,
    marks: Vec<(JaxRole, Span)>,
}

impl Host {
    fn feed(&mut self, piece: &Trace, owner: usize, roles: &ByName<JaxRole>) {
        let line = &piece.lines[owner];
        let events = &line.events;
        for index in 0..events.len() {
            let name = events.name[index];
            let span = (events.start[index], events.end(index));
            match *piece.detail(line, index) {
                Detail::Produces(id) => {
                    self.waits.insert(id, span.0);
                }
                Detail::Consumes(id) => {
                    if let Some(began) = self.waits.remove(&id) {
                        self.awaits.push((began, span.1));
                    }
                }
                _ => {}
            }
            let role = roles[name];
            match role {
                JaxRole::Blocked => self.blocked.push(span),
                JaxRole::Fetch => self.fetching.push(span),
                JaxRole::Call | JaxRole::Lower | JaxRole::Compile | JaxRole::FirstRun => {
                    if self.open.as_ref().is_some_and(|open| open.span.1 <= span.0) {
                        self.close(&piece.names);
                    }
                    match &mut self.open {
                        // A call inside a call is traced, not dispatched.
                        Some(_) if role == JaxRole::Call => {}
                        Some(open) => open.marks.push((role, span)),
                        None => {
                            let function = (role == JaxRole::Call).then_some(name);
                            let own = if function.is_some() { None } else { Some((role, span)) };
                            let marks = own.into_iter().collect();
                            self.open = Some(Open { function, span, marks });
                        }
                    }
                }
                JaxRole::Run | JaxRole::Python | JaxRole::Other => {}
            }
        }
    }

    fn finish(&mut self, names: &Names) {
        self.close(names);
    }

    /// Calls, also the one that is open, and waits since the last time.
    fn times(&mut self) -> (Vec<Span>, Vec<Span>, Vec<Span>) {
        // Both are known of the whole recording.
        self.awaits.clear();
        self.compiles.clear();
        let open = self.open.as_ref().filter(|open| open.function.is_some());
        let calls = self.calls.drain(..).map(|(_, span)| span);
        let calls = calls.chain(open.map(|open| open.span)).collect();
        (calls, std::mem::take(&mut self.blocked), std::mem::take(&mut self.fetching))
    }

    /// Drops what is only of use piece by piece.
    fn forget_times(&mut self, calls_are_wanted: bool) {
        self.blocked.clear();
        self.fetching.clear();
        if !calls_are_wanted {
            self.calls.clear();
        }
    }

    fn held(&self) -> u64 {
        let each = |count: usize, bytes: usize| (count * bytes) as u64;
        each(self.calls.len(), size_of::<(NameId, Span)>())
            + each(self.awaits.len(), size_of::<Span>())
            + each(self.waits.len(), size_of::<(u64, i64)>())
    }

    fn close(&mut self, names: &Names) {
        let Some(open) = self.open.take() else { return };
        self.calls.extend(open.function.map(|name| (name, open.span)));
        let lowered = open.marks.iter().any(|(role, _)| *role == JaxRole::Lower);
        let compiler = open.marks.iter().any(|(role, _)| *role == JaxRole::Compile);
        if !lowered && !compiler {
            return;
        }
        let parts = phases(&open);
        let end = parts.last().map_or(open.span.1, |(_, span)| span.1);
        self.compiles.push(Compile {
            function: open.function.map_or("?", |name| function(names.text(name))).to_owned(),
            span: (open.span.0, end),
            parts,
            compiler,
            // What was lowered and never compiled came from somewhere.
            cache: !compiler,
            id: None,
        });
    }
}

/// Divides a call that missed: what precedes a lowering is tracing, what lies between it and the
/// compiler belongs to the lowering, and what follows the compiler until the first run to the compiler.
fn phases(open: &Open) -> Vec<(Part, Span)> {
    let mut parts: Vec<(Part, Span)> = Vec::new();
    let mut at = open.span.0;
    let mut push = |parts: &mut Vec<(Part, Span)>, part: Part, to: i64| {
        if at < to {
            parts.push((part, (at, to)));
            at = to;
        }
    };
    let mut now = Part::Trace;
    let last = open.marks.iter().rposition(|(role, _)| *role != JaxRole::FirstRun);
    for (index, (role, span)) in open.marks.iter().enumerate() {
        match role {
            JaxRole::Lower => {
                push(&mut parts, Part::Trace, span.0);
                push(&mut parts, Part::Lower, span.1);
                now = Part::Lower;
            }
            JaxRole::Compile => {
                push(&mut parts, now, span.0);
                push(&mut parts, Part::Compile, span.1);
                now = Part::Compile;
            }
            // A first run inside a tracing call is that of some constant.
            JaxRole::FirstRun if last.is_some_and(|last| index > last) => {
                push(&mut parts, Part::Compile, span.0);
                break;
            }
            _ => {}
        }
    }
    parts
}

/// `step` of `PjitFunction(step)`.
fn function(name: &str) -> &str {
    name.strip_prefix("PjitFunction(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(name)
}

/// What ran: on devices, and on the worker threads of the processor.
#[derive(Default)]
struct Devices {
    compiled: Vec<Span>,
    eager: Vec<Span>,
    /// Without a program, while something was compiled.
    tried: Vec<Span>,
    moved: Vec<Span>,
    /// Programs by name, for steps that nobody marked.
    runs: Vec<(NameId, Span)>,
}

impl Devices {
    fn walk(piece: &Trace, known: &Known, compile: &Set) -> Self {
        let mut of = Self::default();
        for line in &piece.lines {
            if line.place == Place::Host {
                let ran = |index: &usize| known.roles[line.events.name[*index]] == JaxRole::Run;
                let ran = (0..line.events.len()).filter(ran);
                of.compiled
                    .extend(ran.map(|index| (line.events.start[index], line.events.end(index))));
                continue;
            }
            let modules = |other: &Line| other.group == line.group && other.name == MODULES;
            if line.name == MODULES || !piece.lines.iter().any(modules) {
                of.line(piece, line, known, compile);
            }
        }
        of
    }

    fn line(&mut self, piece: &Trace, line: &Line, known: &Known, compile: &Set) {
        for index in 0..line.events.len() {
            let name = line.events.name[index];
            let span = (line.events.start[index], line.events.end(index));
            let (program, module) = match *piece.detail(line, index) {
                Detail::Program { id, module } => (id, module),
                _ => (None, None),
            };
            let ours = program.is_some() || module.is_some_and(|module| known.modules[module]);
            if ours || line.name == MODULES {
                self.compiled.push(span);
                self.runs.push((module.unwrap_or(name), span));
            } else if compile.contains(span.0) {
                self.tried.push(span);
            } else if known.moving[name] {
                self.moved.push(span);
            } else {
                self.eager.push(span);
            }
        }
    }
}

/// Kernels of one program that follow each other without a pause are one run of it.
#[derive(Default)]
struct Launches(Vec<(NameId, Span)>);

impl Launches {
    fn feed(&mut self, kernels: &[(NameId, Span)]) {
        const PAUSE: i64 = 50_000;
        let mut kernels = kernels.to_vec();
        kernels.sort_by_key(|(_, span)| *span);
        for (module, span) in kernels {
            match self.0.last_mut() {
                Some((last, run)) if *last == module && span.0 - run.1 < PAUSE => {
                    run.1 = run.1.max(span.1);
                }
                _ => self.0.push((module, span)),
            }
        }
    }
}
