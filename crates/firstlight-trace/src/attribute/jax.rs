//! JAX: calls are the outermost `PjitFunction`s; a call that lowers has missed the cache of compiled
//! programs; programs run on worker threads or on devices.

use firstlight_schema::trace::{FrameKind, Part, StepsBy};
use rustc_hash::FxHashMap;

use super::steps::{by_repetition, outermost, whole};
use super::{Compile, Findings, Mark};
use crate::intervals::{Set, Span};
use crate::model::{Detail, Line, Place, Trace};
use crate::names::{ByName, NameId};
use crate::rules::{JaxRole, JaxRules, moves_data};

/// The line of a device on which its programs are told, where there is one.
const MODULES: &str = "XLA Modules";

pub(crate) fn find(trace: &Trace) -> Findings {
    let version = trace.facts.version("jaxlib").or_else(|| trace.facts.version("jax"));
    let (table, _) = JaxRules::of(version);
    let roles = trace.names.map(|_, name| table.role(name));
    let owner = owner(trace, &roles);
    let host = Host::walk(trace, owner, &roles);
    let compile = Set::union(host.compiles.iter().map(|compile| compile.span).collect());
    let devices = Devices::walk(trace, &roles, &compile);
    let (steps_by, steps) = steps(trace, owner, &host, &devices);
    let part = |part: Part| {
        let spans = host.compiles.iter().flat_map(|compile| &compile.parts);
        (part, Set::union(spans.filter(|(own, _)| *own == part).map(|(_, span)| *span).collect()))
    };
    let calls = Set::union(host.calls.iter().map(|(_, span)| *span).collect());
    Findings {
        framework: super::framework(trace),
        rules: table.name,
        steps_by,
        owner,
        steps,
        layers: vec![
            (Part::Autotune, devices.tried.and(&compile)),
            part(Part::Trace),
            part(Part::Lower),
            part(Part::Compile),
            (Part::Compiled, devices.compiled.clone()),
            (Part::Eager, devices.eager.clone()),
            (Part::Transfer, devices.moved.clone()),
            (Part::Call, calls.clone()),
            (Part::Blocked, host.blocked),
            (Part::Fetch, host.fetching),
        ],
        region: calls.clone(),
        calls,
        busy: devices.compiled.or(&devices.eager).or(&devices.tried),
        compiles: host.compiles,
        frames: trace.names.map(|_, name| match table.role(name) {
            JaxRole::Python => FrameKind::Python,
            _ if is_internal(name) => FrameKind::Framework,
            _ => FrameKind::Annotation,
        }),
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
fn owner(trace: &Trace, roles: &ByName<JaxRole>) -> usize {
    let worth = |line: &Line| {
        if line.place == Place::Device {
            return (0, 0, 0);
        }
        let step = |&detail: &u32| matches!(trace.details[detail as usize], Detail::Step(_));
        let steps = line.events.detail.iter().filter(|detail| step(detail)).count();
        let calls = line.events.name.iter().filter(|name| roles[**name] == JaxRole::Call).count();
        (steps, calls, line.events.len())
    };
    let lines = (0..trace.lines.len()).max_by_key(|&line| worth(&trace.lines[line]));
    lines.expect("a trace has lines")
}

fn steps(trace: &Trace, owner: usize, host: &Host, devices: &Devices) -> (StepsBy, Vec<Mark>) {
    let line = &trace.lines[owner];
    let marked = (0..line.events.len()).filter_map(|index| match trace.detail(line, index) {
        Detail::Step(number) => Some(Mark {
            name: trace.names.text(line.events.name[index]).to_owned(),
            number: *number,
            span: (line.events.start[index], line.events.end(index)),
        }),
        _ => None,
    });
    let marked = outermost(marked.collect());
    if !marked.is_empty() {
        return (StepsBy::Annotation, marked);
    }
    by_repetition(&host.calls, StepsBy::RepeatedCall)
        .or_else(|| by_repetition(&devices.runs, StepsBy::RepeatedModule))
        .unwrap_or_else(|| whole(trace))
}

/// What the thread of the steps did.
#[derive(Default)]
struct Host {
    calls: Vec<(String, Span)>,
    compiles: Vec<Compile>,
    blocked: Set,
    fetching: Set,
}

/// A call while it is open, and what was seen in it.
struct Open {
    function: String,
    span: Span,
    /// Whether it is a call, or a compilation that nobody called for.
    called: bool,
    marks: Vec<(JaxRole, Span)>,
}

impl Host {
    fn walk(trace: &Trace, owner: usize, roles: &ByName<JaxRole>) -> Self {
        let events = &trace.lines[owner].events;
        let mut host = Self::default();
        let (mut blocked, mut fetching) = (Vec::new(), Vec::new());
        let mut waits: FxHashMap<u64, i64> = FxHashMap::default();
        let mut open: Option<Open> = None;
        for index in 0..events.len() {
            let name = events.name[index];
            let span = (events.start[index], events.end(index));
            match *trace.detail(&trace.lines[owner], index) {
                Detail::Produces(id) => {
                    waits.insert(id, span.0);
                }
                Detail::Consumes(id) => {
                    if let Some(began) = waits.remove(&id) {
                        blocked.push((began, span.1));
                    }
                }
                _ => {}
            }
            let role = roles[name];
            match role {
                JaxRole::Blocked => blocked.push(span),
                JaxRole::Fetch => fetching.push(span),
                JaxRole::Call | JaxRole::Lower | JaxRole::Compile | JaxRole::FirstRun => {
                    if open.as_ref().is_some_and(|open| open.span.1 <= span.0) {
                        host.close(open.take());
                    }
                    match &mut open {
                        // A call inside a call is traced, not dispatched.
                        Some(_) if role == JaxRole::Call => {}
                        Some(open) => open.marks.push((role, span)),
                        None => {
                            let called = role == JaxRole::Call;
                            let function =
                                if called { function(trace.names.text(name)) } else { "?" };
                            open = Some(Open {
                                function: function.to_owned(),
                                span,
                                called,
                                marks: if called { Vec::new() } else { vec![(role, span)] },
                            });
                        }
                    }
                }
                JaxRole::Run | JaxRole::Python | JaxRole::Other => {}
            }
        }
        host.close(open);
        (host.blocked, host.fetching) = (Set::union(blocked), Set::union(fetching));
        host
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(open) = open else { return };
        if open.called {
            self.calls.push((open.function.clone(), open.span));
        }
        let lowered = open.marks.iter().any(|(role, _)| *role == JaxRole::Lower);
        let compiler = open.marks.iter().any(|(role, _)| *role == JaxRole::Compile);
        if !lowered && !compiler {
            return;
        }
        let parts = phases(&open);
        let end = parts.last().map_or(open.span.1, |(_, span)| span.1);
        self.compiles.push(Compile {
            function: open.function,
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
    compiled: Set,
    eager: Set,
    /// Without a program, while something was compiled.
    tried: Set,
    moved: Set,
    /// Programs by name, for steps that nobody marked.
    runs: Vec<(String, Span)>,
}

impl Devices {
    fn walk(trace: &Trace, roles: &ByName<JaxRole>, compile: &Set) -> Self {
        let moving = trace.names.map(|_, name| moves_data(name));
        // A converted JSON has neither the programs nor their numbers, but still their names.
        let known = trace.names.map(|_, name| {
            name.starts_with("jit_") || trace.programs.iter().any(|program| program.module == name)
        });
        let (mut compiled, mut eager, mut tried, mut moved) = (vec![], vec![], vec![], vec![]);
        let mut runs = Vec::new();
        for line in &trace.lines {
            if line.place == Place::Host {
                let of = |index: usize| roles[line.events.name[index]] == JaxRole::Run;
                let ran = (0..line.events.len()).filter(|&index| of(index));
                compiled
                    .extend(ran.map(|index| (line.events.start[index], line.events.end(index))));
                continue;
            }
            let modules = |other: &Line| other.group == line.group && other.name == MODULES;
            if trace.lines.iter().any(modules) && line.name != MODULES {
                continue;
            }
            for index in 0..line.events.len() {
                let name = line.events.name[index];
                let span = (line.events.start[index], line.events.end(index));
                let (program, module) = match *trace.detail(line, index) {
                    Detail::Program { id, module } => (id, module),
                    _ => (None, None),
                };
                let ours = program.is_some() || module.is_some_and(|module: NameId| known[module]);
                if ours || line.name == MODULES {
                    compiled.push(span);
                    let module = module.unwrap_or(name);
                    runs.push((module, span));
                } else if compile.contains(span.0) {
                    tried.push(span);
                } else if moving[name] {
                    moved.push(span);
                } else {
                    eager.push(span);
                }
            }
        }
        Self {
            compiled: Set::union(compiled),
            eager: Set::union(eager),
            tried: Set::union(tried),
            moved: Set::union(moved),
            runs: launches(trace, runs),
        }
    }
}

/// Kernels of one program that follow each other without a pause are one run of it.
fn launches(trace: &Trace, mut kernels: Vec<(NameId, Span)>) -> Vec<(String, Span)> {
    const PAUSE: i64 = 50_000;
    kernels.sort_by_key(|(_, span)| *span);
    let mut runs: Vec<(NameId, Span)> = Vec::new();
    for (module, span) in kernels {
        match runs.last_mut() {
            Some((last, run)) if *last == module && span.0 - run.1 < PAUSE => {
                run.1 = run.1.max(span.1);
            }
            _ => runs.push((module, span)),
        }
    }
    runs.into_iter().map(|(name, span)| (trace.names.text(name).to_owned(), span)).collect()
}
