//! JAX: calls are the outermost `PjitFunction`s; a call that lowers has missed the cache of compiled
//! programs; programs run on worker threads or on devices.

mod host;
mod running;

use firstlight_schema::trace::{FrameKind, Part, StepsBy};

use super::layer::Layer;
use super::steps::{Repeated, by_repetition, outermost, whole};
use super::{Attribution, Compile, Layers, Mark, Own, Totals};
use crate::error::Result;
use crate::intervals::{Set, Span};
use crate::model::{Detail, Place, Program, Tally, Trace};
use crate::names::{ByName, NameId};
use crate::read::Pieces;
use crate::rules::{JaxRole, JaxRules, moves_data};

use host::{Host, function};
use running::{Devices, Launches, Names, Processor};

pub(crate) fn find(source: &mut dyn Pieces) -> Result<Attribution> {
    let trace = source.trace();
    let version = trace.facts.version("jaxlib").or_else(|| trace.facts.version("jax"));
    let (table, _) = JaxRules::for_version(version);
    let known = Known::new(trace, table);
    let frames = trace.names.map(|_, name| {
        if name.starts_with('$') {
            FrameKind::Python
        } else if is_internal(name) {
            FrameKind::Framework
        } else {
            FrameKind::Annotation
        }
    });
    let tallies = Tally::per_line(trace);
    let owner = owner(trace, &tallies);
    let (framework, ran) = (super::framework(trace), super::ran(trace));
    let others = super::others(trace, &tallies, owner);
    // If the program marks its steps, repetitions are not needed.
    let unmarked = tallies[owner].timed_steps == 0;
    let mut totals = Totals::new(&trace.names);
    let mut host = Host::default();
    let mut marks = Vec::new();
    let (mut processor, mut runs) = (Processor::default(), Launches::default());
    source.each(&[], 0, &mut |piece, _| {
        totals.feed(piece, owner, &frames);
        host.feed(piece, owner, &known.roles);
        host.forget_times(unmarked);
        marks.extend(marked(piece, owner));
        if unmarked {
            let found = Devices::walk(piece, &known, &Set::default(), Names::Wanted);
            runs.feed(&found.runs);
        }
        processor.feed(piece, &known);
        host.held() + processor.held() + (runs.0.len() * size_of::<(NameId, Span)>()) as u64
    })?;
    host.finish(&source.trace().names);
    processor.finish();
    if unmarked {
        runs.0.extend(processor.modules());
        runs.0.sort_by_key(|(_, span)| *span);
    }
    let names = &source.trace().names;
    let marks = outermost(marks);
    let (steps_by, steps) = if marks.is_empty() {
        let end = totals.end;
        let repeated = |calls: &[(NameId, Span)]| -> Vec<Repeated> {
            calls.iter().map(|&(name, span)| Repeated::call(name, span)).collect()
        };
        let called = |name| function(names.text(name));
        by_repetition(&repeated(&host.calls), called, StepsBy::RepeatedCall, end)
            .or_else(|| {
                let ran = |name| names.text(name);
                let mut runs = repeated(&runs.0);
                lead(&mut runs, &host.compiles);
                by_repetition(&runs, ran, StepsBy::RepeatedModule, end)
            })
            .unwrap_or_else(|| whole(end))
    } else {
        (StepsBy::Annotation, marks)
    };
    let own = Own::Jax(known.with(&host, processor));
    let (rules, compiles, cleared) = (table.name, host.compiles, host.cleared);
    Ok(Attribution {
        framework,
        rules,
        steps_by,
        owner,
        others,
        steps,
        compiles,
        frames,
        ran,
        cleared,
        totals,
        own,
    })
}

/// A compilation leads to the first run after it, and begins that run's step.
fn lead(runs: &mut [Repeated], compiles: &[Compile]) {
    for compile in compiles {
        let next = runs.partition_point(|run| run.span.0 < compile.span.1);
        if let Some(run) = runs.get_mut(next) {
            run.from = run.from.min(compile.span.0);
        }
    }
}

/// The meaning of names, and facts about the whole recording.
pub(crate) struct Known {
    roles: ByName<JaxRole>,
    moving: ByName<bool>,
    modules: ByName<bool>,
    /// For the whole recording: gaps between two related events, and compilations.
    awaits: Set,
    compile: Set,
    /// Runs of programs on the processor.
    running: Set,
    /// Host code that a program called back, by line.
    callbacks: Vec<(usize, Span)>,
    parts: Vec<(Part, Set)>,
}

impl Known {
    fn new(trace: &Trace, table: &JaxRules) -> Self {
        Self {
            roles: trace.names.map(|_, name| {
                let calls_back =
                    |program: &Program| program.callbacks.iter().any(|own| own == name);
                let role = table.role(name);
                let unknown = role == JaxRole::Other && trace.programs.iter().any(calls_back);
                if unknown { JaxRole::Callback } else { role }
            }),
            moving: trace.names.map(|_, name| moves_data(name)),
            // A converted JSON contains neither the programs nor their numbers, only their names.
            modules: trace.names.map(|_, name| {
                name.starts_with("jit_")
                    || trace.programs.iter().any(|program| program.module == name)
            }),
            awaits: Set::default(),
            compile: Set::default(),
            running: Set::default(),
            callbacks: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn with(mut self, host: &Host, processor: Processor) -> Self {
        let part = |part: Part| {
            let spans = host.compiles.iter().flat_map(|compile| &compile.parts);
            let own = spans.filter(|(own, _)| *own == part).map(|(_, span)| *span);
            (part, Set::union(own.collect()))
        };
        self.awaits = Set::union(host.awaits.clone());
        self.compile = Set::union(host.compiles.iter().map(|compile| compile.span).collect());
        self.parts = [Part::Trace, Part::Lower, Part::Compile].map(part).into();
        self.running = processor.runs();
        self.callbacks = processor.callbacks();
        self
    }

    pub(super) fn held(&self) -> u64 {
        let sets = size_of_val(self.awaits.spans()) + size_of_val(self.running.spans());
        (sets + size_of_val(self.callbacks.as_slice())) as u64
    }

    /// Whether host code is called back in an interval of a line.
    fn calls_back(&self, line: usize, span: Span) -> bool {
        let from = self.callbacks.partition_point(|own| *own < (line, (span.0, i64::MIN)));
        let first = self.callbacks.get(from);
        first.is_some_and(|(own, callback)| *own == line && callback.1 <= span.1)
    }

    /// Host code that programs called back in an interval.
    fn called_back(&self, span: Span) -> Set {
        let all = self.callbacks.iter().map(|(_, own)| *own);
        Set::union(all.filter(|own| own.0 < span.1 && span.0 < own.1).collect())
    }
}

/// Divides the time of one piece after another.
pub(crate) struct Divider<'a> {
    owner: usize,
    known: &'a Known,
    host: Host,
    layers: [Layer; 9],
}

impl<'a> Divider<'a> {
    pub(super) fn new(found: &Attribution, known: &'a Known) -> Self {
        Self { owner: found.owner, known, host: Host::default(), layers: Default::default() }
    }

    pub(super) fn divide(&mut self, piece: &Trace, span: Span) -> Layers {
        let known = self.known;
        self.host.feed(piece, self.owner, &known.roles);
        let devices = Devices::walk(piece, known, &known.compile, Names::Unwanted);
        let (calls, blocked, fetching) = self.host.times();
        let spans = [
            calls,
            blocked,
            fetching,
            devices.compiled,
            devices.eager,
            devices.tried,
            devices.tried_moves,
            devices.moved,
            devices.working,
        ];
        let mut layers = self.layers.iter_mut();
        let [calls, blocked, fetching, compiled, eager, tried, tried_moves, moved, working] =
            spans.map(|own| layers.next().expect("as many layers as spans").advance(own, span.1));
        let compiled = compiled.or(&known.running.within(span));
        let callback = known.called_back(span).without(&working);
        let autotune = known.compile.and(&tried).or(&known.compile.and(&tried_moves));
        let mut parts = vec![(Part::Autotune, autotune)];
        parts.extend(known.parts.iter().map(|(part, set)| (*part, set.within(span))));
        parts.extend([
            (Part::Callback, callback),
            (Part::Compiled, compiled),
            (Part::Eager, eager),
            (Part::Transfer, moved),
            // A call that waits does not dispatch meanwhile.
            (Part::Blocked, blocked.or(&known.awaits.within(span))),
            (Part::Call, calls.clone()),
            (Part::Fetch, fetching),
        ]);
        Layers { parts, region: calls.clone(), calls, tried }
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

/// The host line with the most steps, otherwise with the most calls, otherwise the busiest.
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
            ended: true,
        }),
        _ => None,
    })
}
