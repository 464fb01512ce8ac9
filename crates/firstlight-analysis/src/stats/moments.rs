//! Mean and variance in two passes, which keeps the digits of values far from zero.

use super::count;

/// The mean; NaN for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// The unbiased variance; `None` for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / count(values.len() - 1))
}

/// The logarithms; `None` if there are no values or one of them is not positive.
pub(crate) fn logs(values: impl IntoIterator<Item = f64>) -> Option<Vec<f64>> {
    let logs: Option<Vec<f64>> = values
        .into_iter()
        .map(|value| (value > 0.0 && value.is_finite()).then(|| value.ln()))
        .collect();
    logs.filter(|logs| !logs.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_keeps_its_digits_far_from_zero() {
        let variance = variance(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).unwrap();
        assert!((variance - 1.0).abs() < 1e-12, "{variance}");
    }

    #[test]
    fn a_single_value_has_no_variance() {
        assert_eq!(variance(&[1.0]), None);
    }

    #[test]
    fn values_that_are_not_positive_have_no_logarithms() {
        assert_eq!(logs([1.0, 0.0]), None);
        assert_eq!(logs([f64::NAN]), None);
        assert_eq!(logs([f64::INFINITY]), None);
        assert_eq!(logs([]), None);
        assert_eq!(logs([1.0]), Some(vec![0.0]));
    }
}
