//! The interval of a mean over processes if a few of them are of another kind.
//!
//! Student's interval estimates the deviation from the same few values as the mean: with one slow process
//! among thirty it misses the mean of all processes in one run of ten. Where single values stand out, the
//! mean is therefore split: m + Σ pδ, with m the mean of the usual values, p the share of a kind that stands
//! out and δ its distance. m has Student's interval, p has Wilson's (JASA 22, 1927), and the two are combined
//! by the square roots of the summed squares of their reaches (Zou and Donner, Stat. Med. 27, 2008).

use super::moments::{mean, variance};
use super::{count, middle, student};

/// Fewer values cannot distinguish kinds.
const FEWEST: usize = 10;
/// Values further than this many deviations from the median are of another kind,
const DEVIATIONS: f64 = 5.0;
/// if they are also this far away on the logarithms: five per cent.
const FAR: f64 = 0.05;
/// For a kind with more than one in this many values, Student's interval is sufficient.
const RARE: usize = 3;
/// The ratio of the deviation to the median absolute deviation for normal values.
const NORMAL: f64 = 1.4826;
/// The normal quantile of a 95 % interval.
const Z: f64 = 1.959_964;

/// The distances of a 95 % interval's ends below and above a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reach {
    pub(super) below: f64,
    pub(super) above: f64,
}

/// The reach of the mean of these logarithms; `None` for fewer than two.
pub(super) fn reach(values: &[f64]) -> Option<Reach> {
    let plain = students(values)?;
    let plain = Reach { below: plain, above: plain };
    if values.len() < FEWEST {
        return Some(plain);
    }
    let centre = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let far = (DEVIATIONS * NORMAL * median(&deviations)).max(FAR);
    let kind = |chosen: fn(f64, f64) -> bool| -> Vec<f64> {
        values.iter().copied().filter(|value| chosen(value - centre, far)).collect()
    };
    let usual = kind(|distance, far| distance.abs() <= far);
    let (low, high) = (kind(|distance, far| distance < -far), kind(|distance, far| distance > far));
    let rare = low.len() + high.len();
    if rare == 0 || rare * RARE > values.len() {
        return Some(plain);
    }
    let own = students(&usual)?;
    let (mut below, mut above) = (own * own, own * own);
    for of_kind in [low, high].into_iter().filter(|kind| !kind.is_empty()) {
        let distance = mean(&of_kind) - mean(&usual);
        let share = count(of_kind.len()) / count(values.len());
        let (fewest, most) = wilson(of_kind.len(), values.len());
        let ends = [(fewest - share) * distance, (most - share) * distance];
        below += ends[0].min(ends[1]).powi(2);
        above += ends[0].max(ends[1]).powi(2);
    }
    Some(Reach { below: below.sqrt(), above: above.sqrt() })
}

fn students(values: &[f64]) -> Option<f64> {
    let error = (variance(values)? / count(values.len())).sqrt();
    Some(error * student::reach(count(values.len() - 1))?)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    middle(&sorted)
}

/// The interval of the share k of n.
fn wilson(k: usize, n: usize) -> (f64, f64) {
    let (n, p) = (count(n), count(k) / count(n));
    let scale = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (centre - half, centre + half)
}

#[cfg(test)]
mod tests {
    use super::{reach, wilson};
    use crate::noise::Noise;

    #[test]
    fn wilsons_interval_matches_the_tables() {
        let (low, high) = wilson(1, 30);
        assert!((low - 0.0059).abs() < 1e-4 && (high - 0.1667).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn usual_values_have_students_reach_to_both_sides() {
        let mut noise = Noise::new(3);
        let values: Vec<f64> = (0..20).map(|_| 0.01 * noise.normal()).collect();
        let reach = reach(&values).unwrap();
        assert!((reach.below - reach.above).abs() < 1e-15, "{reach:?}");
        assert!(reach.above > 0.003 && reach.above < 0.008, "{reach:?}");
    }

    #[test]
    fn one_slow_process_among_thirty_may_be_one_of_ten() {
        let mut noise = Noise::new(3);
        let mut values: Vec<f64> = (0..30).map(|_| 0.01 * noise.normal()).collect();
        values[7] += 1.5_f64.ln();
        let reach = reach(&values).unwrap();
        let mean = values.iter().sum::<f64>() / 30.0;
        assert!(mean + reach.above > 0.1 * 1.5_f64.ln(), "{mean} {reach:?}");
        assert!(reach.below < reach.above, "{reach:?}");
    }
}
