//! torch.compile: compiled regions on every thread, kernels by who launched them, compilations by
//! their ids. Compiling wins over the region, for kernels are tried out inside of it.

use std::collections::BTreeMap;

use firstlight_schema::trace::{FrameKind, Framework, Part, StepsBy};
use rustc_hash::FxHashMap;

use super::layer::Layer;
use super::steps::{by_repetition, outermost, whole};
use super::{Compile, Findings, Layers, Mark, Own, Totals};
use crate::error::Result;
use crate::intervals::{Set, Span};
use crate::model::{Detail, Line, Place, Tally, Trace};
use crate::names::{ByName, Category, NameId};
use crate::read::Pieces;
use crate::rules::{TORCH, TORCH_CACHE, TORCH_COMPILER, TorchRole, torch_role};

pub(crate) fn find(source: &mut dyn Pieces) -> Result<Findings> {
    let trace = source.trace();
    let mut known = Known {
        roles: trace.names.map(torch_role),
        launches: FxHashMap::default(),
        kernels: false,
    };
    let frames = trace.names.map(|category, name| match torch_role(category, name) {
        TorchRole::Python => FrameKind::Python,
        TorchRole::Annotation => FrameKind::Annotation,
        _ => FrameKind::Framework,
    });
    let tallies = Tally::of(trace);
    let owner = owner(trace, &tallies);
    let ran = super::ran(trace);
    let others = super::others(trace, &tallies, owner);
    let unmarked = tallies[owner].timed_profiler_steps == 0;
    let mut totals = Totals::new(&trace.names);
    let (mut threads, mut compiles) = (Threads::default(), Compiles::default());
    let mut region = Layer::default();
    let (mut marks, mut calls) = (Vec::new(), Vec::new());
    source.each(&[], 0, &mut |piece, span| {
        totals.feed(piece, owner, &frames);
        let done = threads.feed(piece, span, &known.roles);
        compiles.feed(piece, &known.roles);
        let compiling = Set::union(done.compiling.iter().map(|(_, own)| *own).collect());
        let region = region.of(done.region, span.1);
        known.kernels |= has_kernels(piece);
        for (id, line, at) in done.launches {
            let place = Launched::at(at, &compiling, &region);
            let own = known.launches.entry(id).or_insert((line, place));
            // Of two with one number it is the later one of the last line that has it.
            if own.0 <= line {
                *own = (line, place);
            }
        }
        marks.extend(marked(piece, owner, &known.roles));
        if unmarked {
            regions(piece, owner, &known.roles, &mut calls);
        }
        known.held() + (calls.len() * size_of::<(NameId, Span)>()) as u64
    })?;
    let names = &source.trace().names;
    let marks = outermost(marks);
    let (steps_by, steps) = if marks.is_empty() {
        by_repetition(&calls, |name| names.text(name), StepsBy::RepeatedCall)
            .unwrap_or_else(|| whole(totals.end))
    } else {
        (StepsBy::Annotation, marks)
    };
    Ok(Findings {
        framework: Framework::Torch,
        rules: TORCH,
        steps_by,
        owner,
        others,
        steps,
        compiles: compiles.0.into_values().collect(),
        frames,
        ran,
        totals,
        own: Own::Torch(known),
    })
}

/// What names mean, and what is known of the whole recording.
pub(crate) struct Known {
    roles: ByName<TorchRole>,
    /// From where something was launched, by its number; and on which line that was.
    launches: FxHashMap<u64, (u32, Launched)>,
    /// Whether anything ran on a device.
    kernels: bool,
}

impl Known {
    pub(super) fn held(&self) -> u64 {
        (self.launches.len() * size_of::<(u64, (u32, Launched))>()) as u64
    }
}

/// From where a kernel was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Launched {
    /// By the compiler.
    Compiling,
    Region,
    Outside,
}

impl Launched {
    fn at(at: i64, compiling: &Set, region: &Set) -> Self {
        match () {
            () if compiling.contains(at) => Self::Compiling,
            () if region.contains(at) => Self::Region,
            () => Self::Outside,
        }
    }
}

/// Divides the time of one piece after another.
pub(crate) struct Divider<'a> {
    owner: usize,
    known: &'a Known,
    threads: Threads,
    layers: [Layer; 5],
    devices: [Layer; 4],
}

impl<'a> Divider<'a> {
    pub(super) fn new(owner: usize, known: &'a Known) -> Self {
        Self {
            owner,
            known,
            threads: Threads::default(),
            layers: Default::default(),
            devices: Default::default(),
        }
    }

    pub(super) fn divide(&mut self, piece: &Trace, span: Span) -> Layers {
        let known = self.known;
        let done = self.threads.feed(piece, span, &known.roles);
        let [autotune, compile, lower, trace] =
            [Part::Autotune, Part::Compile, Part::Lower, Part::Trace].map(|part| {
                let own = done.compiling.iter().filter(|(own, _)| *own == part);
                Set::union(own.map(|(_, span)| *span).collect())
            });
        let compiling = autotune.or(&compile).or(&lower).or(&trace);
        let blocked =
            on_line(&piece.lines[self.owner], |name| known.roles[name] == TorchRole::Blocked);
        let mut layers = self.layers.iter_mut();
        let [region, graph, guards, prologue, blocked] =
            [done.region, done.graph, done.guards, done.prologue, blocked]
                .map(|own| layers.next().expect("as many layers as spans").of(own, span.1));
        // Without a device the graph itself runs on the host.
        let graph = if known.kernels { Set::default() } else { graph };
        let mut devices = self.devices.iter_mut();
        let [compiled, eager, tried, moved] = kernels(piece, known, &compiling, &region)
            .map(|own| devices.next().expect("as many layers as spans").of(own, span.1));
        let busy = compiled.or(&eager).or(&tried).or(&graph);
        Layers {
            parts: vec![
                (Part::Autotune, autotune.or(&tried.and(&compiling))),
                (Part::Compile, compile),
                (Part::Lower, lower),
                (Part::Trace, trace),
                (Part::Compiled, compiled.or(&graph)),
                (Part::Eager, eager),
                (Part::Transfer, moved),
                (Part::Guards, guards),
                (Part::Prologue, prologue),
                (Part::Call, region.clone()),
                (Part::Blocked, blocked),
            ],
            calls: region.clone(),
            region,
            busy,
        }
    }
}

/// The thread of the steps, or else the busiest.
fn owner(trace: &Trace, tallies: &[Tally]) -> usize {
    let worth = |line: usize| {
        let own = &tallies[line];
        let device = trace.lines[line].place == Place::Device;
        if device { (0, 0) } else { (own.profiler_steps, own.events) }
    };
    (0..trace.lines.len()).max_by_key(|&line| worth(line)).expect("a trace has lines")
}

fn marked(piece: &Trace, owner: usize, roles: &ByName<TorchRole>) -> impl Iterator<Item = Mark> {
    let events = &piece.lines[owner].events;
    let steps = (0..events.len()).filter(|&index| roles[events.name[index]] == TorchRole::Step);
    steps.map(|index| {
        let name = piece.names.text(events.name[index]);
        let number = name.rsplit('#').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let span = (events.start[index], events.end(index));
        Mark { name: "ProfilerStep".to_owned(), number, span }
    })
}

/// Calls of compiled regions that lie in no other, for steps that nobody marked.
fn regions(
    piece: &Trace,
    owner: usize,
    roles: &ByName<TorchRole>,
    calls: &mut Vec<(NameId, Span)>,
) {
    let events = &piece.lines[owner].events;
    for index in 0..events.len() {
        let (name, own) = (events.name[index], (events.start[index], events.end(index)));
        let outside = |(_, last): &(NameId, Span)| last.1 <= own.0;
        if roles[name] == TorchRole::Region && calls.last().is_none_or(outside) {
            calls.push((name, own));
        }
    }
}

fn has_kernels(piece: &Trace) -> bool {
    let kernel = |name: &NameId| piece.names.category(*name) == Category::Kernel;
    let devices = piece.lines.iter().filter(|line| line.place == Place::Device);
    devices.into_iter().any(|line| line.events.name.iter().any(kernel))
}

fn on_line(line: &Line, wanted: impl Fn(NameId) -> bool) -> Vec<Span> {
    let events = &line.events;
    let all = (0..events.len()).filter(|&index| wanted(events.name[index]));
    all.map(|index| (events.start[index], events.end(index))).collect()
}

/// What all threads do, piece by piece.
#[derive(Default)]
struct Threads(Vec<Thread>);

/// What is open on a thread: parts and their ends.
#[derive(Default)]
struct Thread {
    stack: Vec<(Part, i64)>,
    at: i64,
}

/// What the threads did in a piece.
#[derive(Default)]
struct Done {
    /// On each thread the innermost that has a part of its own.
    compiling: Vec<(Part, Span)>,
    region: Vec<Span>,
    graph: Vec<Span>,
    guards: Vec<Span>,
    prologue: Vec<Span>,
    /// When something was launched, by its number, and on which line.
    launches: Vec<(u64, u32, i64)>,
}

impl Threads {
    fn feed(&mut self, piece: &Trace, span: Span, roles: &ByName<TorchRole>) -> Done {
        self.0.resize_with(piece.lines.len(), Thread::default);
        let mut done = Done::default();
        for (index, (line, thread)) in (0..).zip(piece.lines.iter().zip(&mut self.0)) {
            if line.place == Place::Host {
                thread.feed(piece, index, line, roles, &mut done);
                thread.book(&mut done.compiling, span.1);
            }
        }
        done
    }
}

impl Thread {
    fn feed(
        &mut self,
        piece: &Trace,
        own: u32,
        line: &Line,
        roles: &ByName<TorchRole>,
        done: &mut Done,
    ) {
        let events = &line.events;
        for index in 0..events.len() {
            let span = (events.start[index], events.end(index));
            if let Detail::Correlation(id) = *piece.detail(line, index) {
                done.launches.push((id, own, span.0));
            }
            match roles[events.name[index]] {
                TorchRole::Region => done.region.push(span),
                TorchRole::Graph => {
                    done.region.push(span);
                    done.graph.push(span);
                }
                TorchRole::Guards => done.guards.push(span),
                TorchRole::Prologue => done.prologue.push(span),
                role @ (TorchRole::Compile(_) | TorchRole::Compiling) => {
                    self.book(&mut done.compiling, span.0);
                    let part = match role {
                        TorchRole::Compile(part) => part,
                        _ => self.stack.last().map_or(Part::Lower, |(part, _)| *part),
                    };
                    let end = self.stack.last().map_or(span.1, |(_, outer)| span.1.min(*outer));
                    self.stack.push((part, end));
                }
                TorchRole::Step
                | TorchRole::Blocked
                | TorchRole::Python
                | TorchRole::Annotation
                | TorchRole::Other => {}
            }
        }
    }

    /// Books what lies between the last change and `until` to the innermost that is open.
    fn book(&mut self, compiling: &mut Vec<(Part, Span)>, until: i64) {
        while let Some(&(part, end)) = self.stack.last() {
            let to = end.min(until);
            if self.at < to {
                compiling.push((part, (self.at, to)));
                self.at = to;
            }
            if end > until {
                break;
            }
            self.stack.pop();
        }
        self.at = self.at.max(until);
    }
}

/// Compilations by frame and turn.
#[derive(Default)]
struct Compiles(BTreeMap<(u64, u64), Compile>);

impl Compiles {
    fn feed(&mut self, piece: &Trace, roles: &ByName<TorchRole>) {
        for line in piece.lines.iter().filter(|line| line.place == Place::Host) {
            let events = &line.events;
            for (index, name) in events.name.iter().enumerate() {
                if matches!(roles[*name], TorchRole::Compile(_) | TorchRole::Compiling) {
                    let span = (events.start[index], events.end(index));
                    self.add(piece.names.text(*name), span);
                }
            }
        }
    }

    /// `async_compile.wait_data: compile_id=0/1`
    fn add(&mut self, name: &str, span: Span) {
        let Some(id) = name.split("compile_id=").nth(1) else { return };
        let id = id.split([',', ' ']).next().unwrap_or(id);
        let Some((frame, turn)) = id.split_once('/') else { return };
        let (Ok(frame), Ok(turn)) = (frame.parse(), turn.parse()) else { return };
        let compile = self.0.entry((frame, turn)).or_insert_with(|| Compile {
            function: format!("frame {frame}"),
            span,
            parts: Vec::new(),
            compiler: false,
            cache: false,
            id: Some(format!("{frame}/{turn}")),
        });
        compile.span = (compile.span.0.min(span.0), compile.span.1.max(span.1));
        compile.cache |= TORCH_CACHE.iter().any(|cache| name.starts_with(cache));
        compile.compiler |= name.starts_with(TORCH_COMPILER);
    }
}

/// What ran on devices, by who launched it: compiled, eager, tried out, moved.
fn kernels(piece: &Trace, known: &Known, compiling: &Set, region: &Set) -> [Vec<Span>; 4] {
    let (mut compiled, mut eager, mut tried, mut moved) = (vec![], vec![], vec![], vec![]);
    for line in piece.lines.iter().filter(|line| line.place == Place::Device) {
        let events = &line.events;
        for index in 0..events.len() {
            let span = (events.start[index], events.end(index));
            let launched = match *piece.detail(line, index) {
                Detail::Correlation(id) => known.launches.get(&id).map(|(_, place)| *place),
                _ => None,
            };
            let launched = || launched.unwrap_or_else(|| Launched::at(span.0, compiling, region));
            match piece.names.category(events.name[index]) {
                Category::Memcpy | Category::Memset => match launched() {
                    Launched::Compiling => tried.push(span),
                    Launched::Region | Launched::Outside => moved.push(span),
                },
                Category::Kernel => match launched() {
                    Launched::Compiling => tried.push(span),
                    Launched::Region => compiled.push(span),
                    Launched::Outside => eager.push(span),
                },
                Category::None
                | Category::CpuOp
                | Category::UserAnnotation
                | Category::GpuUserAnnotation
                | Category::PythonFunction
                | Category::CudaRuntime
                | Category::Overhead
                | Category::Other => {}
            }
        }
    }
    [compiled, eager, tried, moved]
}
