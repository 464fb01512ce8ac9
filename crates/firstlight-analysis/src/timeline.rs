//! Converts messages to spans on one axis, for the main thread and for others.
//!
//! The programs that start an interpreter are `launcher`. If a process becomes another program and sends
//! nothing more, its time is attributed to `children`, under that program's command.

use firstlight_schema::message::{CacheAnswer, Detail, Edge, Event, Hello, Message, PhaseEdge};
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::{ProcessExit, RawSample};

use crate::ledger::Span;

/// A closed phase with its thread and its closing details.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) thread: u32,
    pub(crate) span: Span,
    pub(crate) detail: Option<Detail>,
}

/// Everything that a process reported, by start time.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Spans of the main thread and of the process's start; they make the ledger.
    pub(crate) main: Vec<Span>,
    /// Every phase that the process itself reported, on any thread.
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) hooked: bool,
    /// Whether the process became another program and sent nothing more.
    pub(crate) unseen: bool,
    marks: Vec<(String, Moment)>,
}

impl Timeline {
    pub(crate) fn new(raw: &RawSample) -> Self {
        let mut builder = Builder {
            end: raw.reaped,
            exits: raw.exits.clone(),
            opened: raw.opened.clone(),
            ..Builder::default()
        };
        builder.span(Phase::Spawn, None, raw.spawn, raw.exec);
        builder.quiet_since = raw.exec;
        raw.messages.iter().for_each(|message| builder.take(message));
        builder.finish()
    }

    pub(crate) fn mark(&self, name: &str) -> Option<Moment> {
        self.marks.iter().find(|(known, _)| known == name).map(|&(_, at)| at)
    }
}

#[derive(Default)]
struct Builder {
    timeline: Timeline,
    open: Vec<PhaseEdge>,
    /// The end of what was seen of the process so far, or of its predecessor.
    quiet_since: Moment,
    end: Moment,
    /// Exits of interpreters that another program started.
    exits: Vec<ProcessExit>,
    /// Times at which the interpreter's file was opened.
    opened: Vec<Moment>,
    /// The current sender.
    pid: u32,
    /// The program that the sender announced to become, if that was its last message.
    becomes: Option<(Moment, String)>,
}

impl Builder {
    fn span(&mut self, phase: Phase, label: Option<&str>, begin: Moment, end: Moment) {
        let label = label.map(str::to_owned);
        self.timeline.main.push(Span { phase, label, begin, end });
    }

    fn take(&mut self, message: &Message) {
        if let Message::Hello(hello) = message {
            return self.greet(hello);
        }
        self.becomes = None;
        match message {
            Message::Phase(edge) => match edge.edge {
                Edge::Begin => self.open.push(edge.clone()),
                Edge::End => self.close(edge),
            },
            Message::Imports(imports) if imports.thread == 0 => {
                for (package, begin, end) in &imports.segments {
                    self.span(Phase::Import, Some(package), *begin, *end);
                }
            }
            Message::Event(event) => match &event.event {
                Event::Mark(mark) => self.timeline.marks.push((mark.name.clone(), event.at)),
                Event::Exec(exec) => self.becomes = Some((event.at, exec.command.clone())),
                _ => {}
            },
            Message::Bye(bye) => self.quiet_since = bye.at,
            _ => {}
        }
    }

    /// Attributes the time before `hello`: first to a launcher, if another program started the process, then
    /// to the interpreter.
    fn greet(&mut self, hello: &Hello) {
        self.leave();
        self.timeline.hooked = true;
        self.pid = hello.pid;
        let known = hello.started.map(|at| at.clamp(self.quiet_since, hello.at));
        // A script that becomes the interpreter keeps its process; the opening of the interpreter's file
        // gives the time.
        let opened = self.opened.iter().rev().copied();
        let opened = opened.into_iter().find(|at| (self.quiet_since..=hello.at).contains(at));
        let started = opened.max(known).unwrap_or(self.quiet_since);
        if started > self.quiet_since {
            self.span(Phase::Launcher, None, self.quiet_since, started);
        }
        self.span(Phase::Interpreter, None, started, hello.at);
    }

    /// Closes the open phases of the last sender, which became another program or exited.
    fn leave(&mut self) {
        if let Some((at, _)) = self.becomes.take() {
            self.close_all(at);
            self.quiet_since = at;
        } else if let Some(exit) = self.exits.iter().find(|exit| exit.pid == self.pid) {
            let at = exit.at;
            self.close_all(at);
            self.quiet_since = self.quiet_since.max(at);
        }
    }

    fn close_all(&mut self, end: Moment) {
        for begun in std::mem::take(&mut self.open) {
            self.keep(&begun, end, None);
        }
    }

    fn close(&mut self, edge: &PhaseEdge) {
        let matching = |open: &PhaseEdge| open.thread == edge.thread && open.name == edge.name;
        // The conversation was checked when it was received, so there is one.
        if let Some(position) = self.open.iter().rposition(matching) {
            let begun = self.open.remove(position);
            self.keep(&begun, edge.at, edge.detail.clone());
        }
    }

    fn keep(&mut self, begun: &PhaseEdge, end: Moment, detail: Option<Detail>) {
        let served = detail.as_ref().and_then(|detail| detail.cache) == Some(CacheAnswer::Hit);
        let phase =
            if begun.name == Phase::Compile && served { Phase::CacheRead } else { begun.name };
        let span = Span { phase, label: begun.label.clone(), begin: begun.at, end };
        if begun.thread == 0 {
            self.timeline.main.push(span.clone());
        }
        self.timeline.stretches.push(Stretch { thread: begun.thread, span, detail });
    }

    fn finish(mut self) -> Timeline {
        if let Some((at, command)) = self.becomes.take() {
            self.close_all(at);
            let end = self.end;
            self.span(Phase::Children, Some(&command), at, end);
            self.timeline.unseen = true;
        } else if self.exits.iter().any(|exit| exit.pid == self.pid) {
            self.leave();
            let (from, end) = (self.quiet_since, self.end);
            self.span(Phase::Launcher, None, from, end);
        }
        self.close_all(self.end);
        // Spans were stored as they closed, inner ones first; of spans that begin together the outer one has
        // to come first.
        self.timeline.main.sort_by(|a, b| a.begin.cmp(&b.begin).then_with(|| b.end.cmp(&a.end)));
        self.timeline.stretches.sort_by(|a, b| {
            a.span.begin.cmp(&b.span.begin).then_with(|| b.span.end.cmp(&a.span.end))
        });
        self.timeline
    }
}
