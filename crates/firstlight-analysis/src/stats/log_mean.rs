//! The geometric mean of processes with a t interval on the logarithms.
//!
//! With lᵢ = ln xᵢ, mean l̄ and deviation s: exp(l̄ ± t(n−1) s / √n), wider where a few processes are of
//! another kind (`rare_kinds.rs`). A process is one value, its mean, because iterations of one process share
//! its conditions; an interval made from all iterations would be far too narrow. (Kalibera and Jones,
//! Rigorous benchmarking in reasonable time, ISMM 2013.)

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::moments::{logs, mean};
use super::rare_kinds::{Reach, reach};
use super::{CONFIDENCE, short};

/// The geometric mean; `None` for no values or values that are not positive, without an interval for one.
pub fn log_mean(values: &[f64]) -> Option<Estimate> {
    let logs = logs(values.iter().copied())?;
    let centre = mean(&logs);
    Some(Estimate {
        point: centre.exp(),
        interval: reach(&logs).map(|reach| around(centre, reach)),
        n: short(logs.len()),
        method: Method::LogMean,
    })
}

/// The interval that reaches so far around the centre of logarithms.
pub(super) fn around(centre: f64, reach: Reach) -> Interval {
    let (low, high) = ((centre - reach.below).exp(), (centre + reach.above).exp());
    Interval { low, high, confidence: CONFIDENCE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_matches_the_one_computed_by_hand() {
        // Logarithms 0, 1, 2: mean 1, deviation 1, t(2) = 4.302653.
        let e = std::f64::consts::E;
        let estimate = log_mean(&[1.0, e, e * e]).unwrap();
        let interval = estimate.interval.unwrap();
        let reach = 4.302_653 / 3.0_f64.sqrt();
        assert!((estimate.point - e).abs() < 1e-9);
        assert!((interval.low.ln() - (1.0 - reach)).abs() < 1e-5, "{interval:?}");
        assert!((interval.high.ln() - (1.0 + reach)).abs() < 1e-5, "{interval:?}");
        assert_eq!(estimate.n, 3);
    }

    #[test]
    fn a_single_process_has_no_interval() {
        let estimate = log_mean(&[7.0]).unwrap();
        assert!((estimate.point - 7.0).abs() < 1e-12);
        assert_eq!(estimate.interval, None);
    }

    #[test]
    fn equal_processes_have_an_interval_without_width() {
        let interval = log_mean(&[7.0; 5]).unwrap().interval.unwrap();
        assert!((interval.low - 7.0).abs() < 1e-9 && (interval.high - 7.0).abs() < 1e-9);
    }

    #[test]
    fn durations_that_are_not_positive_have_no_mean() {
        assert_eq!(log_mean(&[]), None);
        assert_eq!(log_mean(&[1.0, 0.0]), None);
        assert_eq!(log_mean(&[1.0, -2.0]), None);
    }
}
