//! The exponent b of a duration as a function of a size: y = a · xᵇ.
//!
//! The slope of log y on log x by least squares, with Student's interval on n − 2 degrees of freedom.

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::{CONFIDENCE, count, mean, short, student};

/// `None` for fewer than three points with positive x and y, or if all x are the same.
pub fn exponent(points: &[(f64, f64)]) -> Option<Estimate> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0)
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    if logs.len() < 3 {
        return None;
    }
    let (xs, ys): (Vec<f64>, Vec<f64>) = logs.iter().copied().unzip();
    let (x, y) = (mean(&xs), mean(&ys));
    let across: f64 = xs.iter().map(|value| (value - x).powi(2)).sum();
    let slope = logs.iter().map(|(a, b)| (a - x) * (b - y)).sum::<f64>() / across;
    if !slope.is_finite() {
        return None;
    }
    let df = count(logs.len() - 2);
    let residual = |(a, b): &(f64, f64)| b - y - slope * (a - x);
    let variance = logs.iter().map(|point| residual(point).powi(2)).sum::<f64>() / df;
    let reach = student::reach(df)? * (variance / across).sqrt();
    let interval = Interval { low: slope - reach, high: slope + reach, confidence: CONFIDENCE };
    let n = short(logs.len());
    Some(Estimate { point: slope, interval: Some(interval), n, method: Method::LeastSquares })
}

#[cfg(test)]
mod tests {
    use super::exponent;

    #[test]
    fn a_power_is_found_and_a_constant_has_none() {
        let power = |b: f64| [1.0, 2.0, 4.0, 8.0_f64].map(|x| (x, 7.0 * x.powf(b)));
        for b in [0.0, 0.5, 1.0, 3.0] {
            let found = exponent(&power(b)).unwrap();
            assert!((found.point - b).abs() < 1e-12, "{found:?}");
        }
        assert!(exponent(&power(1.0)[..2]).is_none());
        assert!(exponent(&[(2.0, 1.0), (2.0, 2.0), (2.0, 3.0)]).is_none());
    }

    #[test]
    fn noise_makes_the_interval_wide_enough_to_hold_the_truth() {
        let points = [(1.0, 1.1), (2.0, 1.9), (4.0, 4.2), (8.0, 7.8)];
        let ends = exponent(&points).unwrap().interval.unwrap();
        assert!(ends.low < 1.0 && 1.0 < ends.high && ends.high - ends.low < 0.5, "{ends:?}");
    }
}
