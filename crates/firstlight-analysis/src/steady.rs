//! Whether a process reached a steady state, and at which iteration.
//!
//! The series is cut at changes of level. The steady part is the longest run of segments at its end whose
//! means agree with the last one's: within one per cent, or within three standard errors of the difference,
//! each error widened by the autocorrelation time. (After Barrett et al., Virtual machine warmup blows hot
//! and cold, OOPSLA 2017.)
//!
//! Levels must agree both with and without outliers. Without outliers, a garbage collection does not hide a
//! plateau; with them, a part with more frequent collections is detected. The reported values include
//! outliers.
//!
//! A part that rises or falls throughout is not a level, even without change points. Nor is a level that
//! returns after another one: it oscillates, and its mean depends on the end of the window.

use std::ops::Range;

use firstlight_schema::window::{Segment, SteadyState};

use crate::stats::{
    MIN_SEGMENT, change_points_of_clipped, clip, count, mean, short, straightened,
    time_around_a_line, variance,
};

/// Means closer than this share of the level agree.
const TOLERANCE: f64 = 0.01;
/// Means closer than this many standard errors agree.
const ERRORS: f64 = 3.0;
/// The steady part must be at least this fraction of all values.
const PART: usize = 4;

/// A part is a slope if a line leaves less than this share of the variance.
const STRAIGHT: f64 = 0.5;
/// A slope matters if it changes the level by more than this share.
const STEEP: f64 = 0.1;

/// The segments of a series, in order and without gaps, and the start of its steady part. A series too short
/// to be cut has no segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    pub state: SteadyState,
    pub segments: Vec<Segment>,
    pub from: Option<usize>,
}

/// Cuts the durations of a process's iterations into segments and searches for a steady end.
pub fn steady(values: &[f64]) -> Steady {
    if values.len() < MIN_SEGMENT || !values.iter().all(|value| value.is_finite()) {
        return Steady { state: SteadyState::None, segments: Vec::new(), from: None };
    }
    let clipped = clip(values);
    let mut cuts = cuts(change_points_of_clipped(&clipped), values.len());
    let levels = Levels::new(values, &clipped.values, &cuts);
    let mut first = levels.first_steady();
    let before = first;
    let mut state = levels.state(first);
    // Slow values at the very start are outliers to the filter, but are probably a short warm-up.
    if first == 0 && clipped.slow_start > 0 {
        let begin = clipped.slow_start;
        cuts.retain(|cut| cut.end > begin);
        if let Some(next) = cuts.first_mut() {
            next.start = begin;
        }
        cuts.insert(0, 0..begin);
        (first, state) = (1, SteadyState::WarmUp);
    }
    let from = cuts[first].start;
    let part = values.len() - from;
    let settled = part >= MIN_SEGMENT
        && part * PART >= values.len()
        && !levels.returns(before)
        && !runs_away(&clipped.values[from..]);
    Steady {
        state: if settled { state } else { SteadyState::None },
        segments: cuts.iter().map(|cut| segment(values, cut)).collect(),
        from: settled.then_some(from),
    }
}

/// Whether a part is a slope rather than a level: a line over time explains most of its variance and moves it
/// by a considerable share. A gentle drift within the noise does not count.
fn runs_away(values: &[f64]) -> bool {
    let (Some(all), Some(left)) = (variance(values), variance(&straightened(values))) else {
        return false;
    };
    // The variance of a uniform slope is a twelfth of the square of its height.
    let height = (12.0 * (all - left).max(0.0)).sqrt();
    left < all * STRAIGHT && height > STEEP * mean(values).abs()
}

fn cuts(changes: Vec<usize>, n: usize) -> Vec<Range<usize>> {
    let ends: Vec<usize> = changes.iter().copied().chain([n]).collect();
    std::iter::once(0).chain(changes).zip(ends).map(|(from, to)| from..to).collect()
}

fn segment(values: &[f64], cut: &Range<usize>) -> Segment {
    let part = &values[cut.clone()];
    Segment {
        from: short(cut.start),
        to: short(cut.end),
        mean: mean(part),
        sd: variance(part).unwrap_or(0.0).sqrt(),
    }
}

/// The levels of the segments, with outliers and without.
struct Levels {
    raw: Vec<Level>,
    clipped: Vec<Level>,
}

impl Levels {
    fn new(values: &[f64], clipped: &[f64], cuts: &[Range<usize>]) -> Self {
        // A short segment does not show the correlation of its values.
        let longest = cuts.iter().max_by_key(|cut| cut.len()).cloned().unwrap_or_default();
        let time = time_around_a_line(&clipped[longest]);
        let levels = |values: &[f64]| {
            cuts.iter().map(|cut| Level::new(&values[cut.clone()], time)).collect()
        };
        Self { raw: levels(values), clipped: levels(clipped) }
    }

    /// The first segment of the longest run at the end that agrees with the last.
    fn first_steady(&self) -> usize {
        let last = self.raw.len() - 1;
        let agree = |i: &usize| {
            self.raw[*i].agrees(self.raw[last]) && self.clipped[*i].agrees(self.clipped[last])
        };
        (0..=last).rev().take_while(agree).last().unwrap_or(last)
    }

    /// Whether the last level occurred before, with another one in between.
    fn returns(&self, first: usize) -> bool {
        let last = self.raw.len() - 1;
        (0..first.saturating_sub(1)).any(|i| {
            self.raw[i].agrees(self.raw[last]) && self.clipped[i].agrees(self.clipped[last])
        })
    }

    fn state(&self, first: usize) -> SteadyState {
        let some_faster = |levels: &[Level]| {
            let last = levels[levels.len() - 1];
            levels[..first].iter().any(|level| level.mean < last.mean && !level.agrees(last))
        };
        if first == 0 {
            SteadyState::Flat
        } else if some_faster(&self.raw) || some_faster(&self.clipped) {
            SteadyState::SlowDown
        } else {
            SteadyState::WarmUp
        }
    }
}

#[derive(Clone, Copy)]
struct Level {
    mean: f64,
    variance: f64,
    /// The number of independent values in the segment.
    n: f64,
}

impl Level {
    fn new(values: &[f64], time: f64) -> Self {
        // A decay is not noise: it would make its own segment agree with any other.
        let variance = variance(&straightened(values)).unwrap_or(0.0);
        Self { mean: mean(values), variance, n: count(values.len()) / time }
    }

    fn agrees(self, other: Self) -> bool {
        // Values that happen to be close together must not define their own tolerance.
        let variance = self.variance.max(other.variance);
        let error = (variance / self.n + variance / other.n).sqrt();
        (self.mean - other.mean).abs() <= (TOLERANCE * other.mean.abs()).max(ERRORS * error)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise::Noise;

    /// Levels of the given lengths, with a correlated noise of one per cent.
    fn levels(seed: u64, parts: &[(usize, f64)]) -> Vec<f64> {
        let n = parts.iter().map(|(length, _)| length).sum();
        let mut values = Noise::new(seed).series(n, 1.0, 0.01, 0.5);
        let scale = parts.iter().flat_map(|(length, level)| std::iter::repeat_n(*level, *length));
        values.iter_mut().zip(scale).for_each(|(value, level)| *value *= level);
        values
    }

    /// The number of a hundred seeds for which this holds.
    fn often(parts: &[(usize, f64)], says: impl Fn(&Steady) -> bool) -> usize {
        (0..100).filter(|seed| says(&steady(&levels(*seed, parts)))).count()
    }

    #[test]
    fn a_flat_series_is_called_flat() {
        let flat = often(&[(300, 1e6)], |found| {
            found.state == SteadyState::Flat && found.from == Some(0) && found.segments.len() == 1
        });
        assert!(flat >= 98, "{flat}");
    }

    #[test]
    fn a_slow_plateau_first_is_a_warm_up() {
        let found = often(&[(60, 1.1e6), (240, 1e6)], |found| {
            found.state == SteadyState::WarmUp
                && found.from.is_some_and(|from| from.abs_diff(60) <= 3)
        });
        assert!(found >= 98, "{found}");
    }

    #[test]
    fn a_slower_end_is_a_slow_down() {
        let found = often(&[(150, 1e6), (150, 1.05e6)], |found| {
            found.state == SteadyState::SlowDown
                && found.from.is_some_and(|from| from.abs_diff(150) <= 10)
        });
        assert!(found >= 95, "{found}");
    }

    #[test]
    fn a_series_that_changes_near_its_end_has_no_steady_state() {
        let found = often(&[(260, 1e6), (40, 1.2e6)], |found| {
            found.state == SteadyState::None && found.from.is_none() && found.segments.len() == 2
        });
        assert!(found >= 95, "{found}");
    }

    #[test]
    fn levels_that_return_are_one_steady_part() {
        let found = often(&[(60, 2e6), (100, 1.004e6), (140, 1e6)], |found| {
            found.state == SteadyState::WarmUp && found.from == Some(60)
        });
        assert!(found >= 95, "{found}");
    }

    #[test]
    fn a_decay_is_a_warm_up_until_it_ends() {
        let settled = (0..100).filter(|seed| {
            let mut values = levels(*seed, &[(300, 1e6)]);
            let decay = (0..).map(|i| 1.0 + 0.5 * (-f64::from(i) / 10.0).exp());
            values.iter_mut().zip(decay).for_each(|(value, factor)| *value *= factor);
            let found = steady(&values);
            found.state == SteadyState::WarmUp && found.from.is_some_and(|from| from >= 20)
        });
        let settled = settled.count();
        assert!(settled >= 95, "{settled}");
    }

    #[test]
    fn a_series_that_grows_throughout_has_no_steady_state() {
        for growth in [1.1_f64, 1.03, 0.97] {
            let values: Vec<f64> = (0..60).map(|i| growth.powi(i)).collect();
            assert_eq!(steady(&values).state, SteadyState::None, "{growth}");
        }
    }

    #[test]
    fn a_program_with_two_modes_is_flat() {
        let flat = (0..100).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let mut values = noise.series(300, 1e6, 0.01, 0.3);
            noise.slow_some(&mut values, 0.3, 2.01);
            steady(&values).state == SteadyState::Flat
        });
        let flat = flat.count();
        assert!(flat >= 95, "{flat}");
    }

    #[test]
    fn a_slow_first_iteration_is_a_warm_up_of_one() {
        let mut values = levels(7, &[(100, 1e6)]);
        values[0] *= 30.0;
        let found = steady(&values);
        assert_eq!((found.state, found.from), (SteadyState::WarmUp, Some(1)));
        assert_eq!(found.segments.len(), 2);
    }

    #[test]
    fn occasional_slow_iterations_stay_in_the_means() {
        let mut values = levels(3, &[(200, 1e6)]);
        values[50] = 41e6;
        let found = steady(&values);
        assert_eq!(found.state, SteadyState::Flat);
        assert!((found.segments[0].mean / 1.2e6 - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn fewer_than_ten_values_have_no_steady_state() {
        for n in 0..10 {
            let found = steady(&levels(1, &[(n, 1e6)]));
            assert_eq!((found.state, found.from), (SteadyState::None, None));
        }
        assert_eq!(steady(&levels(1, &[(10, 1e6)])).state, SteadyState::Flat);
        assert_eq!(steady(&[f64::NAN; 20]).state, SteadyState::None);
    }

    #[test]
    fn the_segments_cover_the_series_without_gaps() {
        let values = levels(5, &[(50, 3e6), (70, 2e6), (180, 1e6)]);
        let segments = steady(&values).segments;
        assert_eq!((segments[0].from, segments.last().unwrap().to), (0, 300));
        assert!(segments.windows(2).all(|pair| pair[0].to == pair[1].from));
    }

    proptest! {
        #[test]
        fn any_series_is_cut_into_segments_that_tile_it(
            parts in prop::collection::vec((1..20_usize, 0.1..60.0_f64, 0.0..0.02_f64), 1..8),
            seed in 0..1000_u64,
        ) {
            let mut noise = Noise::new(seed);
            let values: Vec<f64> =
                parts.iter().flat_map(|&(n, level, sd)| noise.series(n, level, sd, 0.0)).collect();
            let found = steady(&values);
            let mut next = 0;
            for segment in &found.segments {
                prop_assert_eq!(segment.from, next);
                prop_assert!(segment.to > segment.from);
                next = segment.to;
            }
            prop_assert!(found.segments.is_empty() || next == short(values.len()));
            prop_assert!(found.from.is_none_or(|from| from < values.len()));
        }
    }

    #[test]
    fn a_slow_start_that_reaches_into_the_next_segment_is_handled() {
        let mut values = vec![8.0; 7];
        values.push(52.0);
        values.extend([1.0; 5]);
        values.extend([0.987; 24]);
        assert!(!steady(&values).segments.is_empty());
    }
}
