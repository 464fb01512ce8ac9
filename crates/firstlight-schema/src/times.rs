//! Checks all times in messages: a process cannot report times before its start or after it was reaped, and
//! makes one call at a time.

use std::collections::VecDeque;

use crate::conversation::ProtocolError;
use crate::message::{Event, Iterations, Message, Part, Request, Settled};
use crate::nanos::{Moment, Nanos};

/// Maximum number of calls after the window that check for work still running.
pub const SETTLE_CALLS: u32 = 15;

/// The kernel reports the start of a process in ticks.
const TICK: Nanos = Nanos(1_000_000_000);

/// The first time in a message that lies outside the two moments.
pub fn outside(message: &Message, from: Moment, to: Moment) -> Option<Moment> {
    let mut found = None;
    each(message, &mut |at| {
        if (at < from || at > to) && found.is_none() {
            found = Some(at);
        }
    });
    if let Message::Hello(hello) = message {
        let early = |at: &Moment| *at + TICK < from || *at > to;
        found = found.or(hello.started.filter(early));
    }
    found
}

fn each(message: &Message, see: &mut impl FnMut(Moment)) {
    match message {
        Message::Hello(hello) => see(hello.at),
        Message::Phase(edge) => see(edge.at),
        Message::Imports(imports) => imports.segments.iter().for_each(|&(_, begin, end)| {
            see(begin);
            see(end);
        }),
        Message::Event(event) => {
            see(event.at);
            if let Event::Collections(collections) = &event.event {
                collections.spans.iter().for_each(|&(_, begin, end)| {
                    see(begin);
                    see(end);
                });
            }
        }
        Message::Memory(reading) => see(reading.at),
        Message::Ready(at) | Message::Bye(at) => see(at.at),
        Message::Iterations(block) => block.spans.iter().for_each(|&(begin, end)| {
            see(begin);
            see(end);
        }),
        Message::Settled(settled) => {
            settled
                .spans
                .iter()
                .for_each(|&(a, b, c, d)| [a, b, c, d].into_iter().for_each(&mut *see));
        }
        Message::Failed(failed) => see(failed.at),
        Message::Output(_) => {}
    }
}

/// Checks the calls of one runner: no more than requested, none backwards, none before the previous one
/// ended.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The number of calls that each unanswered request asks for.
    asked: VecDeque<u32>,
    settles: VecDeque<u32>,
    /// Calls for the request being answered, including those of the baseline.
    made: u64,
    beside: u64,
    last: Moment,
    last_beside: Moment,
}

impl Calls {
    pub fn asked(&mut self, request: &Request) {
        match request {
            Request::First => self.asked.push_back(1),
            Request::WarmUp(wanted) | Request::Iterate(wanted) => {
                self.asked.push_back(wanted.count.max(1));
            }
            Request::Settle(wanted) => self.settles.push_back(wanted.count.max(1)),
            Request::Watch | Request::Prepare(_) | Request::Finish => {}
        }
    }

    pub fn iterations(&mut self, block: &Iterations) -> Result<(), ProtocolError> {
        let baseline = block.part == Part::Baseline;
        let (made, last) = if baseline {
            (&mut self.beside, &mut self.last_beside)
        } else {
            (&mut self.made, &mut self.last)
        };
        for &(begin, end) in &block.spans {
            follows(last, begin, end)?;
        }
        *made = made
            .saturating_add((block.spans.len() as u64).saturating_mul(block.calls_per_span.get()));
        let allowed = self.asked.front().copied().unwrap_or(0);
        if *made > u64::from(allowed) {
            return Err(ProtocolError::TooManyCalls { made: *made, asked: allowed });
        }
        if block.last {
            self.asked.pop_front();
            (self.made, self.beside) = (0, 0);
        }
        Ok(())
    }

    pub fn settled(&mut self, settled: &Settled) -> Result<(), ProtocolError> {
        for &(a, b, c, d) in &settled.spans {
            follows(&mut self.last, a, b)?;
            follows(&mut self.last, c, d)?;
        }
        let allowed = self.settles.pop_front().unwrap_or(0);
        let made = settled.spans.len() as u64;
        if made > u64::from(allowed) {
            return Err(ProtocolError::TooManyCalls { made, asked: allowed });
        }
        Ok(())
    }
}

/// Checks that a call begins after the previous one ended.
fn follows(last: &mut Moment, begin: Moment, end: Moment) -> Result<(), ProtocolError> {
    if end < begin {
        return Err(ProtocolError::IterationBackwards);
    }
    if begin < *last {
        return Err(ProtocolError::CallsOverlap { begin, last: *last });
    }
    *last = end;
    Ok(())
}
