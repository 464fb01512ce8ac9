//! Executions: on devices, and on the threads of the processor.

use super::Known;
use crate::intervals::{Set, Span};
use crate::model::{Detail, Line, Place, Run, Trace};
use crate::names::NameId;
use crate::rules::JaxRole;

/// The line of a device that lists its programs, if there is one.
const MODULES: &str = "XLA Modules";

/// The role of an event on a processor thread for a running program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    /// An operator of a run, or its end; events of one run on one line are one interval.
    InRun(Run),
    /// A whole run, or an operator whose run is unknown.
    Alone,
    /// An operator that calls back into the host's own code.
    Callback(Option<Run>),
    No,
}

impl Running {
    fn classify(piece: &Trace, line: &Line, index: usize, known: &Known) -> Self {
        let role = known.roles[line.events.name[index]];
        let (operator, run) = match *piece.detail(line, index) {
            Detail::Program { module, run, .. } => (module.is_some(), run),
            _ => (false, None),
        };
        match (role, run) {
            (JaxRole::Callback, run) if operator => Self::Callback(run),
            (JaxRole::Run, _) => Self::Alone,
            (JaxRole::Completion, Some(run)) => Self::InRun(run),
            (_, Some(run)) if operator => Self::InRun(run),
            (_, None) if operator => Self::Alone,
            _ => Self::No,
        }
    }
}

/// The runs of programs on the processor, of the whole recording.
#[derive(Default)]
pub(super) struct Processor {
    /// The last run of each line, which may continue, and its module.
    open: Vec<Option<(Run, Option<NameId>, Span)>>,
    runs: Vec<(Option<NameId>, Span)>,
    /// Host code that a program called back, by line.
    callbacks: Vec<(usize, Span)>,
}

impl Processor {
    pub(super) fn feed(&mut self, piece: &Trace, known: &Known) {
        self.open.resize(piece.lines.len(), None);
        for (number, line) in piece.lines.iter().enumerate() {
            if line.place == Place::Device {
                continue;
            }
            for index in 0..line.events.len() {
                let span = (line.events.start[index], line.events.end(index));
                let run = match Running::classify(piece, line, index, known) {
                    Running::InRun(run) => Some(run),
                    Running::Callback(run) => {
                        self.callbacks.push((number, span));
                        run
                    }
                    Running::Alone | Running::No => None,
                };
                let Some(run) = run else { continue };
                match &mut self.open[number] {
                    Some((last, _, own)) if *last == run => own.1 = own.1.max(span.1),
                    open => {
                        let module = module(piece, line, index);
                        let last = open.replace((run, module, span));
                        self.runs.extend(last.map(|(_, module, span)| (module, span)));
                    }
                }
            }
        }
    }

    pub(super) fn held(&self) -> u64 {
        (size_of_val(self.runs.as_slice()) + size_of_val(self.callbacks.as_slice())) as u64
    }

    /// All runs in order, with their modules.
    pub(super) fn finish(&mut self) {
        let open = self.open.drain(..).flatten();
        self.runs.extend(open.map(|(_, module, span)| (module, span)));
        self.runs.sort_unstable_by_key(|(_, span)| *span);
        self.callbacks.sort_unstable();
    }

    pub(super) fn modules(&self) -> impl Iterator<Item = (NameId, Span)> {
        self.runs.iter().filter_map(|(module, span)| Some(((*module)?, *span)))
    }

    pub(super) fn runs(&self) -> Set {
        Set::union(self.runs.iter().map(|(_, span)| *span).collect())
    }

    pub(super) fn callbacks(self) -> Vec<(usize, Span)> {
        self.callbacks
    }
}

fn module(piece: &Trace, line: &Line, index: usize) -> Option<NameId> {
    match *piece.detail(line, index) {
        Detail::Program { module, .. } => module,
        _ => None,
    }
}

/// The executions in a piece.
#[derive(Default)]
pub(super) struct Devices {
    pub(super) compiled: Vec<Span>,
    pub(super) eager: Vec<Span>,
    /// Kernels without a program during a compilation, and data moved for them.
    pub(super) tried: Vec<Span>,
    pub(super) tried_moves: Vec<Span>,
    pub(super) moved: Vec<Span>,
    /// Operators on the processor that work themselves, if any operator calls back.
    pub(super) working: Vec<Span>,
    /// Programs by name, for steps without annotations.
    pub(super) runs: Vec<(NameId, Span)>,
}

/// Whether the runs of programs are needed by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Wanted,
    Unwanted,
}

impl Devices {
    pub(super) fn walk(piece: &Trace, known: &Known, compile: &Set, names: Names) -> Self {
        let mut found = Self::default();
        for (number, line) in piece.lines.iter().enumerate() {
            if line.place == Place::Host {
                found.thread(piece, number, known);
                continue;
            }
            let modules = |other: &Line| other.group == line.group && other.name == MODULES;
            if line.name == MODULES || !piece.lines.iter().any(modules) {
                found.line(piece, line, known, (compile, names));
            }
        }
        found
    }

    /// Executions on a processor thread; the runs of operators are known for the whole recording.
    fn thread(&mut self, piece: &Trace, number: usize, known: &Known) {
        let line = &piece.lines[number];
        for index in 0..line.events.len() {
            let span = (line.events.start[index], line.events.end(index));
            let running = Running::classify(piece, line, index, known);
            if running == Running::Alone {
                self.compiled.push(span);
            }
            let at_work = matches!(running, Running::InRun(_)) && !known.callbacks.is_empty();
            if at_work
                && known.roles[line.events.name[index]] == JaxRole::Other
                && !known.calls_back(number, span)
            {
                self.working.push(span);
            }
        }
    }

    fn line(&mut self, piece: &Trace, line: &Line, known: &Known, (compile, names): (&Set, Names)) {
        for index in 0..line.events.len() {
            let name = line.events.name[index];
            let span = (line.events.start[index], line.events.end(index));
            let (program, module) = match *piece.detail(line, index) {
                Detail::Program { id, module, .. } => (id, module),
                _ => (None, None),
            };
            let ours = program.is_some() || module.is_some_and(|module| known.modules[module]);
            if ours || line.name == MODULES {
                self.compiled.push(span);
                if names == Names::Wanted {
                    self.runs.push((module.unwrap_or(name), span));
                }
            } else if compile.contains(span.0) {
                let own = if known.moving[name] { &mut self.tried_moves } else { &mut self.tried };
                own.push(span);
            } else if known.moving[name] {
                self.moved.push(span);
            } else {
                self.eager.push(span);
            }
        }
    }
}

/// Consecutive kernels of one program without a pause are one run of it.
#[derive(Default)]
pub(super) struct Launches(pub(super) Vec<(NameId, Span)>);

impl Launches {
    pub(super) fn feed(&mut self, kernels: &[(NameId, Span)]) {
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
