//! Clock readings and durations: two types, so that they cannot be confused.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duration in nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A reading of `CLOCK_MONOTONIC` in nanoseconds, which all processes of one host share.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Nanos {
    pub const ZERO: Self = Self(0);

    #[expect(
        clippy::cast_precision_loss,
        reason = "a duration of 100 days is exact to a nanosecond"
    )]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    pub fn as_seconds(self) -> f64 {
        self.as_f64() / 1e9
    }
}

impl Moment {
    /// The time from `earlier` to this reading; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, Add::add)
    }
}

impl Add<Nanos> for Moment {
    type Output = Self;

    fn add(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}
