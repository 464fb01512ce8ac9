//! The main thread of a process as nested frames, for flame graphs and waterfalls.
//!
//! The interpreter reports imports as exclusive intervals: a package's own code stops where an imported
//! package begins, and continues where that one ends. Nesting follows from the order: when a package returns,
//! it closes all intervals in between.

use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::RawSample;

use crate::ledger::Span;
use crate::timeline::Timeline;

/// Imports closer than this are consecutive; a longer gap is the program's own code.
const ADJACENT_NS: u64 = 20_000;

/// A phase from its begin to its end, inside the frames of lower depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub phase: Phase,
    /// Package, function or part.
    pub label: Option<String>,
    /// Since the process was spawned.
    pub begin: Nanos,
    pub end: Nanos,
    /// Frames around it.
    pub depth: usize,
}

impl Frame {
    pub fn length(&self) -> Nanos {
        Nanos(self.end.0.saturating_sub(self.begin.0))
    }
}

/// All phases of the main thread, outer ones first. Children lie within their parents.
pub fn frames(raw: &RawSample) -> Vec<Frame> {
    let (imports, mut spans): (Vec<Span>, Vec<Span>) =
        Timeline::new(raw).main.into_iter().partition(|span| span.phase == Phase::Import);
    spans.extend(nested_imports(imports));
    nest(raw.spawn, spans)
}

/// The imports alone, without the phases around them.
pub fn import_frames(raw: &RawSample) -> Vec<Frame> {
    let imports = Timeline::new(raw).main.into_iter().filter(|span| span.phase == Phase::Import);
    nest(raw.spawn, nested_imports(imports.collect()))
}

/// Converts exclusive intervals to whole packages that contain their imports.
fn nested_imports(mut stretches: Vec<Span>) -> Vec<Span> {
    stretches.sort_by_key(|span| span.begin);
    let mut open: Vec<Span> = Vec::new();
    let mut closed = Vec::new();
    let mut last = Moment(0);
    for stretch in stretches {
        let goes_on = stretch.begin.since(last).0 <= ADJACENT_NS;
        let known = open.iter().rposition(|span| span.label == stretch.label);
        let kept = if goes_on { known.map_or(open.len(), |at| at + 1) } else { 0 };
        closed.extend(open.drain(kept..));
        last = stretch.end;
        for span in &mut open {
            span.end = stretch.end;
        }
        if !goes_on || known.is_none() {
            open.push(stretch);
        }
    }
    closed.extend(open);
    closed
}

/// Sorts spans and assigns depths; a span that outlasts its parent is cut at the parent's end.
fn nest(spawn: Moment, mut spans: Vec<Span>) -> Vec<Frame> {
    spans.retain(|span| span.end > span.begin);
    spans.sort_by(|a, b| a.begin.cmp(&b.begin).then(b.end.cmp(&a.end)));
    let mut ends: Vec<Moment> = Vec::new();
    let mut frames = Vec::with_capacity(spans.len());
    for span in spans {
        while ends.last().is_some_and(|end| *end <= span.begin) {
            ends.pop();
        }
        let end = ends.last().map_or(span.end, |parent| span.end.min(*parent));
        frames.push(Frame {
            phase: span.phase,
            label: span.label,
            begin: span.begin.since(spawn),
            end: end.since(spawn),
            depth: ends.len(),
        });
        ends.push(end);
    }
    frames
}

#[cfg(test)]
mod tests {
    use firstlight_schema::nanos::Moment;
    use firstlight_schema::phase::Phase;
    use proptest::prelude::*;

    use super::{Frame, nest, nested_imports};
    use crate::ledger::Span;

    fn import(label: &str, begin: u64, end: u64) -> Span {
        let (begin, end) = (Moment(begin), Moment(end));
        Span { phase: Phase::Import, label: Some(label.to_owned()), begin, end }
    }

    fn shown(frames: &[Frame]) -> Vec<(usize, &str, u64, u64)> {
        let row = |frame: &'_ Frame| (frame.depth, frame.begin.0, frame.end.0);
        frames
            .iter()
            .map(|frame| {
                let (depth, begin, end) = row(frame);
                (depth, frame.label.as_deref().unwrap_or(""), begin, end)
            })
            .collect()
    }

    #[test]
    fn a_package_contains_what_it_imports() {
        let stretches = vec![
            import("jax", 0, 10),
            import("numpy", 10, 30),
            import("jax", 30, 40),
            import("scipy", 40, 50),
            import("numpy", 50, 55),
            import("scipy", 55, 60),
            import("jax", 60, 70),
        ];
        let frames = nest(Moment(0), nested_imports(stretches));
        let expected =
            [(0, "jax", 0, 70), (1, "numpy", 10, 30), (1, "scipy", 40, 60), (2, "numpy", 50, 55)];
        assert_eq!(shown(&frames), expected);
    }

    #[test]
    fn imports_that_lie_apart_are_not_nested() {
        let stretches = vec![import("a", 0, 10), import("b", 1_000_000, 1_000_010)];
        let frames = nest(Moment(0), nested_imports(stretches));
        assert_eq!(shown(&frames), [(0, "a", 0, 10), (0, "b", 1_000_000, 1_000_010)]);
    }

    proptest! {
        #[test]
        fn children_lie_within_their_parents_and_no_time_is_added(
            parts in prop::collection::vec(("[a-d]", 1_u64..50), 0..40)
        ) {
            let mut at = 0;
            let stretches: Vec<Span> = parts
                .iter()
                .map(|(name, length)| {
                    at += length;
                    import(name, at - length, at)
                })
                .collect();
            let frames = nest(Moment(0), nested_imports(stretches));
            let outer: u64 = frames.iter().filter(|one| one.depth == 0).map(|one| one.length().0).sum();
            prop_assert_eq!(outer, at);
            let mut open: Vec<&Frame> = Vec::new();
            for frame in &frames {
                open.truncate(frame.depth);
                prop_assert_eq!(open.len(), frame.depth);
                if let Some(parent) = open.last() {
                    prop_assert!(parent.begin <= frame.begin && frame.end <= parent.end);
                }
                open.push(frame);
            }
        }
    }
}
