//! Selects the events that a pass over a file keeps: all of them, only a summary, or those that start in an
//! interval of time. Kept events count against the budget.

use rustc_hash::FxHashMap;

use super::FOREVER;
use crate::error::{Problem, Result};
use crate::intervals::Span;
use crate::limits::Limits;
use crate::model::{Detail, Line, Tally};
use crate::names::{NameId, Names};

/// The memory of an event, and of a rare property.
const EVENT_BYTES: u64 = 24;
const DETAIL_BYTES: u64 = size_of::<Detail>() as u64;
/// The number of time bins with known memory.
const MOST_BINS: usize = 1 << 14;

enum Mode {
    All,
    Skim,
    /// The events that start in it, by the clock that begins with `first`.
    Stretch {
        first: i64,
        span: Span,
    },
}

pub(crate) struct Sieve {
    mode: Mode,
    limit: u64,
    used: u64,
    events: u64,
    over: bool,
    dropped: bool,
    pub(crate) skim: Skim,
}

impl Sieve {
    pub(crate) fn all(limits: &Limits) -> Self {
        Self::new(Mode::All, limits.memory, 0)
    }

    pub(crate) fn skim(limits: &Limits) -> Self {
        Self::new(Mode::Skim, limits.memory, 0)
    }

    /// `used` is the memory that names and programs already use.
    pub(crate) fn stretch(limit: u64, used: u64, first: i64, span: Span) -> Self {
        Self::new(Mode::Stretch { first, span }, limit, used)
    }

    fn new(mode: Mode, limit: u64, used: u64) -> Self {
        Self {
            mode,
            limit,
            used,
            events: 0,
            over: used > limit,
            dropped: false,
            skim: Skim::default(),
        }
    }

    /// Whether everything except the events is known from an earlier pass.
    pub(crate) fn rereads(&self) -> bool {
        matches!(self.mode, Mode::Stretch { .. })
    }

    /// Whether times must be known immediately, not only at the end of a line.
    pub(crate) fn chooses(&self) -> bool {
        !matches!(self.mode, Mode::All)
    }

    #[inline]
    pub(crate) fn wants(&self, start: i64) -> bool {
        match self.mode {
            Mode::All | Mode::Skim => true,
            Mode::Stretch { first, span } => {
                let start = start.saturating_sub(first).min(FOREVER);
                span.0 <= start && start < span.1
            }
        }
    }

    /// Whether selected events are kept, and not only counted.
    #[inline]
    pub(crate) fn keeps(&self) -> bool {
        match self.mode {
            Mode::All => true,
            Mode::Skim => false,
            Mode::Stretch { .. } => !self.over,
        }
    }

    /// The memory of all selected events, if it exceeds the budget.
    pub(crate) fn over(&self) -> Option<u64> {
        self.over.then_some(self.used)
    }

    /// Whether the kept events must be dropped now: once, when they exceed the budget.
    pub(crate) fn drops(&mut self) -> bool {
        self.over && !std::mem::replace(&mut self.dropped, true)
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// An event in a file that has been read up to `at`.
    #[inline]
    pub(crate) fn event(&mut self, at: u64) -> Result<()> {
        self.events += 1;
        self.count(EVENT_BYTES, at)
    }

    #[inline]
    pub(crate) fn detail(&mut self, detail: &Detail, at: u64) -> Result<()> {
        match (detail, &self.mode) {
            // Programs are few, and every pass keeps them.
            (Detail::Program { .. }, Mode::Skim) => self.bytes(DETAIL_BYTES, at),
            _ => self.count(DETAIL_BYTES, at),
        }
    }

    fn count(&mut self, bytes: u64, at: u64) -> Result<()> {
        match self.mode {
            Mode::All => self.bytes(bytes, at),
            Mode::Skim => Ok(()),
            Mode::Stretch { .. } => {
                self.used += bytes;
                self.over |= self.used > self.limit;
                Ok(())
            }
        }
    }

    /// Memory other than events: names, programs.
    pub(crate) fn bytes(&mut self, bytes: u64, at: u64) -> Result<()> {
        if self.rereads() {
            return Ok(());
        }
        self.used += bytes;
        if self.used > self.limit {
            return Err(Problem::TooLarge { limit: self.limit, events: self.events, at });
        }
        Ok(())
    }

    /// Counts an event without keeping it.
    pub(crate) fn pass(
        &mut self,
        line: &mut Line,
        names: &Names,
        event: (NameId, i64, i64),
        detail: &Detail,
    ) {
        if matches!(self.mode, Mode::Skim) {
            let (name, start, duration) = event;
            let tally = line.tally.get_or_insert_default();
            tally.add(self.skim.marks(names, name), duration, detail);
            let detail = match detail {
                Detail::Nothing | Detail::Program { .. } => 0,
                _ => DETAIL_BYTES,
            };
            self.skim.add(start, EVENT_BYTES + detail);
        }
    }
}

/// A summary of a file's events: the first start, and the memory from then on.
#[derive(Default)]
pub(crate) struct Skim {
    pub(crate) first: Option<i64>,
    last_start: i64,
    /// By start; all bins are 2^`shift` nanoseconds long.
    bins: FxHashMap<i64, u64>,
    shift: u32,
    /// Consecutive events are usually in one bin.
    now: (i64, u64),
    kinds: Vec<(bool, bool)>,
}

impl Skim {
    fn marks(&mut self, names: &Names, name: NameId) -> (bool, bool) {
        for id in names.ids().skip(self.kinds.len()) {
            self.kinds.push(Tally::kind(names, id));
        }
        self.kinds[name.index()]
    }

    fn add(&mut self, start: i64, bytes: u64) {
        self.last_start = self.first.map_or(start, |_| self.last_start.max(start));
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        let bin = start >> self.shift;
        if bin == self.now.0 {
            self.now.1 += bytes;
            return;
        }
        self.flush();
        self.now = (bin, bytes);
    }

    fn flush(&mut self) {
        let (bin, bytes) = std::mem::take(&mut self.now);
        if bytes > 0 {
            *self.bins.entry(bin).or_default() += bytes;
        }
        while self.bins.len() > MOST_BINS {
            self.shift += 1;
            let mut wider: FxHashMap<i64, u64> = FxHashMap::default();
            for (bin, bytes) in self.bins.drain() {
                *wider.entry(bin >> 1).or_default() += bytes;
            }
            self.bins = wider;
        }
    }

    /// The start of the last event, by the clock that begins with the first.
    pub(crate) fn last(&self) -> i64 {
        self.last_start.saturating_sub(self.first.unwrap_or(0)).min(FOREVER)
    }

    /// Starts and bytes of the bins in order, by the clock that begins with the first event.
    pub(crate) fn bins(&mut self) -> Vec<(i64, u64)> {
        self.flush();
        let first = self.first.unwrap_or(0);
        let start = |bin: i64| (bin << self.shift).saturating_sub(first).clamp(0, FOREVER);
        let mut bins: Vec<(i64, u64)> =
            self.bins.iter().map(|(&bin, &bytes)| (start(bin), bytes)).collect();
        bins.sort_unstable();
        bins
    }
}
