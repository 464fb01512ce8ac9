//! Numbers with or without a tangent, so that the derivatives are written once for both.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number, or a number and its rate of change along a direction.
pub(crate) trait Real:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn value(self) -> f64;
    fn ln(self) -> Self;
    /// Applies a function with a known value and slope at this number.
    fn map(self, value: f64, slope: f64) -> Self;
}

impl Real for f64 {
    fn value(self) -> f64 {
        self
    }

    fn ln(self) -> Self {
        self.ln()
    }

    fn map(self, value: f64, _: f64) -> Self {
        value
    }
}

/// A number and its rate of change.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Dual {
    pub(crate) value: f64,
    pub(crate) rate: f64,
}

impl From<f64> for Dual {
    fn from(value: f64) -> Self {
        Self { value, rate: 0.0 }
    }
}

impl Real for Dual {
    fn value(self) -> f64 {
        self.value
    }

    fn ln(self) -> Self {
        self.map(self.value.ln(), 1.0 / self.value)
    }

    fn map(self, value: f64, slope: f64) -> Self {
        Self { value, rate: slope * self.rate }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, rate: self.rate + other.rate }
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, rate: self.rate - other.rate }
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let rate = self.value * other.rate + self.rate * other.value;
        Self { value: self.value * other.value, rate }
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self { value, rate: (self.rate - value * other.rate) / other.value }
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, rate: -self.rate }
    }
}
