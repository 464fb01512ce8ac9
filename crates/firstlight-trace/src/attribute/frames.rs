//! Host work: the time outside the compiled program, by the events around it.

use firstlight_schema::trace::{Frame, FrameKind};

use super::{Attribution, Mark};
use crate::intervals::{Set, Span};
use crate::model::{Detail, Trace};
use crate::names::{ByName, NameId, Names};

/// Names that no event has.
const NOTHING: &str = "(no event around it)";

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    inclusive: i64,
    exclusive: i64,
    /// The number of open events with this name.
    open: u32,
}

struct Open {
    name: NameId,
    end: i64,
    /// Host time before it began, and that of its callees.
    before: i64,
    called: i64,
}

/// Sums up one piece after another.
#[derive(Default)]
pub(crate) struct Frames {
    /// By name.
    sums: Vec<Sum>,
    stack: Vec<Open>,
    clock: HostClock,
    /// Host time that is to be explained, and how much of it is.
    host: i64,
    explained: i64,
    steps: usize,
    /// The index of the next step, in order of the events.
    next: usize,
}

impl Frames {
    /// `host` is the host time in this piece, of `steps` steps.
    pub(crate) fn feed(&mut self, piece: &Trace, found: &Attribution, host: &Set, steps: usize) {
        self.clock.spans.extend(host.spans());
        self.host += host.total();
        self.steps += steps;
        self.sums.resize(piece.names.len(), Sum::default());
        let line = &piece.lines[found.owner];
        let events = &line.events;
        for index in 0..events.len() {
            let start = events.start[index];
            while let Some(open) = self.stack.pop_if(|open| open.end <= start) {
                self.close(&open);
            }
            let end = events.end(index);
            let step = matches!(piece.detail(line, index), Detail::Step(_));
            if step || self.is_step(&found.steps, (start, end)) {
                continue;
            }
            let end = self.stack.last().map_or(end, |outer| end.min(outer.end));
            if end <= start {
                continue;
            }
            let name = events.name[index];
            self.sums[name.index()].open += 1;
            self.stack.push(Open { name, end, before: self.clock.up_to(start), called: 0 });
        }
        self.clock.forget();
    }

    /// Whether this is the event of a step; asked in order of the starts.
    fn is_step(&mut self, steps: &[Mark], span: Span) -> bool {
        while steps.get(self.next).is_some_and(|step| step.span.0 < span.0) {
            self.next += 1;
        }
        steps.get(self.next).is_some_and(|step| step.span == span)
    }

    /// Per step, the largest first.
    pub(crate) fn finish(mut self, names: &Names, kinds: &ByName<FrameKind>) -> Vec<Frame> {
        while let Some(open) = self.stack.pop() {
            self.close(&open);
        }
        self.listed(names, kinds)
    }

    /// Attributes an ending frame; its time counts once, at the outermost frame of its name.
    fn close(&mut self, open: &Open) {
        let own = self.clock.up_to(open.end) - open.before;
        let sum = &mut self.sums[open.name.index()];
        sum.open -= 1;
        if own == 0 {
            return;
        }
        sum.count += 1;
        sum.exclusive += own - open.called;
        if sum.open == 0 {
            sum.inclusive += own;
        }
        match self.stack.last_mut() {
            Some(outer) => outer.called += own,
            None => self.explained += own,
        }
    }

    fn listed(&self, names: &Names, kinds: &ByName<FrameKind>) -> Vec<Frame> {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 nanoseconds")]
        let per_step = |ns: i64| ns as f64 / self.steps.max(1) as f64;
        let mut frames: Vec<Frame> = names
            .ids()
            .zip(&self.sums)
            .filter(|(_, sum)| sum.inclusive > 0)
            .map(|(name, sum)| Frame {
                name: names.text(name).to_owned(),
                kind: kinds[name],
                count: sum.count,
                inclusive_ns: per_step(sum.inclusive),
                exclusive_ns: per_step(sum.exclusive),
            })
            .collect();
        let rest = self.host - self.explained;
        if rest > 0 {
            frames.push(Frame {
                name: NOTHING.to_owned(),
                kind: FrameKind::Nothing,
                count: 0,
                inclusive_ns: per_step(rest),
                exclusive_ns: per_step(rest),
            });
        }
        frames.sort_by(|a, b| {
            b.inclusive_ns.total_cmp(&a.inclusive_ns).then_with(|| a.name.cmp(&b.name))
        });
        frames
    }
}

/// The host's time up to an instant; queried in ascending order.
#[derive(Default)]
struct HostClock {
    spans: Vec<Span>,
    at: usize,
    passed: i64,
}

impl HostClock {
    fn up_to(&mut self, time: i64) -> i64 {
        while let Some(span) = self.spans.get(self.at).filter(|span| span.1 <= time) {
            self.passed += span.1 - span.0;
            self.at += 1;
        }
        let inside = self.spans.get(self.at).map_or(0, |span| (time - span.0).max(0));
        self.passed + inside
    }

    /// Drops past intervals.
    fn forget(&mut self) {
        self.spans.drain(..self.at);
        self.at = 0;
    }
}
