//! The cheapest segmentation of a series: PELT with a normal cost.
//!
//! The segments minimise Σ L ln s² plus a penalty per change, where L is a segment's length and s² its
//! variance: twice the negative log likelihood of normal values. A candidate start of a segment is dropped
//! permanently once it is so far behind the best one that no later value can make up for it. (Killick,
//! Fearnhead and Eckley, JASA 107, 2012.)

use std::ops::Range;

use super::clip::Clipped;
use super::count;

/// The smallest number of values in a segment.
pub const MIN_SEGMENT: usize = 10;

/// The sums from which the cost of any segment is computed.
pub(super) struct Costs {
    /// Sums of the first i values and of their squares, around the median to keep the digits.
    sums: Vec<(f64, f64)>,
    floor: f64,
}

impl Costs {
    pub(super) fn new(series: &Clipped) -> Self {
        let running = series.values.iter().scan((0.0, 0.0), |(sum, squares), value| {
            let value = value - series.level;
            *sum += value;
            *squares += value * value;
            Some((*sum, *squares))
        });
        let sums = std::iter::once((0.0, 0.0)).chain(running).collect();
        Self { sums, floor: (series.floor * series.floor).max(f64::MIN_POSITIVE) }
    }

    pub(super) fn segment(&self, segment: Range<usize>) -> f64 {
        let length = count(segment.len());
        let (from, to) = (self.sums[segment.start], self.sums[segment.end]);
        let mean = (to.0 - from.0) / length;
        let variance = (to.1 - from.1) / length - mean * mean;
        length * variance.max(self.floor).ln()
    }
}

/// A place where a segment may end and the next begin, with the least cost of all values before it.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    /// The index of the place where the segment that ends here begins.
    previous: usize,
    cost: f64,
}

/// A possible start of the current segment.
struct Open {
    place: usize,
    /// The total cost up to the current end with this start.
    total: f64,
    /// The end from which on another start is always better.
    until: usize,
}

/// The best changes among multiples of the step.
pub(super) fn pelt(costs: &Costs, n: usize, step: usize, penalty: f64) -> Vec<usize> {
    let mut places = vec![Place { at: 0, previous: 0, cost: -penalty }];
    let mut open: Vec<Open> = Vec::new();
    let mut opened = 0;
    for end in (1..n).filter(|end| end.is_multiple_of(step)).chain([n]) {
        // A place becomes a candidate once a whole segment fits after it.
        while places.get(opened).is_some_and(|place| place.at + MIN_SEGMENT <= end) {
            open.push(Open { place: opened, total: 0.0, until: usize::MAX });
            opened += 1;
        }
        open.retain(|candidate| end < candidate.until);
        for candidate in &mut open {
            let place = places[candidate.place];
            candidate.total = place.cost + costs.segment(place.at..end);
        }
        let Some(best) = open.iter().min_by(|a, b| a.total.total_cmp(&b.total)) else { continue };
        let cost = best.total + penalty;
        places.push(Place { at: end, previous: best.place, cost });
        for candidate in open.iter_mut().filter(|candidate| candidate.total > cost) {
            // This end is the better start, as soon as a segment fits after it.
            candidate.until = candidate.until.min(end + MIN_SEGMENT);
        }
    }
    trace_back(&places)
}

fn trace_back(places: &[Place]) -> Vec<usize> {
    let mut changes = Vec::new();
    let mut i = places.last().map_or(0, |last| last.previous);
    while i > 0 {
        changes.push(places[i].at);
        i = places[i].previous;
    }
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::stats::clip::clip;

    /// The same without pruning.
    fn exhaustive(costs: &Costs, n: usize, penalty: f64) -> Vec<usize> {
        let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; n + 1];
        for end in MIN_SEGMENT..=n {
            let mut found = (costs.segment(0..end), Vec::new());
            for (from, before) in best.iter().enumerate().take(end + 1 - MIN_SEGMENT) {
                let Some((cost, changes)) = before else { continue };
                let cost = cost + penalty + costs.segment(from..end);
                if cost < found.0 {
                    found = (cost, [&changes[..], &[from]].concat());
                }
            }
            best[end] = Some(found);
        }
        best[n].take().map_or(Vec::new(), |(_, changes)| changes)
    }

    #[test]
    fn pruning_does_not_change_the_result() {
        for seed in 0..60 {
            let mut noise = Noise::new(seed);
            let values: Vec<f64> = [5, 30, 12, 40, 9, 25, 18]
                .into_iter()
                .flat_map(|n| {
                    let level = 1_000.0 + 40.0 * noise.normal();
                    noise.series(n, level, 0.01, 0.3)
                })
                .collect();
            let costs = Costs::new(&clip(&values));
            for penalty in [5.0, 20.0, 80.0] {
                let found = pelt(&costs, values.len(), 1, penalty);
                assert_eq!(found, exhaustive(&costs, values.len(), penalty), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_cost_matches_the_formula() {
        let values: Vec<f64> = Noise::new(1).series(100, 1e9, 0.02, 0.0);
        let costs = Costs::new(&clip(&values));
        let part = &values[20..50];
        let mean = part.iter().sum::<f64>() / 30.0;
        let variance = part.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 30.0;
        assert!((costs.segment(20..50) / (30.0 * variance.ln()) - 1.0).abs() < 1e-9);
    }
}
