//! Time in the garbage collector inside measured calls.

use firstlight_schema::message::{Collections, Event, Message, Part};
use firstlight_schema::nanos::Moment;
use firstlight_schema::reading::RawSample;
use firstlight_schema::warm::Collector;

use crate::stats::count;
use crate::window::spans;

/// Garbage collections inside the window; `None` if the runner does not record them. `from` is the first call
/// of the steady part.
pub(crate) fn collector(raw: &RawSample, from: Option<usize>) -> Option<Collector> {
    let found = recorded(raw)?;
    let mut collections = [0_u32; 3];
    for (generation, ..) in &found.spans {
        let place = usize::from(*generation).min(collections.len() - 1);
        collections[place] = collections[place].saturating_add(1);
    }
    let inside = overlaps(found, raw, Part::Window, from.unwrap_or(0));
    Some(Collector {
        collections,
        total_ns: found.spans.iter().map(|(_, begin, end)| end.since(*begin).as_f64()).sum(),
        per_call_ns: inside.per_call(),
        longest_ns: inside.longest,
    })
}

/// The collector's time per call minus its time per call of the baseline.
pub(crate) fn beyond_baseline(raw: &RawSample, from: usize) -> Option<f64> {
    let found = recorded(raw)?;
    let select = |part| overlaps(found, raw, part, from).per_call();
    Some(select(Part::Window) - select(Part::Baseline))
}

fn recorded(raw: &RawSample) -> Option<&Collections> {
    raw.messages.iter().find_map(|message| match message {
        Message::Event(event) => match &event.event {
            Event::Collections(found) => Some(found),
            _ => None,
        },
        _ => None,
    })
}

/// Collections inside calls.
#[derive(Default)]
struct Inside {
    sum: f64,
    longest: f64,
    calls: usize,
}

impl Inside {
    fn per_call(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.sum / count(self.calls) }
    }
}

/// Calls and collections are both sorted by time, and neither overlaps its own kind.
fn overlaps(found: &Collections, raw: &RawSample, part: Part, from: usize) -> Inside {
    let mut inside = Inside::default();
    let mut collections = found.spans.iter().peekable();
    for (begin, end) in spans(raw, part).skip(from) {
        inside.calls += 1;
        while collections.next_if(|(.., until)| *until <= begin).is_some() {}
        let mut ahead = collections.clone();
        while let Some((_, start, until)) = ahead.next_if(|(_, start, _)| *start < end) {
            let ns = overlap((begin, end), (*start, *until));
            inside.sum += ns;
            inside.longest = inside.longest.max(ns);
        }
    }
    inside
}

fn overlap(a: (Moment, Moment), b: (Moment, Moment)) -> f64 {
    a.1.min(b.1).since(a.0.max(b.0)).as_f64()
}
