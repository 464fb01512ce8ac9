//! The one clock, and the wall-clock time for people.

use std::time::SystemTime;

use firstlight_schema::nanos::{Moment, Nanos};
use rustix::time::{ClockId, clock_gettime};

/// A reading of the clock that parent and child share.
pub(crate) fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).expect("the monotonic clock is not negative");
    let nanos = u64::try_from(time.tv_nsec).expect("nanoseconds are not negative");
    Moment(seconds * 1_000_000_000 + nanos)
}

/// How long the machine has slept since boot: the clock that includes sleep minus the one that does not.
pub(crate) fn asleep() -> Nanos {
    let slept = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(slept.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(slept.tv_nsec).unwrap_or(0);
    Moment(seconds * 1_000_000_000 + nanos).since(now())
}

/// The time of day, UTC, as people write it.
pub fn utc() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
