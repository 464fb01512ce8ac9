//! The calls of warm processes in order, thinned for drawing without losing an extreme.

use firstlight_schema::message::{Message, Part};
use firstlight_schema::nanos::Moment;
use firstlight_schema::reading::RawSample;
use firstlight_schema::run::{ArmResult, RegimeResult};
use firstlight_schema::sample::Sample;
use firstlight_schema::warm::Window;

use super::events::{Mark, marks};

/// The approximate number of columns of a picture; a series with fewer calls is drawn call by call.
pub const COLUMNS: usize = 200;

/// One arm's warm processes, and the range that holds all their calls.
#[derive(Debug)]
pub struct WarmArm<'a> {
    pub arm: &'a str,
    pub regime: &'a RegimeResult,
    pub processes: Vec<Series<'a>>,
}

#[derive(Debug)]
pub struct Series<'a> {
    pub sample: &'a Sample,
    /// Absent for a process without a measured call.
    pub window: Option<&'a Window>,
    pub drawn: Drawn,
    pub low: f64,
    pub high: f64,
    /// Events in the window that should not have happened.
    pub marks: Vec<Mark>,
}

/// The drawn form of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn {
    /// Every call, in nanoseconds.
    Calls(Vec<f64>),
    /// The shortest and the longest call of each column.
    Envelope(Vec<Column>),
}

/// Neighbouring calls that share a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    pub low: f64,
    pub high: f64,
}

impl<'a> WarmArm<'a> {
    pub(super) fn new((arm, regime): (&'a ArmResult, &'a RegimeResult)) -> Self {
        let processes = regime.samples.iter().map(Series::new).collect();
        Self { arm: &arm.name, regime, processes }
    }
}

impl<'a> Series<'a> {
    fn new(sample: &'a Sample) -> Self {
        let drawn = Drawn::new(calls(&sample.raw));
        let (low, high) = drawn.range();
        let marks = marks(&sample.raw);
        Self { sample, window: sample.window.as_ref(), drawn, low, high, marks }
    }

    /// The valid calls: those of the steady part, if the process is valid.
    pub(super) fn steady_calls(&self) -> impl Iterator<Item = f64> {
        let from = self.window.and_then(|window| window.steady_from).filter(|_| self.sample.valid);
        let skipped = from.map_or(usize::MAX, |from| from as usize);
        calls(&self.sample.raw).skip(skipped)
    }
}

impl Drawn {
    fn new(calls: impl Iterator<Item = f64>) -> Self {
        let calls: Vec<f64> = calls.collect();
        let n = calls.len();
        if n <= COLUMNS {
            return Self::Calls(calls);
        }
        let columns = (0..COLUMNS).map(|column| {
            let part = &calls[column * n / COLUMNS..(column + 1) * n / COLUMNS];
            let low = part.iter().copied().fold(f64::INFINITY, f64::min);
            Column { low, high: part.iter().copied().fold(0.0, f64::max) }
        });
        Self::Envelope(columns.collect())
    }

    fn range(&self) -> (f64, f64) {
        let start = (f64::INFINITY, 0.0_f64);
        match self {
            Self::Calls(calls) => calls.iter().fold(start, |(l, h), &v| (l.min(v), h.max(v))),
            Self::Envelope(columns) => {
                columns.iter().fold(start, |(l, h), one| (l.min(one.low), h.max(one.high)))
            }
        }
    }
}

/// Begin and end of each call in the window.
pub(super) fn spans(raw: &RawSample) -> impl Iterator<Item = (Moment, Moment)> {
    raw.messages
        .iter()
        .filter_map(|message| match message {
            Message::Iterations(block) if block.part == Part::Window => Some(&block.spans),
            _ => None,
        })
        .flatten()
        .copied()
}

fn calls(raw: &RawSample) -> impl Iterator<Item = f64> {
    spans(raw).map(|(begin, end)| end.since(begin).as_f64())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{COLUMNS, Drawn};

    #[test]
    fn a_short_series_is_drawn_call_by_call() {
        let calls = [3.0, 1.0, 2.0];
        assert_eq!(Drawn::new(calls.into_iter()), Drawn::Calls(calls.to_vec()));
        assert_eq!(Drawn::new(std::iter::empty()), Drawn::Calls(Vec::new()));
    }

    proptest! {
        #[test]
        fn no_extreme_is_lost(calls in prop::collection::vec(1.0..1e9_f64, 1..5_000)) {
            let drawn = Drawn::new(calls.iter().copied());
            let low = calls.iter().copied().fold(f64::INFINITY, f64::min);
            let high = calls.iter().copied().fold(0.0, f64::max);
            prop_assert_eq!(drawn.range(), (low, high));
            match drawn {
                Drawn::Calls(drawn) => prop_assert_eq!(drawn, calls),
                Drawn::Envelope(columns) => {
                    prop_assert_eq!(columns.len(), COLUMNS);
                    prop_assert!(columns.iter().all(|one| one.low <= one.high));
                }
            }
        }
    }
}
