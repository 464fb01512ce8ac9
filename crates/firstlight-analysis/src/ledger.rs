//! The ledger: each nanosecond of a window belongs to exactly one phase.
//!
//! At any instant the span that began last is the innermost one, and the instant is attributed to it. Time
//! outside all spans is `unattributed`. The rows therefore always sum to the window.

use std::collections::{BTreeMap, BinaryHeap};

use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::sample::{PartTime, PhaseTime};

/// An interval with a phase. Spans may nest, overlap and exceed the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub phase: Phase,
    pub label: Option<String>,
    pub begin: Moment,
    pub end: Moment,
}

/// Attributes the window from `begin` to `end` to spans; of spans that begin together the later one is inner.
pub fn book(begin: Moment, end: Moment, spans: &[Span]) -> Vec<PhaseTime> {
    let mut rows: BTreeMap<Phase, Row<'_>> = BTreeMap::new();
    for (owner, length) in pieces(begin, end, spans) {
        let phase = owner.map_or(Phase::Unattributed, |span| span.phase);
        let row = rows.entry(phase).or_default();
        row.total += length;
        if let Some(label) = owner.and_then(|span| span.label.as_deref()) {
            *row.parts.entry(label).or_default() += length;
        }
    }
    rows.entry(Phase::Unattributed).or_default();
    let ledger: Vec<PhaseTime> = rows.into_iter().map(|(phase, row)| row.close(phase)).collect();
    let booked: Nanos = ledger.iter().map(|row| row.ns).sum();
    assert_eq!(booked, end.since(begin), "the ledger sums to its window");
    ledger
}

#[derive(Default)]
struct Row<'a> {
    total: Nanos,
    parts: BTreeMap<&'a str, Nanos>,
}

impl Row<'_> {
    fn close(self, name: Phase) -> PhaseTime {
        let mut parts: Vec<PartTime> = self
            .parts
            .into_iter()
            .filter(|&(_, ns)| ns > Nanos::ZERO)
            .map(|(name, ns)| PartTime { name: name.to_owned(), ns })
            .collect();
        parts.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
        PhaseTime { name, ns: self.total, parts }
    }
}

/// The time in which each span is the innermost one, by its index in the list.
pub(crate) fn owners(spans: &[Span]) -> impl Iterator<Item = (usize, Nanos)> {
    let begin = spans.iter().map(|span| span.begin).min().unwrap_or_default();
    let end = spans.iter().map(|span| span.end).max().unwrap_or_default();
    indexed(begin, end, spans).into_iter().filter_map(|(owner, length)| Some((owner?, length)))
}

fn pieces(begin: Moment, end: Moment, spans: &[Span]) -> Vec<(Option<&Span>, Nanos)> {
    let found = indexed(begin, end, spans);
    found.into_iter().map(|(owner, length)| (owner.map(|i| &spans[i]), length)).collect()
}

/// Splits the window at every edge of a span and finds the innermost span of each piece.
fn indexed(begin: Moment, end: Moment, spans: &[Span]) -> Vec<(Option<usize>, Nanos)> {
    let mut order: Vec<usize> =
        (0..spans.len()).filter(|&i| spans[i].begin < spans[i].end).collect();
    order.sort_by_key(|&i| (spans[i].begin, i));
    let mut cuts: Vec<Moment> =
        order.iter().flat_map(|&i| [spans[i].begin, spans[i].end]).collect();
    cuts.retain(|&cut| begin < cut && cut < end);
    cuts.push(end);
    cuts.sort_unstable();
    cuts.dedup();

    let mut waiting = order.into_iter().peekable();
    let mut open: BinaryHeap<(Moment, usize)> = BinaryHeap::new();
    let mut from = begin;
    let mut pieces = Vec::with_capacity(cuts.len());
    for to in cuts {
        while let Some(i) = waiting.next_if(|&i| spans[i].begin <= from) {
            open.push((spans[i].begin, i));
        }
        while open.peek().is_some_and(|&(_, i)| spans[i].end <= from) {
            open.pop();
        }
        pieces.push((open.peek().map(|&(_, i)| i), to.since(from)));
        from = to.max(from);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(phase: Phase, label: &str, begin: u64, end: u64) -> Span {
        let label = (!label.is_empty()).then(|| label.to_owned());
        Span { phase, label, begin: Moment(begin), end: Moment(end) }
    }

    fn ns(ledger: &[PhaseTime], phase: Phase) -> u64 {
        ledger.iter().find(|row| row.name == phase).map_or(0, |row| row.ns.0)
    }

    #[test]
    fn an_instant_belongs_to_the_innermost_span() {
        let spans = [
            span(Phase::Run, "", 10, 90),
            span(Phase::Trace, "f", 20, 60),
            span(Phase::Compile, "g", 30, 50),
        ];
        let ledger = book(Moment(0), Moment(100), &spans);
        assert_eq!(ns(&ledger, Phase::Compile), 20);
        assert_eq!(ns(&ledger, Phase::Trace), 20);
        assert_eq!(ns(&ledger, Phase::Run), 40);
        assert_eq!(ns(&ledger, Phase::Unattributed), 20);
    }

    #[test]
    fn a_nested_span_of_the_same_phase_is_not_counted_twice() {
        let spans = [span(Phase::Compile, "outer", 0, 100), span(Phase::Compile, "inner", 40, 60)];
        let ledger = book(Moment(0), Moment(100), &spans);
        assert_eq!(ns(&ledger, Phase::Compile), 100);
        let parts: Vec<_> =
            ledger[0].parts.iter().map(|part| (part.name.as_str(), part.ns.0)).collect();
        assert_eq!(parts, [("outer", 80), ("inner", 20)]);
    }

    #[test]
    fn of_spans_that_begin_together_the_later_one_is_inner() {
        let spans = [span(Phase::Import, "", 0, 10), span(Phase::Import, "jax", 0, 10)];
        let ledger = book(Moment(0), Moment(10), &spans);
        assert_eq!(ledger[0].parts[0], PartTime { name: "jax".to_owned(), ns: Nanos(10) });
    }

    #[test]
    fn an_empty_window_has_an_empty_ledger() {
        let ledger = book(Moment(5), Moment(5), &[span(Phase::Run, "", 0, 10)]);
        assert_eq!(ledger.iter().map(|row| row.ns).sum::<Nanos>(), Nanos::ZERO);
    }

    fn any_span() -> impl Strategy<Value = Span> {
        (0..Phase::ALL.len(), 0..4_u8, 0..1_000_u64, 0..1_000_u64).prop_map(
            |(phase, label, begin, end)| {
                let label = ["", "a", "b", "c"][usize::from(label)];
                span(Phase::ALL[phase], label, begin, end)
            },
        )
    }

    /// The definition, evaluated instant by instant.
    fn slow(begin: u64, end: u64, spans: &[Span]) -> BTreeMap<Phase, u64> {
        let mut rows = BTreeMap::new();
        for instant in begin..end {
            let at = Moment(instant);
            let inner = spans
                .iter()
                .enumerate()
                .filter(|(_, span)| span.begin <= at && at < span.end)
                .max_by_key(|&(index, span)| (span.begin, index));
            let phase = inner.map_or(Phase::Unattributed, |(_, span)| span.phase);
            *rows.entry(phase).or_default() += 1;
        }
        rows
    }

    proptest! {
        #[test]
        fn the_phases_sum_to_the_wall(
            spans in prop::collection::vec(any_span(), 0..60),
            begin in 0..1_000_u64,
            length in 0..1_000_u64,
        ) {
            let ledger = book(Moment(begin), Moment(begin + length), &spans);
            let total: Nanos = ledger.iter().map(|row| row.ns).sum();
            prop_assert_eq!(total, Nanos(length));
            for row in &ledger {
                let parts: Nanos = row.parts.iter().map(|part| part.ns).sum();
                prop_assert!(parts <= row.ns);
            }
        }

        #[test]
        fn booking_agrees_with_its_definition(
            spans in prop::collection::vec(any_span(), 0..20),
            begin in 0..500_u64,
            length in 0..700_u64,
        ) {
            let ledger = book(Moment(begin), Moment(begin + length), &spans);
            let expected = slow(begin, begin + length, &spans);
            for row in &ledger {
                prop_assert_eq!(row.ns.0, expected.get(&row.name).copied().unwrap_or(0));
            }
        }
    }
}
