//! From messages to spans on one axis: what the main thread did, what others did beside it.

use firstlight_schema::message::{CacheAnswer, Detail, Edge, Event, Hello, Message, PhaseEdge};
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::RawSample;

use crate::ledger::Span;

/// A closed phase with the thread it ran on and what was said when it closed.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) thread: u32,
    pub(crate) span: Span,
    pub(crate) detail: Option<Detail>,
}

/// All that a process told, in the order in which it began.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Spans of the main thread and of the process's start; they make the ledger.
    pub(crate) main: Vec<Span>,
    /// Every phase that the process itself reported, on any thread.
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) hooked: bool,
    marks: Vec<(String, Moment)>,
}

impl Timeline {
    pub(crate) fn of(raw: &RawSample) -> Self {
        let mut builder = Builder { end: raw.reaped, ..Builder::default() };
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
    /// When nothing of the process had been seen yet, or its predecessor had left.
    quiet_since: Moment,
    end: Moment,
}

impl Builder {
    fn span(&mut self, phase: Phase, label: Option<&str>, begin: Moment, end: Moment) {
        let label = label.map(str::to_owned);
        self.timeline.main.push(Span { phase, label, begin, end });
    }

    fn take(&mut self, message: &Message) {
        match message {
            Message::Hello(hello) => self.greet(hello),
            Message::Phase(edge) => match edge.edge {
                Edge::Begin => self.open.push(edge.clone()),
                Edge::End => self.close(edge),
            },
            Message::Imports(imports) if imports.thread == 0 => {
                for (package, begin, end) in &imports.segments {
                    self.span(Phase::Import, Some(package), *begin, *end);
                }
            }
            Message::Event(event) => {
                if let Event::Mark(mark) = &event.event {
                    self.timeline.marks.push((mark.name.clone(), event.at));
                }
            }
            Message::Bye(bye) => self.quiet_since = bye.at,
            _ => {}
        }
    }

    /// The time before hello: a launcher's, if another program started the process, then its own.
    fn greet(&mut self, hello: &Hello) {
        self.timeline.hooked = true;
        let started =
            hello.started.map_or(self.quiet_since, |at| at.clamp(self.quiet_since, hello.at));
        if hello.started.is_some() {
            self.span(Phase::Launcher, None, self.quiet_since, started);
        }
        self.span(Phase::Interpreter, None, started, hello.at);
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
        for begun in std::mem::take(&mut self.open) {
            let end = self.end;
            self.keep(&begun, end, None);
        }
        // Spans were kept as they closed, inner ones first; of spans that begin together the outer
        // one has to stand first.
        self.timeline.main.sort_by(|a, b| a.begin.cmp(&b.begin).then_with(|| b.end.cmp(&a.end)));
        self.timeline.stretches.sort_by_key(|stretch| stretch.span.begin);
        self.timeline
    }
}
