//! Steps of programs without annotations: from repetitions, or the whole recording.

use firstlight_schema::trace::StepsBy;
use rustc_hash::FxHashMap;

use super::Mark;
use crate::intervals::Span;
use crate::names::NameId;

/// Fewer repetitions do not define steps.
const FEWEST: usize = 3;

/// A call that may define steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    pub(super) name: NameId,
    pub(super) span: Span,
    /// The beginning of the work that leads to the call, such as its compilation; otherwise the call's start.
    pub(super) from: i64,
}

impl Repeated {
    pub(super) fn call(name: NameId, span: Span) -> Self {
        Self { name, span, from: span.0 }
    }
}

/// Calls in order: steps go from one call of a function to the next; `text` gives the name of a call. The end
/// of the last step is unknown, so it extends to the recording's end.
pub(super) fn by_repetition<'a>(
    calls: &[Repeated],
    text: impl Fn(NameId) -> &'a str,
    by: StepsBy,
    end: i64,
) -> Option<(StepsBy, Vec<Mark>)> {
    let mut counts: FxHashMap<&str, (usize, i64, i64)> = FxHashMap::default();
    for call in calls {
        let count = counts.entry(text(call.name)).or_insert((0, 0, call.from));
        count.0 += 1;
        count.1 += call.span.1 - call.span.0;
    }
    // The function with the most time among those that repeat, or the first one that is called equally often.
    let most = counts.iter().filter(|(_, count)| count.0 >= FEWEST);
    let (_, &(times, ..)) =
        most.max_by_key(|(name, count)| (count.1, std::cmp::Reverse(**name)))?;
    let as_often = counts.iter().filter(|(_, count)| count.0 == times);
    let (&name, _) = as_often.min_by_key(|(name, count)| (count.2, **name))?;
    let own = apart(calls.iter().filter(|call| text(call.name) == name));
    if own.len() < FEWEST {
        return None;
    }
    let ends = own[1..].iter().map(|next| next.from).chain([end]);
    let steps = own.iter().zip(ends).zip(0..).map(|((call, end), number)| Mark {
        name: name.to_owned(),
        number,
        span: (call.from, end),
        ended: true,
    });
    let mut steps: Vec<Mark> = steps.collect();
    steps.last_mut()?.ended = false;
    Some((by, steps))
}

/// Overlapping runs, as on several devices, are joined.
fn apart<'a>(calls: impl Iterator<Item = &'a Repeated>) -> Vec<Repeated> {
    let mut kept: Vec<Repeated> = Vec::new();
    for call in calls {
        match kept.last_mut() {
            Some(last) if call.span.0 < last.span.1 => last.span.1 = last.span.1.max(call.span.1),
            _ => kept.push(*call),
        }
    }
    kept
}

/// One step from the first event to the end of the last, on any device.
pub(super) fn whole(end: i64) -> (StepsBy, Vec<Mark>) {
    let mark = Mark { name: "recording".to_owned(), number: 0, span: (0, end), ended: true };
    (StepsBy::WholeTrace, vec![mark])
}

/// Removes steps that lie inside another one.
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
