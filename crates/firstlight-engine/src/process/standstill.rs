//! Finds stopped descendants of a process.
//!
//! The kernel reports a stop only to the parent, so firstlight must look for stopped grandchildren. It looks
//! again whenever the process has run for a quarter longer than at the last look, and at least every two
//! seconds. It therefore sees every stop that makes up more than a fifth of the time until it ends, and every
//! stop of two seconds; it may miss shorter ones. A process that exits before the first look is never
//! examined. Looks are frequent at first and rare later.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use firstlight_schema::nanos::{Moment, Nanos};
use rustix::process::{Pid, getpid};

use super::watchdog;

const FIRST_LOOK: Nanos = Nanos(100_000_000);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The largest number of processes that are examined.
const MOST_PROCESSES: usize = 1_000;

/// The stopped descendants that were seen so far, and when to look again.
#[derive(Debug)]
pub(super) struct Standstill {
    born: Moment,
    next: Moment,
    seen: BTreeSet<i32>,
}

impl Standstill {
    pub(super) fn new(born: Moment) -> Self {
        Self { born, next: born + FIRST_LOOK, seen: BTreeSet::new() }
    }

    /// How long until the next look.
    pub(super) fn due(&self, now: Moment) -> Duration {
        Duration::from(self.next.since(now))
    }

    /// The number of stopped descendants seen so far.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.seen.len()).unwrap_or(u32::MAX)
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self, process: Pid, now: Moment) {
        if now < self.next {
            return;
        }
        self.seen.extend(stopped_below(process.as_raw_nonzero().get()));
        self.next = now + after(now.since(self.born));
    }
}

/// The time to the next look.
fn after(elapsed: Nanos) -> Nanos {
    Nanos(elapsed.0 / 4).min(Nanos::from(LONGEST_PAUSE))
}

/// The stopped ones among all that the process started, orphans included: those are children of firstlight.
/// The process itself is not among them, for the kernel reports each of its stops.
fn stopped_below(process: i32) -> Vec<i32> {
    let own = getpid().as_raw_nonzero().get();
    let watchdog = watchdog::pid().map(|pid| pid.as_raw_nonzero().get());
    let mut known = children(own);
    known.retain(|&pid| Some(pid) != watchdog);
    let mut stopped = Vec::new();
    let mut next = 0;
    while let Some(&pid) = known.get(next) {
        if pid != process && is_stopped(pid) {
            stopped.push(pid);
        }
        if known.len() < MOST_PROCESSES {
            known.extend(children(pid));
        }
        next += 1;
    }
    stopped
}

/// The children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    listed
        .flat_map(|text| {
            text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// The state of a process stopped by a signal; a debugger causes another state.
fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_of_a_fifth_of_the_time_or_of_two_seconds_meets_a_look() {
        let mut looks = vec![FIRST_LOOK];
        while looks.last().unwrap().0 < 60_000_000_000 {
            let last = *looks.last().unwrap();
            looks.push(Nanos(last.0 + after(last).0));
        }
        for pair in looks.windows(2) {
            let pause = pair[1].0 - pair[0].0;
            assert!(pause * 5 <= pair[1].0 && pause <= 2_000_000_000);
        }
        assert!(looks.len() < 60, "looks are rare: {}", looks.len());
    }
}
