//! Steps where the program marked none: by what repeats, or the whole recording.

use firstlight_schema::trace::StepsBy;
use rustc_hash::FxHashMap;

use super::Mark;
use crate::intervals::Span;
use crate::names::NameId;

/// Fewer repetitions make no steps.
const FEWEST: usize = 3;

/// Calls in order: from one call of the most called to the next; `text` tells what was called.
pub(super) fn by_repetition<'a>(
    calls: &[(NameId, Span)],
    text: impl Fn(NameId) -> &'a str,
    by: StepsBy,
) -> Option<(StepsBy, Vec<Mark>)> {
    let mut counts: FxHashMap<&str, (usize, i64)> = FxHashMap::default();
    for (name, span) in calls {
        let count = counts.entry(text(*name)).or_default();
        count.0 += 1;
        count.1 += span.1 - span.0;
    }
    // The one that takes most, among those that repeat.
    let most = counts.iter().filter(|(_, count)| count.0 >= FEWEST);
    let (&name, _) = most.max_by_key(|(name, count)| (count.1, std::cmp::Reverse(**name)))?;
    let starts: Vec<Span> =
        calls.iter().filter(|(own, _)| text(*own) == name).map(|(_, span)| *span).collect();
    let ends = starts[1..].iter().map(|next| next.0).chain([starts.last()?.1]);
    let steps = starts.iter().zip(ends).zip(0..).map(|((span, end), number)| Mark {
        name: name.to_owned(),
        number,
        span: (span.0, end.max(span.1)),
    });
    Some((by, steps.collect()))
}

/// One step from the first event to the end of the last.
pub(super) fn whole(end: i64) -> (StepsBy, Vec<Mark>) {
    let mark = Mark { name: "recording".to_owned(), number: 0, span: (0, end) };
    (StepsBy::WholeTrace, vec![mark])
}

/// Steps that lie inside another one are parts of it.
pub(super) fn outermost(mut steps: Vec<Mark>) -> Vec<Mark> {
    steps.sort_by_key(|step| (step.span.0, std::cmp::Reverse(step.span.1)));
    let mut kept: Vec<Mark> = Vec::with_capacity(steps.len());
    for step in steps {
        if kept.last().is_none_or(|last| last.span.1 <= step.span.0) && step.span.0 < step.span.1 {
            kept.push(step);
        }
    }
    kept
}
