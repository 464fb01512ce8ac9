//! A share of counted toys with its binomial uncertainty.
//!
//! The interval is Clopper and Pearson's (Biometrika 26, 1934): its ends are the shares with which the count,
//! or one further away, has a probability of 2.5 %.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::function::beta::beta_reg;

const TAIL: f64 = 0.025;
/// Halvings of [0, 1]; after so many, neighbouring numbers are left.
const HALVINGS: u32 = 200;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Proportion {
    pub(crate) count: u64,
    pub(crate) of: u64,
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
    /// The ends of the exact 95 % interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Proportion {
    /// `count` of `of`, which is at least as large.
    pub(crate) fn new(count: u64, of: u64) -> Self {
        let (k, n) = (number(count), number(of).max(1.0));
        let value = k / n;
        Self {
            count,
            of,
            value,
            standard_error: (value * (1.0 - value) / n).sqrt(),
            low: if count == 0 { 0.0 } else { root(|p| beta_reg(k, n - k + 1.0, p) - TAIL) },
            high: if count >= of {
                1.0
            } else {
                root(|p| beta_reg(k + 1.0, n - k, p) - 1.0 + TAIL)
            },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of toys")]
const fn number(count: u64) -> f64 {
    count as f64
}

/// Where a function that rises from below zero to above it is zero.
fn root(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if function(middle) < 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of at most `k` of `n`, term by term.
    fn at_most(k: u64, n: u64, p: f64) -> f64 {
        let mut term = (1.0 - p).powi(i32::try_from(n).unwrap());
        let mut sum = term;
        for i in 0..k {
            term *= number(n - i) / number(i + 1) * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    #[test]
    fn the_ends_of_the_interval_leave_two_and_a_half_percent_on_either_side() {
        for (k, n) in [(1, 10), (5, 10), (9, 10), (3, 100), (97, 100)] {
            let found = Proportion::new(k, n);
            assert!((at_most(k, n, found.high) - TAIL).abs() < 1e-9, "{found:?}");
            assert!((1.0 - at_most(k - 1, n, found.low) - TAIL).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn none_and_all_have_one_sided_ends() {
        let none = Proportion::new(0, 1000);
        assert_eq!((none.value, none.low), (0.0, 0.0));
        assert!((none.high - (1.0 - TAIL.powf(1e-3))).abs() < 1e-9, "{none:?}");
        let all = Proportion::new(1000, 1000);
        assert_eq!((all.value, all.high), (1.0, 1.0));
        assert!((all.low - TAIL.powf(1e-3)).abs() < 1e-9, "{all:?}");
    }
}
