//! Recordings whose events exceed the budget. One pass summarises them. Each further pass keeps the events
//! that start in one interval of time, so that all intervals together give the same result as the recording
//! in memory.

use std::fmt;

use super::sieve::Sieve;
use super::{Source, pass, settle, told_endless};
use crate::attribute::Mark;
use crate::error::{Problem, Result};
use crate::intervals::Span;
use crate::limits::Limits;
use crate::model::{Detail, Events, Trace};
use crate::names::Names;

/// A larger number of pieces, and thus of passes, would take too long.
const MOST_PIECES: u64 = 256;

/// The source of events: all at once, or one interval of time after another.
pub(crate) trait Pieces {
    /// Everything except the events.
    fn trace(&self) -> &Trace;

    /// Processes all events in order of their starts. A piece has the events that start in its span; no piece
    /// ends inside one of the marked intervals. `held` is the memory that must be kept meanwhile, and `then`
    /// returns its increase.
    fn each(
        &mut self,
        uncut: &[Mark],
        held: u64,
        then: &mut dyn FnMut(&Trace, Span) -> u64,
    ) -> Result<()>;
}

/// A recording in memory: one piece.
pub(crate) struct Whole<'a>(pub(crate) &'a Trace);

impl Pieces for Whole<'_> {
    fn trace(&self) -> &Trace {
        self.0
    }

    fn each(
        &mut self,
        _: &[Mark],
        _: u64,
        then: &mut dyn FnMut(&Trace, Span) -> u64,
    ) -> Result<()> {
        then(self.0, (i64::MIN, i64::MAX));
        Ok(())
    }
}

/// The summary of events that are not in memory.
pub(super) struct Rest {
    source: Box<dyn Source>,
    bytes: u64,
    limit: u64,
    /// The memory of names and programs.
    kept: u64,
    first: i64,
    /// The start of the last event.
    last: i64,
    bins: Vec<(i64, u64)>,
    /// The file's lines that have events.
    lines: Vec<bool>,
    names: usize,
    /// The number of notices of the reader; those of the folder follow.
    notices: usize,
    endless: Option<u64>,
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Rest {
    /// Reads everything except the events.
    pub(super) fn skim(
        mut source: Box<dyn Source>,
        bytes: u64,
        limits: &Limits,
    ) -> Result<(Trace, Self)> {
        let (mut trace, mut sieve) =
            pass(&mut source, bytes, Sieve::skim(limits), Names::default())?;
        let Some(first) = sieve.skim.first else { return Err(Problem::NoEvents) };
        let lines: Vec<bool> = trace.lines.iter().map(|line| line.count() > 0).collect();
        trace.lines.retain(|line| line.count() > 0);
        trace.began_with(first);
        let rest = Self {
            source,
            bytes,
            limit: limits.memory,
            kept: sieve.used(),
            first,
            last: sieve.skim.last(),
            bins: sieve.skim.bins(),
            lines,
            names: trace.names.len(),
            notices: trace.notices.len(),
            endless: None,
        };
        Ok((trace, rest))
    }

    pub(super) fn needs(&self) -> u64 {
        self.kept + self.bins.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }

    pub(super) fn reread<'a>(&'a mut self, trace: &'a mut Trace) -> Reread<'a> {
        Reread { rest: self, trace }
    }

    /// The remaining budget for events.
    fn left(&self, held: u64) -> u64 {
        self.limit.saturating_sub(self.kept + held)
    }

    /// A lower limit of the memory for the events of an interval.
    fn least(&self, span: Span) -> u64 {
        let from = self.bins.partition_point(|(start, _)| *start < span.0);
        // The last bin may reach beyond it.
        let to = self.bins.partition_point(|(start, _)| *start < span.1).max(from + 1) - 1;
        self.bins.get(from..to).unwrap_or_default().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The end of a piece that begins at `from`, according to the bins: at most at the budget.
    fn until(&self, from: i64, held: u64) -> i64 {
        let mut left = self.left(held);
        let ahead = self.bins.partition_point(|(start, _)| *start < from);
        for &(start, bytes) in &self.bins[ahead..] {
            if bytes > left && start > from {
                return start;
            }
            left = left.saturating_sub(bytes);
        }
        i64::MAX
    }
}

/// A recording that is read again for every piece.
pub(super) struct Reread<'a> {
    rest: &'a mut Rest,
    trace: &'a mut Trace,
}

impl Pieces for Reread<'_> {
    fn trace(&self) -> &Trace {
        self.trace
    }

    fn each(
        &mut self,
        uncut: &[Mark],
        mut held: u64,
        then: &mut dyn FnMut(&Trace, Span) -> u64,
    ) -> Result<()> {
        let base = held;
        let mut endless = 0;
        let mut from = 0;
        self.affordable(base, held, from)?;
        self.fits(uncut, held)?;
        while from < i64::MAX {
            let mut to = snapped(uncut, from, self.rest.until(from, held));
            while let Some(needs) = self.read((from, to), held, &mut endless)? {
                // All starts are below this, however far the piece reaches.
                let end = to.min(self.rest.last + 1);
                let times = i64::try_from(needs / self.rest.left(held).max(1)).unwrap_or(i64::MAX);
                let part = (end - from) / times.saturating_add(1).max(2);
                let half = snapped(uncut, from, from + part);
                if half <= from || half >= end {
                    let limit = self.rest.limit;
                    return Err(Problem::StepTooLarge {
                        what: describe(uncut, from),
                        needs,
                        limit,
                    });
                }
                to = half;
            }
            held = base + then(self.trace, (from, to));
            from = to;
            self.affordable(base, held, from)?;
        }
        for line in &mut self.trace.lines {
            line.events = Events::default();
        }
        if self.rest.endless.is_none() {
            self.rest.endless = Some(endless);
            let at = self.rest.notices;
            self.trace.notices.splice(at..at, told_endless(endless));
        }
        Ok(())
    }
}

impl Reread<'_> {
    /// Rejects a recording that needs too many passes: the kept memory has grown from `base` to `held` up to
    /// `at`, and is extrapolated.
    fn affordable(&self, base: u64, held: u64, at: i64) -> Result<()> {
        let rest = &self.rest;
        let all = rest.needs() - rest.kept;
        let part = all / MOST_PIECES;
        if at == i64::MAX || part <= rest.left(held) {
            return Ok(());
        }
        let done = rest.least((0, at)).max(1);
        let grown = u128::from(held - base) * u128::from(all) / u128::from(done);
        let grown = u64::try_from(grown).unwrap_or(u64::MAX).max(held - base);
        let needs = (rest.kept + base + part).saturating_add(grown);
        let what = format!("the {MOST_PIECES}th part of it");
        Err(Problem::StepTooLarge { what, needs, limit: rest.limit })
    }

    /// Rejects impossible recordings before spending many passes on them.
    fn fits(&mut self, uncut: &[Mark], held: u64) -> Result<()> {
        let largest = uncut.iter().max_by_key(|mark| self.rest.least(mark.span));
        let Some(mark) = largest.filter(|mark| self.rest.least(mark.span) > self.rest.left(held))
        else {
            return Ok(());
        };
        match self.read(mark.span, held, &mut 0)? {
            Some(needs) => {
                let (what, limit) = (format!("step {}", mark.number), self.rest.limit);
                Err(Problem::StepTooLarge { what, needs, limit })
            }
            None => Ok(()),
        }
    }

    /// Reads the events of an interval; returns their memory if it is too much.
    fn read(&mut self, span: Span, held: u64, endless: &mut u64) -> Result<Option<u64>> {
        let (rest, trace) = (&mut *self.rest, &mut *self.trace);
        for line in &mut trace.lines {
            line.events = Events::default();
        }
        trace.details = vec![Detail::Nothing];
        let sieve = Sieve::stretch(rest.limit, rest.kept + held, rest.first, span);
        let names = std::mem::take(&mut trace.names);
        let (read, sieve) = pass(&mut rest.source, rest.bytes, sieve, names)?;
        trace.names = read.names;
        if trace.names.len() != rest.names || read.lines.len() != rest.lines.len() {
            return Err(Problem::Changed);
        }
        if let Some(needs) = sieve.over() {
            return Ok(Some(needs));
        }
        let mut lines = read.lines;
        *endless += settle(&mut lines, rest.first);
        let kept = lines.into_iter().zip(&rest.lines).filter(|(_, kept)| **kept);
        for (line, (read, _)) in trace.lines.iter_mut().zip(kept) {
            line.events = read.events;
        }
        trace.details = read.details;
        Ok(None)
    }
}

/// The last cut up to `to`, otherwise the first one after it, that lies inside no marked interval.
fn snapped(uncut: &[Mark], from: i64, to: i64) -> i64 {
    let around = |at: i64| move |mark: &&Mark| mark.span.0 < at && at < mark.span.1;
    let mut down = to;
    while let Some(mark) = uncut.iter().find(around(down)) {
        down = mark.span.0;
    }
    if down > from {
        return down;
    }
    let mut up = to;
    while let Some(mark) = uncut.iter().find(around(up)) {
        up = mark.span.1;
    }
    up
}

fn describe(uncut: &[Mark], from: i64) -> String {
    let inside = |mark: &&Mark| mark.span.0 <= from && from < mark.span.1;
    let step = uncut.iter().find(inside);
    step.map_or_else(
        || "what starts in one nanosecond".to_owned(),
        |mark| format!("step {}", mark.number),
    )
}

#[cfg(test)]
mod tests {
    use super::snapped;
    use crate::attribute::Mark;

    fn mark(from: i64, to: i64) -> Mark {
        Mark { name: String::new(), number: 0, span: (from, to), ended: true }
    }

    #[test]
    fn no_cut_lies_inside_a_step() {
        let steps = [mark(10, 20), mark(20, 30), mark(25, 40), mark(50, 60)];
        let cuts = [(0, 5, 5), (0, 15, 10), (10, 15, 20), (0, 20, 20), (0, 35, 20), (20, 27, 40)];
        for (from, to, cut) in cuts {
            assert_eq!(snapped(&steps, from, to), cut, "from {from} to {to}");
        }
        assert_eq!(snapped(&steps, 0, i64::MAX), i64::MAX);
    }
}
