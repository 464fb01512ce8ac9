//! Events that should not happen while a window is open, with the call in which they happened.

use firstlight_schema::message::{Edge, Event, Message};
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::RawSample;

use super::series::spans;

/// More marks than this in one picture say no more.
const MOST: usize = 40;

/// Something at one call of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// From 0.
    pub call: u32,
    pub what: String,
}

pub(super) fn marks(raw: &RawSample) -> Vec<Mark> {
    let happened: Vec<(Moment, String)> = raw.messages.iter().filter_map(happened).collect();
    if happened.is_empty() {
        return Vec::new();
    }
    let begins: Vec<Moment> = spans(raw).map(|(begin, _)| begin).collect();
    let (Some(&open), Some((_, close))) = (begins.first(), spans(raw).last()) else {
        return Vec::new();
    };
    let mut marks: Vec<Mark> = Vec::new();
    for (at, what) in happened.into_iter().filter(|(at, _)| open <= *at && *at <= close) {
        let call = begins.partition_point(|begin| *begin <= at) - 1;
        let call = u32::try_from(call).unwrap_or(u32::MAX);
        match marks.iter().position(|mark| mark.call == call) {
            Some(known) if marks[known].what.contains(&what) => {}
            Some(known) => marks[known].what = format!("{}, {what}", marks[known].what),
            None if marks.len() < MOST => marks.push(Mark { call, what }),
            None => {}
        }
    }
    marks
}

fn happened(message: &Message) -> Option<(Moment, String)> {
    match message {
        Message::Phase(edge) if edge.edge == Edge::Begin && is_foreign(edge.name) => {
            let label = edge.label.as_deref().unwrap_or("something");
            Some((edge.at, format!("{} {label}", edge.name)))
        }
        Message::Event(event) => match &event.event {
            Event::ConfigChanged(changed) => Some((
                event.at,
                format!("{} changed from {} to {}", changed.name, changed.before, changed.after),
            )),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a phase must not occur in a window.
fn is_foreign(phase: Phase) -> bool {
    phase.is_compilation()
        || matches!(phase, Phase::Import | Phase::DeviceInit | Phase::CacheRead | Phase::CacheWrite)
}
