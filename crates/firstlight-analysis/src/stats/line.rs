//! A line through durations at several sizes: the cost per call and the cost per unit.
//!
//! y = constant + slope · x by least squares with weights 1/ŷ², because noise is relative; ŷ is
//! first the mean at each x and then the line's own, twice. With W the sum of weights, x̄ and ȳ
//! weighted means and s² = Σ w r² / (n − 2): var(slope) = s² / Σ w (x − x̄)², var(constant) =
//! s² (1/W + x̄² / Σ w (x − x̄)²), t with n − 2 degrees of freedom. Replicates at the same x tell
//! noise from curvature: F = (lack of fit / (k − 2)) / (pure error / (n − k)) for k distinct x.
//! (Draper and Smith, Applied Regression Analysis, 2.1 and 9.2.)

use firstlight_schema::estimate::{Estimate, Interval, Method};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::{CONFIDENCE, count, mean, plain_mean, short, student};

const REWEIGHTINGS: usize = 2;

/// A fitted line and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub constant: Estimate,
    pub slope: Estimate,
    /// The p value of a straight line; absent without replicates or a third x.
    pub straight: Option<f64>,
    /// The largest relative distance of a mean from the line.
    pub largest_residual: f64,
}

/// Fits a line to points (x, y) with positive y; `None` for fewer than three points or two x.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let usable = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && *y > 0.0;
    let groups = groups(points);
    if points.len() < 3 || groups.len() < 2 || !points.iter().all(usable) {
        return None;
    }
    let mut fit = Fit::new(&groups, |group| group.mean)?;
    for _ in 0..REWEIGHTINGS {
        let last = fit;
        fit = Fit::new(&groups, |group| last.at(group.x))?;
    }
    fitted(points, &groups, fit)
}

/// The same for differences, which may be negative and differ in scatter from x to x: a line through the
/// values of each round, and the mean of the rounds' lines with Student's interval. `None` unless every round
/// has the same two or more x.
pub fn line_by_rounds(rounds: &[Vec<(f64, f64)>]) -> Option<Line> {
    let lines: Vec<Fit> =
        rounds.iter().map(|points| Fit::new(&groups(points), |_| 1.0)).collect::<Option<_>>()?;
    let usable = |fit: &Fit| fit.slope.is_finite();
    if lines.is_empty() || !lines.iter().all(usable) {
        return None;
    }
    let of = |value: fn(&Fit) -> f64| plain_mean(&lines.iter().map(value).collect::<Vec<_>>());
    let (constant, slope) = (of(|fit| fit.at(0.0))?, of(|fit| fit.slope)?);
    let all = groups(&rounds.concat());
    let off = |group: &Group| {
        let expected = constant.point + slope.point * group.x;
        (group.mean / expected - 1.0).abs()
    };
    let largest_residual = all.iter().map(off).fold(0.0, f64::max);
    Some(Line { constant, slope, straight: None, largest_residual })
}

fn fitted(points: &[(f64, f64)], groups: &[Group], fit: Fit) -> Option<Line> {
    let df = count(points.len() - 2);
    let s2 = (fit.lack + fit.pure) / df;
    let reach = student::reach(df)?;
    let estimate = |point: f64, share: f64| {
        let reach = reach * (s2 * share).sqrt();
        let interval = Interval { low: point - reach, high: point + reach, confidence: CONFIDENCE };
        let n = short(points.len());
        Estimate { point, interval: Some(interval), n, method: Method::LeastSquares }
    };
    Some(Line {
        constant: estimate(fit.at(0.0), 1.0 / fit.weight + fit.x * fit.x / fit.across),
        slope: estimate(fit.slope, 1.0 / fit.across),
        straight: straight(&fit, points.len(), groups.len()),
        largest_residual: largest_residual(&fit, groups),
    })
}

/// The values at one x.
struct Group {
    x: f64,
    mean: f64,
    n: f64,
    /// Their squares around the mean.
    squares: f64,
}

fn groups(points: &[(f64, f64)]) -> Vec<Group> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = points.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    same.map(|points| {
        let values: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
        let mean = mean(&values);
        let squares = values.iter().map(|y| (y - mean).powi(2)).sum();
        Group { x: points[0].0, mean, n: count(values.len()), squares }
    })
    .collect()
}

/// A weighted line through the means of the groups, which equals that through all points.
#[derive(Clone, Copy)]
struct Fit {
    x: f64,
    y: f64,
    slope: f64,
    weight: f64,
    /// Σ w (x − x̄)²
    across: f64,
    /// The weighted squares between the line and the means, and between the means and the points.
    lack: f64,
    pure: f64,
}

impl Fit {
    /// `None` if a weight is invalid because the expected value is not positive.
    fn new(groups: &[Group], expected: impl Fn(&Group) -> f64) -> Option<Self> {
        if groups.iter().any(|group| expected(group) <= 0.0) {
            return None;
        }
        let sum = |f: &dyn Fn(&Group) -> f64| -> f64 {
            groups.iter().map(|group| f(group) / expected(group).powi(2)).sum()
        };
        let weight = sum(&|group| group.n);
        let x = sum(&|group| group.n * group.x) / weight;
        let y = sum(&|group| group.n * group.mean) / weight;
        let across = sum(&|group| group.n * (group.x - x).powi(2));
        let slope = sum(&|group| group.n * (group.x - x) * (group.mean - y)) / across;
        let line = |at: f64| y + slope * (at - x);
        let lack = sum(&|group| group.n * (group.mean - line(group.x)).powi(2));
        let pure = sum(&|group| group.squares);
        Some(Self { x, y, slope, weight, across, lack, pure })
    }

    fn at(&self, x: f64) -> f64 {
        self.y + self.slope * (x - self.x)
    }
}

fn straight(fit: &Fit, n: usize, k: usize) -> Option<f64> {
    if k < 3 || n <= k {
        return None;
    }
    let (free, noise) = (count(k - 2), count(n - k));
    if fit.pure <= 0.0 {
        // Replicates without any noise: the remaining distance from the line is curvature, or rounding.
        return Some(if fit.lack <= f64::EPSILON { 1.0 } else { 0.0 });
    }
    let f = (fit.lack / free) / (fit.pure / noise);
    FisherSnedecor::new(free, noise).ok().map(|distribution| distribution.sf(f))
}

fn largest_residual(fit: &Fit, groups: &[Group]) -> f64 {
    let residual = |group: &Group| (group.mean / fit.at(group.x) - 1.0).abs();
    groups.iter().map(residual).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn points(seed: u64, truth: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut noise = Noise::new(seed);
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0].repeat(5);
        sizes.into_iter().map(|x| (x, truth(x) * (1.0 + 0.02 * noise.normal()))).collect()
    }

    #[test]
    fn points_on_a_line_give_the_line() {
        let exact: Vec<_> = [1.0, 2.0, 5.0, 5.0].map(|x| (x, 30.0 + 7.0 * x)).into();
        let line = line(&exact).unwrap();
        assert!((line.constant.point - 30.0).abs() < 1e-9, "{line:?}");
        assert!((line.slope.point - 7.0).abs() < 1e-9, "{line:?}");
        assert!(line.largest_residual < 1e-12);
        assert_eq!(line.straight, Some(1.0));
    }

    #[test]
    fn the_intervals_have_their_nominal_coverage() {
        let rounds = 2_000;
        let mut covered = [0, 0];
        for seed in 0..rounds {
            let line = line(&points(seed, |x| 500.0 + 20.0 * x)).unwrap();
            for (i, (estimate, truth)) in
                [(line.constant, 500.0), (line.slope, 20.0)].iter().enumerate()
            {
                let interval = estimate.interval.unwrap();
                covered[i] += usize::from((interval.low..=interval.high).contains(truth));
            }
        }
        let rates = covered.map(|covered| count(covered) / count(usize::try_from(rounds).unwrap()));
        assert!(rates.iter().all(|rate| *rate >= 0.94), "{rates:?}");
    }

    #[test]
    fn a_straight_line_is_seldom_called_bent_and_a_bent_one_often() {
        let bent = |truth: fn(f64) -> f64| {
            (0..1_000)
                .filter(|seed| line(&points(*seed, truth)).unwrap().straight.unwrap() < 0.05)
                .count()
        };
        let (straight, curved) = (bent(|x| 500.0 + 20.0 * x), bent(|x| 500.0 + 20.0 * x + x * x));
        assert!((20..=80).contains(&straight), "{straight}");
        assert!(curved > 990, "{curved}");
    }

    #[test]
    fn a_bend_shows_in_the_largest_residual() {
        let line = line(&points(1, |x| if x < 60.0 { 500.0 + 20.0 * x } else { 3_000.0 })).unwrap();
        assert!(line.largest_residual > 0.1, "{line:?}");
    }

    #[test]
    fn a_line_by_rounds_takes_negative_values_and_covers_its_slope() {
        let exact = vec![vec![(1.0, -4.0), (2.0, -11.0), (5.0, -32.0)]];
        let line = line_by_rounds(&exact).unwrap();
        assert!((line.slope.point + 7.0).abs() < 1e-9);
        assert_eq!(line.slope.interval, None);
        let covered = (0..1_000)
            .filter(|seed| {
                let mut noise = Noise::new(*seed);
                let mut round = |_| {
                    [1.0, 2.0, 4.0, 8.0]
                        .map(|x| (x, -3.0 + 0.1 * x + (1.0 + x) * noise.normal()))
                        .to_vec()
                };
                let rounds: Vec<_> = (0..5).map(&mut round).collect();
                let interval = line_by_rounds(&rounds).unwrap().slope.interval.unwrap();
                (interval.low..=interval.high).contains(&0.1)
            })
            .count();
        assert!((925..=975).contains(&covered), "{covered}");
    }

    #[test]
    fn too_few_points_or_sizes_have_no_line() {
        assert_eq!(line(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (2.0, 0.0), (3.0, 4.0)]), None);
        let no_replicates = line(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.5)]).unwrap();
        assert_eq!(no_replicates.straight, None);
    }
}
