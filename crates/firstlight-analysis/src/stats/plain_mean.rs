//! The mean of independent values with Student's interval: for differences, which may be negative and
//! so have no logarithm.

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::{CONFIDENCE, count, mean, short, student, variance};

/// The mean; `None` for no values, without an interval for a single one.
pub fn plain_mean(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let point = mean(values);
    let n = count(values.len());
    let interval = variance(values).and_then(|variance| {
        let reach = student::reach(n - 1.0)? * (variance / n).sqrt();
        Some(Interval { low: point - reach, high: point + reach, confidence: CONFIDENCE })
    });
    Some(Estimate { point, interval, n: short(values.len()), method: Method::Mean })
}

#[cfg(test)]
mod tests {
    use super::plain_mean;

    #[test]
    fn the_interval_matches_the_tables() {
        // t(2) = 4.3027, s = 1, n = 3.
        let estimate = plain_mean(&[-1.0, 0.0, 1.0]).unwrap();
        let interval = estimate.interval.unwrap();
        assert!(estimate.point.abs() < 1e-12);
        assert!((interval.high - 4.302_652_7 / 3f64.sqrt()).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn one_value_has_no_interval_and_no_values_have_no_mean() {
        assert_eq!(plain_mean(&[2.0]).unwrap().interval, None);
        assert_eq!(plain_mean(&[]), None);
        assert_eq!(plain_mean(&[f64::NAN]), None);
    }
}
