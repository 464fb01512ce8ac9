//! torch.compile: compiled regions on every thread, kernels by their launches, compilations by their ids.
//! Compiling takes priority over the region, because kernels are tried inside it.

mod compiles;
mod kernels;
mod operators;
mod threads;

use firstlight_schema::trace::{FrameKind, Framework, Part, StepsBy};
use rustc_hash::FxHashMap;

use super::layer::Layer;
use super::steps::{by_repetition, outermost, whole};
use super::{Attribution, Layers, Mark, Own, Totals};
use crate::error::Result;
use crate::intervals::{Set, Span};
use crate::model::{Line, Place, Tally, Trace};
use crate::names::{ByName, Category, NameId};
use crate::read::Pieces;
use crate::rules::{TORCH, TorchRole, torch_role};

use compiles::{Compiles, Regions, function};
use kernels::kernels;
pub(crate) use operators::Operators;
use threads::Threads;

pub(crate) fn find(source: &mut dyn Pieces) -> Result<Attribution> {
    let trace = source.trace();
    let mut known = Known {
        roles: trace.names.map(torch_role),
        launches: FxHashMap::default(),
        kernels: false,
        launching: false,
    };
    let frames = trace.names.map(|category, name| match torch_role(category, name) {
        TorchRole::Python => FrameKind::Python,
        TorchRole::Annotation => FrameKind::Annotation,
        _ => FrameKind::Framework,
    });
    let tallies = Tally::per_line(trace);
    let owner = owner(trace, &tallies);
    let ran = super::ran(trace);
    let others = super::others(trace, &tallies, owner);
    let unmarked = tallies[owner].timed_profiler_steps == 0;
    let mut totals = Totals::new(&trace.names);
    let (mut threads, mut compiles) = (Threads::default(), Compiles::default());
    let mut region = Layer::default();
    let (mut marks, mut regions) = (Vec::new(), Regions::default());
    source.each(&[], 0, &mut |piece, span| {
        totals.feed(piece, owner, &frames);
        let done = threads.feed(piece, span, &known.roles);
        compiles.feed(piece, &known.roles);
        let compiling = Set::union(done.compiling.iter().map(|(_, own)| *own).collect());
        let region = region.advance(done.region, span.1);
        known.kernels |= has_kernels(piece);
        known.launching |= launches(piece, &known.roles);
        for found in done.launches {
            let place = Launched::at(found.at, &compiling, &region);
            let launch = Launch { line: found.line, place, region: found.region };
            let known = known.launches.entry(found.id).or_insert(launch);
            // Of two launches with one number, the later one of the last line counts.
            if known.line <= launch.line {
                *known = launch;
            }
        }
        marks.extend(marked(piece, owner, &known.roles));
        if unmarked {
            regions.feed(piece, owner, &known.roles);
        }
        known.held() + size_of_val(regions.calls.as_slice()) as u64
    })?;
    let names = &source.trace().names;
    let marks = outermost(marks);
    let (steps_by, steps) = if marks.is_empty() {
        let called = |name| function(names.text(name));
        by_repetition(&regions.calls, called, StepsBy::RepeatedCall, totals.end)
            .unwrap_or_else(|| whole(totals.end))
    } else {
        (StepsBy::Annotation, marks)
    };
    Ok(Attribution {
        framework: Framework::Torch,
        rules: TORCH,
        steps_by,
        owner,
        others,
        steps,
        compiles: compiles.0.into_values().collect(),
        frames,
        ran,
        cleared: Vec::new(),
        totals,
        own: Own::Torch(known),
    })
}

/// The meaning of names, and facts about the whole recording.
pub(crate) struct Known {
    roles: ByName<TorchRole>,
    /// The origin of each launch, by its number.
    launches: FxHashMap<u64, Launch>,
    /// Whether anything ran on a device, or was launched on one.
    kernels: bool,
    launching: bool,
}

impl Known {
    /// Whether operators and graphs run on the processor itself.
    fn on_processor(&self) -> bool {
        !self.kernels && !self.launching
    }

    pub(super) fn held(&self) -> u64 {
        (self.launches.len() * size_of::<(u64, Launch)>()) as u64
    }
}

/// The launch of a kernel.
#[derive(Clone, Copy, Debug)]
struct Launch {
    line: u32,
    place: Launched,
    /// The outermost compiled region open on its line.
    region: Option<NameId>,
}

/// The origin of a kernel's launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Launched {
    /// By the compiler.
    Compiling,
    Region,
    Outside,
}

impl Launched {
    fn at(at: i64, compiling: &Set, region: &Set) -> Self {
        if compiling.contains(at) {
            Self::Compiling
        } else if region.contains(at) {
            Self::Region
        } else {
            Self::Outside
        }
    }
}

/// Divides the time of one piece after another.
pub(crate) struct Divider<'a> {
    owner: usize,
    known: &'a Known,
    threads: Threads,
    layers: [Layer; 6],
    devices: [Layer; 5],
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
        let compiling = autotune.clone().or(&compile).or(&lower).or(&trace);
        let blocked =
            on_line(&piece.lines[self.owner], |name| known.roles[name] == TorchRole::Blocked);
        let mut layers = self.layers.iter_mut();
        let [region, graph, operators, guards, prologue, blocked] =
            [done.region, done.graph, done.operators, done.guards, done.prologue, blocked]
                .map(|own| layers.next().expect("as many layers as spans").advance(own, span.1));
        // Without a device, graphs and operators run on the host itself.
        let (graph, operators) = if known.on_processor() {
            (graph, operators)
        } else {
            (Set::default(), Set::default())
        };
        let mut devices = self.devices.iter_mut();
        let [compiled, eager, tried, tried_moves, moved] =
            kernels(piece, known, &compiling, &region)
                .map(|own| devices.next().expect("as many layers as spans").advance(own, span.1));
        let eager = eager.or(&operators.without(&compiling));
        let tuning = tried.clone().or(&tried_moves).and(&compiling);
        Layers {
            parts: vec![
                (Part::Autotune, autotune.or(&tuning)),
                (Part::Compile, compile),
                (Part::Lower, lower),
                (Part::Trace, trace),
                (Part::Compiled, compiled.or(&graph)),
                (Part::Eager, eager),
                (Part::Transfer, moved),
                // A call that waits does not dispatch meanwhile.
                (Part::Blocked, blocked),
                (Part::Guards, guards),
                (Part::Prologue, prologue),
                (Part::Call, region.clone()),
            ],
            calls: region.clone(),
            region,
            tried,
        }
    }
}

/// The thread of the steps, otherwise the busiest.
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
        Mark { name: "ProfilerStep".to_owned(), number, span, ended: true }
    })
}

fn has_kernels(piece: &Trace) -> bool {
    let kernel = |name: &NameId| piece.names.category(*name) == Category::Kernel;
    let devices = piece.lines.iter().filter(|line| line.place == Place::Device);
    devices.into_iter().any(|line| line.events.name.iter().any(kernel))
}

/// Whether the host launches kernels, recorded or not.
fn launches(piece: &Trace, roles: &ByName<TorchRole>) -> bool {
    let threads = piece.lines.iter().filter(|line| line.place == Place::Host);
    threads
        .into_iter()
        .any(|line| line.events.name.iter().any(|name| roles[*name] == TorchRole::Launch))
}

fn on_line(line: &Line, wanted: impl Fn(NameId) -> bool) -> Vec<Span> {
    let events = &line.events;
    let all = (0..events.len()).filter(|&index| wanted(events.name[index]));
    all.map(|index| (events.start[index], events.end(index))).collect()
}
