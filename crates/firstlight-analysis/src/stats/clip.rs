//! Replaces outliers by typical neighbouring values, so that a garbage collection is not treated as a level.
//!
//! A value is an outlier if it lies further than five deviations from the median both of the
//! values before it and of those after it; the deviation is 1.4826 times their median absolute
//! deviation. It becomes the median of the side that varies less. Next to a change of level a value
//! belongs to one of its sides, so the change itself is left as it is. (Hampel's filter: Pearson,
//! Mining Imperfect Data, 2005.)

use super::middle;

/// The number of values on each side.
const SIDE: usize = 15;
/// A side with fewer values, as at the ends of a series, is not used.
const FEWEST: usize = 8;
/// A value further than this many deviations is an outlier.
const REACH: f64 = 5.0;
/// The ratio of the deviation to the median absolute deviation for normal values.
const NORMAL: f64 = 1.4826;
/// Deviations below this share of the level are ignored.
const SHARE: f64 = 1e-3;
/// Outliers are rarer than one in this many; more frequent values are normal behaviour of the program.
const RARE: usize = 8;
/// The number of values that are enough to find the clock's granularity.
const ENOUGH: usize = 4_096;

/// A series without its outliers.
pub(crate) struct Clipped {
    pub(crate) values: Vec<f64>,
    /// The median of all values.
    pub(crate) level: f64,
    /// The smallest deviation that is distinguished from zero.
    pub(crate) floor: f64,
    /// The number of slow values at the start, before the first typical one.
    pub(crate) slow_start: usize,
}

/// Replaces the outliers of a series.
pub(crate) fn clip(values: &[f64]) -> Clipped {
    let level = median_of(values);
    let floor = (SHARE * level.abs()).max(granularity(values, level) / 12.0_f64.sqrt());
    let sides = sides(values, floor);
    if !rare(values, &sides) {
        return Clipped { values: values.to_vec(), level, floor, slow_start: 0 };
    }
    let usual = |(i, value): (usize, &f64)| usual(*value, around(&sides, i));
    let clipped: Vec<f64> = values.iter().enumerate().map(usual).collect();
    let slow_start = values.iter().zip(&clipped).take_while(|(value, usual)| value > usual).count();
    Clipped { values: clipped, level, floor, slow_start }
}

/// Whether only few values are far out. All are compared with the same typical reach: where a second mode has
/// many values, the local reach is wide and would include them.
fn rare(values: &[f64], sides: &[Option<Side>]) -> bool {
    let reaches: Vec<f64> = sides.iter().flatten().map(|side| side.reach).collect();
    let reach = median_of(&reaches);
    let far = |(i, value): &(usize, &f64)| {
        around(sides, *i).all(|side| (**value - side.centre).abs() > reach)
    };
    // A slow start is not typical of the program, however short the series.
    let far_out = values.iter().enumerate().skip(SIDE).filter(far).count();
    far_out * RARE <= values.len()
}

/// The typical values on one side of a value.
#[derive(Clone, Copy)]
struct Side {
    centre: f64,
    reach: f64,
}

/// The sides before and after a value, if they have enough values.
fn around(sides: &[Option<Side>], i: usize) -> impl Iterator<Item = Side> + Clone {
    sides[i].into_iter().chain(sides[i + SIDE + 1])
}

/// The value, unless it is an outlier.
fn usual(value: f64, sides: impl Iterator<Item = Side> + Clone) -> f64 {
    if sides.clone().any(|side| (value - side.centre).abs() <= side.reach) {
        return value;
    }
    let calmer = sides.min_by(|a, b| a.reach.total_cmp(&b.reach));
    calmer.map_or(value, |side| side.centre)
}

/// The typical values before each position, up to one side past the end.
fn sides(values: &[f64], floor: f64) -> Vec<Option<Side>> {
    let mut window: Vec<f64> = Vec::with_capacity(SIDE);
    (0..=values.len() + SIDE)
        .map(|end| {
            let new = end.checked_sub(1).and_then(|last| values.get(last));
            let old = end.checked_sub(SIDE + 1).and_then(|first| values.get(first));
            slide(&mut window, old, new);
            (window.len() >= FEWEST).then(|| side(&window, floor))
        })
        .collect()
}

/// Removes an old value from a sorted window and inserts a new one.
fn slide(window: &mut Vec<f64>, old: Option<&f64>, new: Option<&f64>) {
    let position = |window: &[f64], value: &f64| window.partition_point(|other| other < value);
    match (old, new) {
        (None, None) => {}
        (None, Some(new)) => window.insert(position(window, new), *new),
        (Some(old), None) => drop(window.remove(position(window, old))),
        (Some(old), Some(new)) => {
            let mut at = position(window, old);
            window[at] = *new;
            while at + 1 < window.len() && window[at] > window[at + 1] {
                window.swap(at, at + 1);
                at += 1;
            }
            while at > 0 && window[at - 1] > window[at] {
                window.swap(at - 1, at);
                at -= 1;
            }
        }
    }
}

fn side(sorted: &[f64], floor: f64) -> Side {
    let centre = middle(sorted);
    let reach = REACH * (NORMAL * deviation(sorted, centre)).max(floor);
    Side { centre, reach }
}

/// The median absolute deviation: the furthest values, always at one of the ends, are removed first.
fn deviation(sorted: &[f64], centre: f64) -> f64 {
    let (mut low, mut high) = (0, sorted.len() - 1);
    let mut widest = 0.0;
    for _ in 0..sorted.len().div_ceil(2) {
        let (below, above) = (centre - sorted[low], sorted[high] - centre);
        widest = below.max(above);
        low += usize::from(below > above);
        high -= usize::from(below <= above);
    }
    widest
}

/// The clock's step, if values often differ from the previous one by it; for a smooth series it is close to
/// zero. Values that hardly ever change have none: their changes are changes of level.
fn granularity(values: &[f64], level: f64) -> f64 {
    let stride = values.len().div_ceil(ENOUGH).max(1);
    let steps: Vec<f64> =
        values.windows(2).step_by(stride).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let rounding = level.abs() * 1e-9;
    let moved = || steps.iter().copied().filter(|step| *step > rounding);
    if moved().count() * 10 < steps.len() { 0.0 } else { moved().fold(f64::MAX, f64::min) }
}

/// One of the values in the middle; zero for none.
pub(super) fn median_of(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut values = values.to_vec();
    let half = values.len() / 2;
    *values.select_nth_unstable_by(half, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn lone_slow_values_are_replaced_and_the_rest_is_left() {
        let mut values = Noise::new(1).series(200, 1_000.0, 0.01, 0.0);
        values[50] = 9_000.0;
        values[51] = 3_000.0;
        let clipped = clip(&values);
        for (i, (before, after)) in values.iter().zip(&clipped.values).enumerate() {
            let moved = (before - after).abs() > 0.0;
            assert_eq!(moved, i == 50 || i == 51, "{i}: {before} became {after}");
            assert!(*after < 1_150.0, "{i}: {before} became {after}");
        }
        assert_eq!(clipped.slow_start, 0);
    }

    #[test]
    fn a_change_of_level_is_not_modified() {
        let mut values = Noise::new(2).series(200, 1_000.0, 0.01, 0.0);
        values[..80].iter_mut().for_each(|value| *value *= 1.5);
        assert_eq!(clip(&values).values, values);
    }

    #[test]
    fn slow_values_at_the_start_are_counted() {
        let mut values = Noise::new(3).series(100, 1_000.0, 0.01, 0.0);
        values[..3].copy_from_slice(&[8_000.0, 3_000.0, 2_000.0]);
        values[7] = 9_000.0;
        assert_eq!(clip(&values).slow_start, 3);
    }

    #[test]
    fn a_second_mode_is_not_modified() {
        let mut noise = Noise::new(5);
        let mut values = noise.series(300, 1_000.0, 0.01, 0.0);
        noise.slow_some(&mut values, 0.25, 2.1);
        assert_eq!(clip(&values).values, values);
    }

    #[test]
    fn a_coarse_clock_raises_the_floor_and_a_change_of_level_does_not() {
        let mut noise = Noise::new(4);
        let ticks: Vec<f64> = noise.series(300, 100.0, 0.3, 0.0);
        let ticks: Vec<f64> = ticks.iter().map(|value| (value / 42.0).round() * 42.0).collect();
        assert!((clip(&ticks).floor - 42.0 / 12.0_f64.sqrt()).abs() < 1e-9);
        let levels = [[1_500.0; 60], [1_000.0; 60]].concat();
        assert!((clip(&levels).floor - 1.0).abs() < 0.6);
    }

    #[test]
    fn few_values_and_none_are_handled() {
        assert!(clip(&[]).values.is_empty());
        assert_eq!(clip(&[5.0]).values, [5.0]);
        assert_eq!(clip(&[5.0, 6.0]).values, [5.0, 6.0]);
    }
}
