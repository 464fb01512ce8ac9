//! Every value as a point on one line, and the median's interval below it.

use firstlight_schema::estimate::Estimate;

/// Two lines of `cells` cells; `None` for fewer than two values.
pub(crate) fn strip(values: &[f64], median: &Estimate, cells: usize) -> Option<[String; 2]> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    if values.len() < 2 || high <= low || cells < 8 {
        return None;
    }
    let place = |value: f64| place(value, low, high, cells);
    let mut counts = vec![0_usize; cells];
    for &value in values {
        counts[place(value)] += 1;
    }
    let points = counts.iter().map(|count| match count {
        0 => ' ',
        1 => '·',
        2 => '•',
        _ => '●',
    });
    let mut marks = vec![' '; cells];
    if let Some(interval) = &median.interval {
        let (from, to) = (place(interval.low), place(interval.high));
        marks[from..=to].fill('─');
        marks[from] = '└';
        marks[to] = '┘';
    }
    marks[place(median.point)] = '┴';
    Some([points.collect(), marks.into_iter().collect()])
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place on a line of few cells"
)]
fn place(value: f64, low: f64, high: f64, cells: usize) -> usize {
    let last = (cells - 1) as f64;
    ((value - low) / (high - low) * last).round().clamp(0.0, last) as usize
}

#[cfg(test)]
mod tests {
    use firstlight_schema::estimate::{Estimate, Interval, Method};

    use super::strip;

    fn median(point: f64, low: f64, high: f64) -> Estimate {
        let interval = Some(Interval { low, high, confidence: 0.95 });
        Estimate { point, interval, n: 6, method: Method::OrderStatisticMedian }
    }

    #[test]
    fn points_are_at_their_values_with_the_interval_below() {
        let values = [0.0, 1.0, 1.0, 2.0, 3.0, 10.0];
        let [points, marks] = strip(&values, &median(1.5, 0.0, 10.0), 11).unwrap();
        assert_eq!(points, "·•··      ·");
        assert_eq!(marks, "└─┴───────┘");
    }

    #[test]
    fn equal_values_have_no_line() {
        assert_eq!(strip(&[1.0, 1.0], &median(1.0, 1.0, 1.0), 20), None);
        assert_eq!(strip(&[], &median(1.0, 1.0, 1.0), 20), None);
    }
}
