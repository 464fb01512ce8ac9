//! What the host was doing: its time outside of the compiled program by the events around it.

use firstlight_schema::trace::{Frame, FrameKind};
use rustc_hash::FxHashMap;

use super::Findings;
use crate::intervals::Set;
use crate::model::{Detail, Trace};
use crate::names::NameId;

/// Names that no event has.
const NOTHING: &str = "(no event around it)";

#[derive(Default)]
struct Sum {
    count: u64,
    inclusive: i64,
    exclusive: i64,
    /// How many of this name are open.
    open: u32,
}

struct Open {
    name: NameId,
    end: i64,
    /// Host time before it began, and that of what it called.
    before: i64,
    called: i64,
}

/// Per step, the largest first; `host` is what they are to explain.
pub(crate) fn frames(trace: &Trace, found: &Findings, host: &Set, steps: usize) -> Vec<Frame> {
    let line = &trace.lines[found.owner];
    let events = &line.events;
    let mut clock = HostClock { spans: host.spans(), at: 0, passed: 0 };
    let mut sums: FxHashMap<NameId, Sum> = FxHashMap::default();
    let mut stack: Vec<Open> = Vec::new();
    let mut explained = 0;
    for index in 0..events.len() {
        let start = events.start[index];
        while let Some(open) = stack.pop_if(|open| open.end <= start) {
            explained += close(&open, &mut clock, &mut stack, &mut sums);
        }
        if matches!(trace.detail(line, index), Detail::Step(_)) || is_step(found, events, index) {
            continue;
        }
        let end = events.end(index);
        let end = stack.last().map_or(end, |outer| end.min(outer.end));
        if end <= start {
            continue;
        }
        let name = events.name[index];
        sums.entry(name).or_default().open += 1;
        stack.push(Open { name, end, before: clock.up_to(start), called: 0 });
    }
    while let Some(open) = stack.pop() {
        explained += close(&open, &mut clock, &mut stack, &mut sums);
    }
    listed(trace, found, &sums, host.total() - explained, steps)
}

fn is_step(found: &Findings, events: &crate::model::Events, index: usize) -> bool {
    let span = (events.start[index], events.end(index));
    let place = found.steps.binary_search_by_key(&span.0, |step| step.span.0);
    place.is_ok_and(|place| found.steps[place].span == span)
}

/// Books a frame that ends; what it explains counts once, at the outermost.
fn close(
    open: &Open,
    clock: &mut HostClock<'_>,
    stack: &mut [Open],
    sums: &mut FxHashMap<NameId, Sum>,
) -> i64 {
    let own = clock.up_to(open.end) - open.before;
    let sum = sums.entry(open.name).or_default();
    sum.open -= 1;
    if own == 0 {
        return 0;
    }
    sum.count += 1;
    sum.exclusive += own - open.called;
    if sum.open == 0 {
        sum.inclusive += own;
    }
    match stack.last_mut() {
        Some(outer) => {
            outer.called += own;
            0
        }
        None => own,
    }
}

fn listed(
    trace: &Trace,
    found: &Findings,
    sums: &FxHashMap<NameId, Sum>,
    rest: i64,
    steps: usize,
) -> Vec<Frame> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 nanoseconds")]
    let per_step = |ns: i64| ns as f64 / steps.max(1) as f64;
    let mut frames: Vec<Frame> = sums
        .iter()
        .filter(|(_, sum)| sum.inclusive > 0)
        .map(|(&name, sum)| Frame {
            name: trace.names.text(name).to_owned(),
            kind: found.frames[name],
            count: sum.count,
            inclusive_ns: per_step(sum.inclusive),
            exclusive_ns: per_step(sum.exclusive),
        })
        .collect();
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

/// How much of the host's time has passed; asked in the order of time.
struct HostClock<'a> {
    spans: &'a [(i64, i64)],
    at: usize,
    passed: i64,
}

impl HostClock<'_> {
    fn up_to(&mut self, time: i64) -> i64 {
        while let Some(span) = self.spans.get(self.at).filter(|span| span.1 <= time) {
            self.passed += span.1 - span.0;
            self.at += 1;
        }
        let inside = self.spans.get(self.at).map_or(0, |span| (time - span.0).max(0));
        self.passed + inside
    }
}
