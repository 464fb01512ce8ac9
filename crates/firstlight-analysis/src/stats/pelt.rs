//! The cheapest segmentation of a series: PELT with a normal cost.
//!
//! The segments minimise Σ L ln s² plus a penalty per change, where L is a segment's length and s²
//! its variance: twice the negative log likelihood of normal values. A place at which a segment
//! might begin is dropped for good once it is so far behind the best that no later value can bring
//! it back. (Killick, Fearnhead and Eckley, JASA 107, 2012.)
//!
//! A level without changes drops no place, so every end is compared with all places before it. They are first
//! priced with a rough logarithm, in lanes that the processor can take at once. Only places that the rough
//! price cannot tell from the best one, or from the limit for dropping, are priced exactly, so every decision
//! is the exact one.

use std::ops::Range;

use super::clip::Clipped;
use super::count;
use super::rough;

/// The smallest number of values in a segment.
pub const MIN_SEGMENT: usize = 10;

/// The sums from which the cost of any segment is computed.
pub(super) struct Costs {
    /// Sums of the first i values and of their squares, around the median to keep the digits.
    sums: Vec<(f64, f64)>,
    floor: f64,
    /// Whether all sums are finite; rough prices of others mean nothing.
    finite: bool,
}

impl Costs {
    pub(super) fn new(series: &Clipped) -> Self {
        let running = series.values.iter().scan((0.0, 0.0), |(sum, squares), value| {
            let value = value - series.level;
            *sum += value;
            *squares += value * value;
            Some((*sum, *squares))
        });
        let sums: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(running).collect();
        let finite = sums.iter().all(|(sum, squares)| sum.is_finite() && squares.is_finite());
        let floor = (series.floor * series.floor).max(f64::MIN_POSITIVE);
        Self { sums, floor, finite: finite && floor.is_finite() }
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

/// The places that the current segment may have begun at, in columns.
#[derive(Default)]
struct Open {
    places: Vec<usize>,
    /// From which end on another place is always better.
    until: Vec<usize>,
    /// The least of them.
    next: usize,
    /// Where the place is, and the sums up to it.
    at: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// The cost of all before the place.
    before: Vec<f64>,
    /// The largest size that such a cost ever had.
    largest: f64,
    /// The approximate cost of everything up to the current end, if the last segment begins there.
    prices: Vec<f64>,
}

impl Open {
    fn push(&mut self, index: usize, place: Place, costs: &Costs) {
        let (sum, squares) = costs.sums[place.at];
        self.places.push(index);
        self.until.push(usize::MAX);
        self.at.push(count(place.at));
        self.sums.push(sum);
        self.squares.push(squares);
        self.before.push(place.cost);
        self.largest = self.largest.max(place.cost.abs());
        self.prices.push(0.0);
    }

    /// Drops the places that are worse from this end on.
    fn retain(&mut self, end: usize) {
        if end < self.next {
            return;
        }
        let mut kept = 0;
        for i in (0..self.places.len()).filter(|&i| end < self.until[i]).collect::<Vec<_>>() {
            self.places[kept] = self.places[i];
            self.until[kept] = self.until[i];
            self.at[kept] = self.at[i];
            self.sums[kept] = self.sums[i];
            self.squares[kept] = self.squares[i];
            self.before[kept] = self.before[i];
            kept += 1;
        }
        self.places.truncate(kept);
        self.until.truncate(kept);
        for column in
            [&mut self.at, &mut self.sums, &mut self.squares, &mut self.before, &mut self.prices]
        {
            column.truncate(kept);
        }
        self.next = self.until.iter().copied().min().unwrap_or(usize::MAX);
    }

    /// Prices all places roughly; by how much each price may be wrong at most.
    fn price(&mut self, costs: &Costs, end: usize) -> f64 {
        let (sum, squares) = costs.sums[end];
        let (floor, largest) = (costs.floor, self.largest);
        let end = rough::End { at: count(end), sum, squares, floor, largest };
        let columns = (&self.at[..], &self.sums[..], &self.squares[..], &self.before[..]);
        rough::prices(&end, columns, &mut self.prices)
    }

    /// The exact price of the place in this row.
    fn exact(&self, row: usize, places: &[Place], costs: &Costs, end: usize) -> f64 {
        let place = places[self.places[row]];
        place.cost + costs.segment(place.at..end)
    }

    /// The first row with the lowest exact price, and that price.
    fn best(
        &self,
        places: &[Place],
        costs: &Costs,
        end: usize,
        slack: f64,
    ) -> Option<(usize, f64)> {
        let least = rough::least(&self.prices);
        let rows = rough::up_to(&self.prices, least + 2.0 * slack);
        let priced = rows.map(|row| (row, self.exact(row, places, costs, end)));
        priced.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// This end is a better beginning than places that cost more, as soon as a segment fits behind it.
    fn mark(&mut self, places: &[Place], costs: &Costs, end: usize, cost: f64, slack: f64) {
        let doubtful: Vec<usize> = rough::above(&self.prices, cost - slack).collect();
        for row in doubtful {
            let clear = self.prices[row] > cost + slack;
            if clear || self.exact(row, places, costs, end) > cost {
                self.until[row] = self.until[row].min(end + MIN_SEGMENT);
                self.next = self.next.min(self.until[row]);
            }
        }
    }
}

/// The best changes among multiples of the step.
pub(super) fn pelt(costs: &Costs, n: usize, step: usize, penalty: f64) -> Vec<usize> {
    let mut places = vec![Place { at: 0, previous: 0, cost: -penalty }];
    let mut open = Open { next: usize::MAX, ..Open::default() };
    let mut opened = 0;
    for end in (1..n).filter(|end| end.is_multiple_of(step)).chain([n]) {
        // A place opens once a whole segment fits behind it.
        while let Some(&place) = places.get(opened).filter(|place| place.at + MIN_SEGMENT <= end) {
            open.push(opened, place, costs);
            opened += 1;
        }
        open.retain(end);
        let slack = if costs.finite { open.price(costs, end) } else { f64::INFINITY };
        let Some((row, total)) = open.best(&places, costs, end, slack) else { continue };
        let cost = total + penalty;
        places.push(Place { at: end, previous: open.places[row], cost });
        open.mark(&places, costs, end, cost, slack);
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

    /// The same with every place priced exactly.
    fn exact(costs: &Costs, n: usize, step: usize, penalty: f64) -> Vec<usize> {
        let sums = costs.sums.clone();
        pelt(&Costs { sums, finite: false, ..*costs }, n, step, penalty)
    }

    #[test]
    fn rough_prices_do_not_change_the_result() {
        for seed in 0..40 {
            let mut noise = Noise::new(seed);
            let mut series = Vec::new();
            for n in [3, 90, 11, 260, 10, 47, 400] {
                let level = 10.0_f64.powf(3.0 * noise.normal());
                series.extend(noise.series(n, level, 0.01, 0.5));
            }
            let ticks = series.iter().map(|value| (value / 7.0).round() * 7.0).collect();
            let flat = noise.series(700, 1e6, 0.02, 0.0);
            for values in [series, ticks, flat, vec![3.0; 90], [1e200, 1.0].repeat(40)] {
                let costs = Costs::new(&clip(&values));
                for (step, penalty) in [(1, 5.0), (1, 90.0), (3, 40.0)] {
                    let (n, rough) = (values.len(), pelt(&costs, values.len(), step, penalty));
                    assert_eq!(rough, exact(&costs, n, step, penalty), "seed {seed}");
                }
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
