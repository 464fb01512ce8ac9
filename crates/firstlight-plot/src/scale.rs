//! Maps values to places between 0 and 1, and chooses round ticks: 1, 2 or 5 times a power of ten.

/// If the ratio of the largest value to the smallest is larger, the scale is logarithmic.
const WIDE: f64 = 4.0;
const LOGARITHMIC_STEPS: [f64; 3] = [1.0, 2.0, 5.0];
/// Fewer ticks do not show that an axis is logarithmic.
const FEWEST_TICKS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    logarithmic: bool,
}

impl Scale {
    /// Over all values, with a small margin at both ends; `None` if there are none.
    pub fn over(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = range(values)?;
        if low > 0.0 && high / low > WIDE {
            return Some(Self::logarithmic(low, high));
        }
        let room = match high - low {
            0.0 => (low.abs() * 0.05).max(1e-9),
            width => width * 0.04,
        };
        let low = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
        Some(Self { low, high: high + room, logarithmic: false })
    }

    /// The same on a logarithmic scale, whatever the range.
    pub fn over_ratios(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = range(values.filter(|value| *value > 0.0))?;
        Some(Self::logarithmic(low, high))
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let room = (high / low).powf(0.04).max(1.002);
        Self { low: low / room, high: high * room, logarithmic: true }
    }

    /// From zero to the largest value, with a small margin above.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = range(values.chain(std::iter::once(0.0)))?;
        let room = if high > low { (high - low) * 0.04 } else { 1.0 };
        let low = if low < 0.0 { low - room } else { 0.0 };
        Some(Self { low, high: high + room, logarithmic: false })
    }

    /// Whether a value lies within the range.
    pub fn covers(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Exactly from one value to another.
    pub fn exact(low: f64, high: f64, logarithmic: bool) -> Self {
        Self { low, high, logarithmic }
    }

    pub fn at(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The value at a place.
    pub fn value(&self, place: f64) -> f64 {
        if self.logarithmic {
            self.low * (self.high / self.low).powf(place)
        } else {
            self.low + place * (self.high - self.low)
        }
    }

    /// At most this many round values.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if self.is_logarithmic() {
            for factors in [&LOGARITHMIC_STEPS[..1], &LOGARITHMIC_STEPS[..]] {
                let ticks = thin(self.round(factors), most);
                if ticks.len() >= FEWEST_TICKS.min(most) {
                    return ticks;
                }
            }
        }
        let mut step = 10_f64.powf(((self.high - self.low) / real(most)).log10().floor());
        let fits = |step: f64| ((self.high / step).floor() - (self.low / step).ceil()) < real(most);
        for factor in [1.0, 2.0, 5.0, 10.0, 20.0] {
            if fits(step * factor) {
                step *= factor;
                break;
            }
        }
        let first = (self.low / step).ceil();
        (0..most)
            .map(|n| (first + real(n)) * step)
            .take_while(|value| *value <= self.high)
            .collect()
    }

    /// Whether ticks are powers of ten; a narrow range has too few of them.
    fn is_logarithmic(&self) -> bool {
        self.logarithmic && self.high / self.low > WIDE
    }

    /// Powers of ten times these factors.
    fn round(&self, factors: &[f64]) -> Vec<f64> {
        let mut decade = 10_f64.powf(self.low.log10().floor());
        let mut values = Vec::new();
        while decade <= self.high {
            values.extend(factors.iter().map(|factor| factor * decade));
            decade *= 10.0;
        }
        values.retain(|value| (self.low..=self.high).contains(value));
        values
    }

    /// Durations as ticks, with as few digits as distinguish them.
    pub fn durations(&self, most: usize) -> Vec<(f64, String)> {
        let ticks = self.ticks(most);
        let apart = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        // Values that differ by factors need no further digits.
        let factors = ticks.windows(2).all(|pair| pair[1] >= 1.9 * pair[0]);
        let step = if factors { f64::INFINITY } else { apart };
        ticks.into_iter().map(|value| (value, tick(value, step))).collect()
    }

    /// Plain numbers as ticks.
    pub fn numbers(&self, most: usize) -> Vec<(f64, String)> {
        self.ticks(most).into_iter().map(|value| (value, number(value))).collect()
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// Every second, third, … of them.
fn thin(values: Vec<f64>, most: usize) -> Vec<f64> {
    let every = values.len().div_ceil(most.max(1)).max(1);
    values.into_iter().step_by(every).collect()
}

fn tick(ns: f64, step: f64) -> String {
    let (unit, name) = match ns.abs() {
        size if size < 999.5 => (1.0, "ns"),
        size if size < 999.5e3 => (1e3, "µs"),
        size if size < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let step = if step.is_finite() { step.min(ns.abs()) } else { ns.abs() };
    let digits = if step > 0.0 { (unit / step).log10().ceil().clamp(0.0, 6.0) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 6")]
    let digits = digits as usize;
    let value = format!("{:.digits$}", ns / unit);
    format!("{} {name}", grouped(&value))
}

/// A thousands separator from five digits on, as in 10,000 s.
pub fn grouped(value: &str) -> String {
    let (whole, rest) = value.split_at(value.find('.').unwrap_or(value.len()));
    if whole.trim_start_matches('-').len() < 5 {
        return value.to_owned();
    }
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if left % 3 == 0 && index > 0 && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// A number without unnecessary digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{}G", trimmed(value / 1e9)),
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        size if size >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "few things are counted in a picture")]
pub fn real(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Scale;

    #[test]
    fn ticks_are_round_and_their_labels_differ() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            let scale = Scale::over([low, high].into_iter()).unwrap();
            scale.durations(5).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(1.9e9, 2.2e9), ["1.9 s", "2.0 s", "2.1 s", "2.2 s"]);
        assert_eq!(
            labels(1.0001e6, 1.0004e6),
            ["1.0001 ms", "1.0002 ms", "1.0003 ms", "1.0004 ms"]
        );
        assert_eq!(labels(1e3, 1e9), ["1 µs", "100 µs", "10 ms", "1 s"]);
        assert_eq!(labels(2.2e8, 1.5e10), ["200 ms", "1 s", "5 s"], "not 1 s and 10 s alone");
        assert_eq!(labels(1e9, 1e13), ["1 s", "10 s", "100 s", "1000 s", "10,000 s"]);
    }

    #[test]
    fn nothing_and_one_value_are_handled() {
        assert_eq!(Scale::over(std::iter::empty()), None);
        let one = Scale::over(std::iter::once(5.0)).unwrap();
        assert!((one.at(5.0) - 0.5).abs() < 1e-9);
        let zero = Scale::over(std::iter::once(0.0)).unwrap();
        assert!(zero.at(0.0).is_finite() && zero.ticks(4).len() <= 4);
    }

    proptest! {
        #[test]
        fn places_and_ticks_stay_inside(low in 0.0..1e12_f64, width in 0.0..1e12_f64, most in 2..8_usize) {
            let scale = Scale::over([low, low + width].into_iter()).unwrap();
            for value in [low, low + width / 3.0, low + width] {
                prop_assert!((0.0..=1.0).contains(&scale.at(value)));
            }
            let ticks = scale.ticks(most);
            prop_assert!(ticks.len() <= most);
            prop_assert!(ticks.iter().all(|tick| (scale.low..=scale.high).contains(tick)));
        }
    }
}
