//! Change points: where a series changes its level or its spread.
//!
//! A change must lower the cost of `pelt.rs` by 15 ln n. (Barrett et al., Virtual machine warmup
//! blows hot and cold, OOPSLA 2017.)
//!
//! Without changes the work grows with the square of the number of candidates. A long series is therefore
//! searched on a grid. The costs are exact, because they come from sums over all values. Each change is then
//! moved to its exact position between the points of the grid.

use super::clip::{Clipped, clip};
use super::pelt::{Costs, pelt};
use super::{MIN_SEGMENT, autocorrelation_time, count, mean};

const PENALTY: f64 = 15.0;
/// Up to this autocorrelation time the penalty prevents slow waves from being treated as levels. Beyond it,
/// the penalty grows in proportion to the likelihood that such waves seem to gain.
const TOLERATED: f64 = 6.0;
/// A series of up to this many values is searched without a grid.
const EXACT: usize = 2_000;
/// The approximate number of points of a grid.
const GRID: usize = 1_000;
/// The number of passes that move changes off the grid.
const REFINEMENTS: usize = 2;

/// The positions at which a new segment begins, in order; lone outliers begin no segment.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    if values.iter().all(|value| value.is_finite()) {
        change_points_of_clipped(&clip(values))
    } else {
        Vec::new()
    }
}

pub(crate) fn change_points_of_clipped(series: &Clipped) -> Vec<usize> {
    let n = series.values.len();
    if n < 2 * MIN_SEGMENT {
        return Vec::new();
    }
    let costs = Costs::new(series);
    let penalty = PENALTY * count(n).ln();
    let changes = search(&costs, n, penalty);
    let time = time_within(&series.values, &changes);
    if changes.is_empty() || time <= TOLERATED {
        return changes;
    }
    search(&costs, n, penalty * time / TOLERATED)
}

fn search(costs: &Costs, n: usize, penalty: f64) -> Vec<usize> {
    if n <= EXACT {
        return pelt(costs, n, 1, penalty);
    }
    let step = n.div_ceil(GRID).max(2);
    refine(costs, pelt(costs, n, step, penalty), n, step, penalty)
}

/// The autocorrelation time of the residuals of the segments' levels.
fn time_within(values: &[f64], changes: &[usize]) -> f64 {
    let ends = changes.iter().copied().chain([values.len()]);
    let segments = std::iter::once(0).chain(changes.iter().copied()).zip(ends);
    let left = segments.flat_map(|(from, to)| {
        let level = mean(&values[from..to]);
        values[from..to].iter().map(move |value| value - level)
    });
    autocorrelation_time(&left.collect::<Vec<_>>())
}

/// Moves the changes off the grid, and drops duplicates from neighbouring points.
fn refine(
    costs: &Costs,
    mut changes: Vec<usize>,
    n: usize,
    step: usize,
    penalty: f64,
) -> Vec<usize> {
    for _ in 0..REFINEMENTS {
        (0..changes.len()).for_each(|i| place(costs, &mut changes, i, n, step));
    }
    while let Some(i) = weakest(costs, &changes, n, penalty) {
        changes.remove(i);
        for neighbour in i.saturating_sub(1)..changes.len().min(i + 1) {
            place(costs, &mut changes, neighbour, n, step);
        }
    }
    changes
}

/// The change that gains least, if that is less than the penalty.
fn weakest(costs: &Costs, changes: &[usize], n: usize, penalty: f64) -> Option<usize> {
    let gain = |(i, at): (usize, &usize)| {
        let (before, after) = neighbours(changes, i, n);
        (i, costs.segment(before..after) - costs.segment(before..*at) - costs.segment(*at..after))
    };
    let gains = changes.iter().enumerate().map(gain);
    let (i, gain) = gains.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (gain < penalty).then_some(i)
}

/// Moves a change point to the lowest cost, up to one step away.
fn place(costs: &Costs, changes: &mut [usize], i: usize, n: usize, step: usize) {
    let (before, after) = neighbours(changes, i, n);
    let first = (before + MIN_SEGMENT).max(changes[i].saturating_sub(step));
    let last = (after - MIN_SEGMENT).min(changes[i] + step);
    let places =
        (first..=last).map(|at| (at, costs.segment(before..at) + costs.segment(at..after)));
    let best = places.min_by(|a, b| a.1.total_cmp(&b.1));
    changes[i] = best.map_or(changes[i], |(at, _)| at);
}

/// Where the segments on both sides of a change begin and end.
fn neighbours(changes: &[usize], i: usize, n: usize) -> (usize, usize) {
    let before = if i == 0 { 0 } else { changes[i - 1] };
    (before, changes.get(i + 1).copied().unwrap_or(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn plateau(seed: u64, n: usize, length: usize, rho: f64) -> Vec<f64> {
        let mut values = Noise::new(seed).series(n, 1_000.0, 0.01, rho);
        values[..length].iter_mut().for_each(|value| *value *= 1.1);
        values
    }

    #[test]
    fn a_slow_plateau_at_the_start_is_found_where_it_ends() {
        let exact =
            (0..100).filter(|seed| change_points(&plateau(*seed, 300, 60, 0.0)) == [60]).count();
        assert!(exact >= 97, "{exact}");
    }

    #[test]
    fn a_flat_correlated_series_has_no_change() {
        for (rho, n) in [(0.0, 300), (0.6, 300), (0.7, 300), (0.7, 60), (0.7, 5_000)] {
            let flat = (0..200).filter(|seed| change_points(&plateau(*seed, n, 0, rho)).is_empty());
            let flat = flat.count();
            assert!(flat >= 198, "rho {rho}, n {n}: {flat}");
        }
    }

    #[test]
    fn slow_values_here_and_there_are_no_change() {
        let flat = (0..200).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let mut values = noise.series(300, 1_000.0, 0.01, 0.5);
            noise.slow_some(&mut values, 0.04, 20.0);
            change_points(&values).is_empty()
        });
        let flat = flat.count();
        assert!(flat >= 198, "{flat}");
    }

    #[test]
    fn slow_values_do_not_hide_a_change() {
        let near = (0..100).filter(|seed| {
            let mut values = plateau(*seed, 300, 60, 0.0);
            Noise::new(1_000 + seed).slow_some(&mut values, 0.04, 20.0);
            matches!(change_points(&values)[..], [at] if at.abs_diff(60) <= 2)
        });
        let near = near.count();
        assert!(near >= 95, "{near}");
    }

    #[test]
    fn the_grid_finds_the_exact_position_of_a_change() {
        for (seed, length) in [(1, 9_999), (2, 60), (3, 25_013)] {
            assert_eq!(change_points(&plateau(seed, 50_000, length, 0.0)), [length]);
        }
    }

    #[test]
    fn all_of_many_changes_are_found_on_the_grid() {
        let mut values = Noise::new(6).series(20_000, 1_000.0, 0.01, 0.0);
        let slow = values.chunks_mut(500).skip(1).step_by(2);
        slow.flatten().for_each(|value| *value *= 1.1);
        let expected: Vec<usize> = (1..40).map(|i| i * 500).collect();
        assert_eq!(change_points(&values), expected);
    }

    #[test]
    fn a_change_of_spread_alone_is_a_change() {
        let mut noise = Noise::new(9);
        let mut values = noise.series(200, 1_000.0, 0.01, 0.0);
        values.extend(noise.series(200, 1_000.0, 0.05, 0.0));
        assert!(matches!(change_points(&values)[..], [at] if at.abs_diff(200) <= 5));
    }

    #[test]
    fn constant_values_and_a_coarse_clock_are_no_change() {
        assert_eq!(change_points(&[7.0; 500]), [0; 0]);
        assert_eq!(change_points(&[0.0; 500]), [0; 0]);
        for seed in 0..50 {
            let values = Noise::new(seed).series(1_000, 1_000.0, 0.01, 0.0);
            let ticks: Vec<f64> =
                values.iter().map(|value| (value / 42.0).round() * 42.0).collect();
            assert_eq!(change_points(&ticks), [0; 0], "{seed}");
        }
    }

    #[test]
    fn constant_levels_are_distinguished() {
        let values = [[1_100.0; 100], [1_000.0; 100]].concat();
        assert_eq!(change_points(&values), [100]);
    }

    #[test]
    fn too_few_values_have_no_change() {
        for n in 0..2 * MIN_SEGMENT {
            assert_eq!(change_points(&plateau(1, n, n / 2, 0.0)), [0; 0]);
        }
        assert_eq!(change_points(&[f64::NAN; 50]), [0; 0]);
    }
}
