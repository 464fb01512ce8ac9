//! Numbers with a rate of change along a direction, and with rates of their rates.
//!
//! Code for [`Number`] is written once. With `f64` it computes values, with `Along<f64>` their exact
//! derivatives along a direction, with `Along<Along<f64>>` second ones.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use crate::special::{digamma, normal_tail};

pub(super) trait Number:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A number with a rate of zero.
    fn constant(value: f64) -> Self;
    fn value(self) -> f64;
    fn scaled(self, factor: f64) -> Self;
    fn ln(self) -> Self;
    fn exp(self) -> Self;
    fn sqrt(self) -> Self;
    /// ψ⁽ᵏ⁾.
    fn polygamma(self, order: u32) -> Self;
    /// φ(t)/Φ(−t), the relative rate at which a normal tail falls off.
    fn hazard(self) -> Self;

    fn square(self) -> Self {
        self * self
    }
}

impl Number for f64 {
    fn constant(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn scaled(self, factor: f64) -> Self {
        self * factor
    }

    fn ln(self) -> Self {
        self.ln()
    }

    fn exp(self) -> Self {
        self.exp()
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn polygamma(self, order: u32) -> Self {
        polygamma(order, self)
    }

    fn hazard(self) -> Self {
        tail_hazard(self)
    }
}

/// A number and its rate of change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Along<T> {
    pub(super) at: T,
    pub(super) rate: T,
}

impl<T: Number> Along<T> {
    /// Pairs of numbers and rates.
    pub(super) fn zip(at: &[T], rates: &[T]) -> Vec<Self> {
        at.iter().zip(rates).map(|(&at, &rate)| Self { at, rate }).collect()
    }

    pub(super) fn still(at: T) -> Self {
        Self { at, rate: T::constant(0.0) }
    }
}

impl<T: Number> Number for Along<T> {
    fn constant(value: f64) -> Self {
        Self::still(T::constant(value))
    }

    fn value(self) -> f64 {
        self.at.value()
    }

    fn scaled(self, factor: f64) -> Self {
        Self { at: self.at.scaled(factor), rate: self.rate.scaled(factor) }
    }

    fn ln(self) -> Self {
        Self { at: self.at.ln(), rate: self.rate / self.at }
    }

    fn exp(self) -> Self {
        let at = self.at.exp();
        Self { at, rate: at * self.rate }
    }

    fn sqrt(self) -> Self {
        let at = self.at.sqrt();
        Self { at, rate: self.rate.scaled(0.5) / at }
    }

    fn polygamma(self, order: u32) -> Self {
        Self { at: self.at.polygamma(order), rate: self.at.polygamma(order + 1) * self.rate }
    }

    fn hazard(self) -> Self {
        let at = self.at.hazard();
        Self { at, rate: at * (at - self.at) * self.rate }
    }
}

impl<T: Number> Add for Along<T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { at: self.at + other.at, rate: self.rate + other.rate }
    }
}

impl<T: Number> AddAssign for Along<T> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<T: Number> Sub for Along<T> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { at: self.at - other.at, rate: self.rate - other.rate }
    }
}

impl<T: Number> Mul for Along<T> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { at: self.at * other.at, rate: self.at * other.rate + self.rate * other.at }
    }
}

impl<T: Number> Div for Along<T> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let at = self.at / other.at;
        Self { at, rate: (self.rate - at * other.rate) / other.at }
    }
}

impl<T: Number> Neg for Along<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { at: -self.at, rate: -self.rate }
    }
}

/// B₂, B₄, …
const BERNOULLI: [f64; 6] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0];

/// ψ⁽ᵏ⁾(x) for x > 0: recurrence up to the range of the asymptotic series, then the series.
fn polygamma(order: u32, x: f64) -> f64 {
    if order == 0 {
        return digamma(x);
    }
    let k = f64::from(order);
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let power = |x: f64, n: u32| x.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let sign = if order % 2 == 1 { 1.0 } else { -1.0 };
    let (mut x, mut sum) = (x, 0.0);
    while x < 20.0 {
        sum += factorial(order) / power(x, order + 1);
        x += 1.0;
    }
    // B₂ⱼ/(2j)!·(2j+k−1)!/x^(2j+k)
    let mut series = factorial(order - 1) / power(x, order) * (1.0 + k / (2.0 * x));
    for (j, bernoulli) in (1_u32..).zip(BERNOULLI) {
        let ratio = factorial(2 * j + order - 1) / factorial(2 * j);
        series += bernoulli * ratio / power(x, 2 * j + order);
    }
    sign * (sum + series)
}

/// φ(t)/Φ(−t).
fn tail_hazard(t: f64) -> f64 {
    if t > 30.0 {
        // Both values underflow there; their ratio has an asymptotic series.
        let r = 1.0 / (t * t);
        return t / (1.0 - r * (1.0 - r * (3.0 - 15.0 * r)));
    }
    (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt() / normal_tail(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * (1.0 + b.abs())
    }

    #[test]
    fn polygammas_are_slopes_of_each_other() {
        assert!(close(polygamma(1, 1.0), std::f64::consts::PI.powi(2) / 6.0, 1e-14));
        for x in [0.3, 1.0, 4.2, 19.9, 20.1, 300.0] {
            for order in 0..3 {
                let h = 1e-4 * x;
                let at = |steps: f64| polygamma(order, x + steps * h);
                let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
                assert!(close(slope, polygamma(order + 1, x), 1e-9), "{order} {x}");
            }
        }
    }

    #[test]
    fn the_hazard_is_continuous_where_its_series_takes_over() {
        assert!(close(tail_hazard(30.0), tail_hazard(30.0 + 1e-9), 1e-8));
        assert!(close(tail_hazard(0.0), (2.0 / std::f64::consts::PI).sqrt(), 1e-15));
    }

    #[test]
    fn rates_of_rates_are_second_derivatives() {
        // f = √x·eˣ/(1 + ln x)·ψ(x)·hazard(x), by differences of its first derivative.
        fn f<R: Number>(x: R) -> R {
            x.sqrt() * x.exp() / (R::constant(1.0) + x.ln()) * x.polygamma(0) * x.hazard()
        }
        let first = |x: f64| f(Along { at: x, rate: 1.0 }).rate;
        let one = Along { at: 1.0, rate: 0.0 };
        let second = f(Along { at: Along { at: 2.3, rate: 1.0 }, rate: one });
        let h = 1e-3;
        let at = |steps: f64| first(2.3 + steps * h);
        let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
        assert!(close(second.rate.at, first(2.3), 1e-14));
        assert!(close(second.rate.rate, slope, 1e-9));
    }
}
