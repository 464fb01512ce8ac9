//! The integrated autocorrelation time: how many iterations correspond to one independent value.
//!
//! τ = 1 + 2 Σ ρ(t), summed up to the first lag W with W ≥ 5 τ(W), because beyond it the sum only
//! collects noise. (Sokal, Monte Carlo Methods in Statistical Mechanics, 1997, section 3.)

use super::count;
use super::moments::{mean, variance};

/// How many times τ the sum reaches.
const WINDOW: f64 = 5.0;
/// A longer series is first averaged down to about this many values.
const ENOUGH: usize = 1 << 16;
const MOST_LAGS: usize = 1_000;

/// The autocorrelation time in iterations, at least one.
pub fn autocorrelation_time(values: &[f64]) -> f64 {
    let batch = values.len().div_ceil(ENOUGH);
    if batch <= 1 {
        return sokal(values).max(1.0);
    }
    // Averages vary τ/batch times as much as single values; the missing variance gives τ.
    let averages: Vec<f64> = values.chunks_exact(batch).map(mean).collect();
    let share = match (variance(&averages), variance(values)) {
        (Some(of_averages), Some(of_values)) if of_values > 0.0 => of_averages / of_values,
        _ => return 1.0,
    };
    (count(batch) * share * sokal(&averages)).max(1.0)
}

/// The autocorrelation time of the residuals of a straight line, for a series with a trend.
pub(crate) fn time_around_a_line(values: &[f64]) -> f64 {
    autocorrelation_time(&straightened(values))
}

/// The residuals of the least-squares line over time.
pub(crate) fn straightened(values: &[f64]) -> Vec<f64> {
    let middle = (count(values.len()) - 1.0) / 2.0;
    let level = mean(values);
    let centred = || (0..).map(|i| count(i) - middle).zip(values.iter().map(|value| value - level));
    let (up, across) =
        centred().fold((0.0, 0.0), |(up, across), (x, y)| (up + x * y, across + x * x));
    let slope = if across > 0.0 { up / across } else { 0.0 };
    centred().map(|(x, y)| y - slope * x).collect()
}

fn sokal(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    let mean = mean(values);
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let product = |lag: usize| dot(&centred[..centred.len() - lag], &centred[lag..]);
    let squares = product(0);
    if squares.is_nan() || squares <= 0.0 {
        return 1.0;
    }
    let mut time = 1.0;
    for lag in 1..values.len().min(MOST_LAGS) {
        time += 2.0 * product(lag) / squares;
        if count(lag) >= WINDOW * time {
            break;
        }
    }
    time
}

/// The sum of products, in lanes that the processor handles at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>();
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn average_time(n: usize, rho: f64) -> f64 {
        let times =
            (0..20).map(|seed| autocorrelation_time(&Noise::new(seed).series(n, 1.0, 0.01, rho)));
        times.sum::<f64>() / 20.0
    }

    #[test]
    fn the_time_of_an_autoregressive_series_matches_the_formula() {
        // (1 + ρ) / (1 − ρ)
        for (rho, truth) in [(0.0, 1.0), (0.5, 3.0), (0.7, 17.0 / 3.0)] {
            let time = average_time(5_000, rho);
            assert!((time / truth - 1.0).abs() < 0.12, "rho {rho}: {time}");
        }
    }

    #[test]
    fn a_long_series_has_the_time_of_a_short_one() {
        let series = Noise::new(3).series(300_000, 1.0, 0.01, 0.7);
        let time = autocorrelation_time(&series);
        assert!((time / (17.0 / 3.0) - 1.0).abs() < 0.1, "{time}");
    }

    #[test]
    fn values_without_information_count_as_independent() {
        for values in [&[][..], &[1.0], &[1.0, 2.0], &[5.0; 40], &[f64::NAN; 9]] {
            let time = autocorrelation_time(values);
            assert!((1.0..=2.0).contains(&time), "{values:?}: {time}");
        }
    }

    #[test]
    fn alternating_values_do_not_count_as_more_than_independent() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert!((autocorrelation_time(&values) - 1.0).abs() < f64::EPSILON);
    }
}
