//! A range of values on a stretch of the picture, and the round values in it.

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Axis {
    /// From zero, or below where values are.
    Plain,
    /// Logarithmic, both ways.
    Ratios,
}

/// From the least to the greatest value, with a little room.
pub(super) struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
}

impl Scale {
    pub(super) fn over(axis: Axis, values: &[f64]) -> Option<Self> {
        let kept = values.iter().copied().filter(|value| match axis {
            Axis::Plain => value.is_finite(),
            Axis::Ratios => value.is_finite() && *value > 0.0,
        });
        let (low, high) = kept.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return None;
        }
        let (low, high) = match axis {
            Axis::Plain => (low.min(0.0), high.max(0.0)),
            Axis::Ratios => (low.log10(), high.log10()),
        };
        let room = if high > low { (high - low) * 0.04 } else { 1.0 };
        Some(Self { axis, low: low - room, high: high + room })
    }

    /// From 0 to 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = match self.axis {
            Axis::Plain => value,
            Axis::Ratios => value.max(f64::MIN_POSITIVE).log10(),
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round times within the range, in nanoseconds: powers of ten up to ten seconds, then minutes
    /// and hours.
    pub(super) fn time_ticks(&self) -> Vec<f64> {
        const MINUTE: f64 = 60e9;
        const MINUTES: [f64; 6] = [1.0, 10.0, 60.0, 600.0, 6e3, 6e4];
        if self.high - self.low < 1.5 {
            return self.ticks();
        }
        let short = (0..=10).map(|decade| 10f64.powi(decade));
        let all = short.chain(MINUTES.map(|minutes| minutes * MINUTE));
        all.filter(|value| (self.low..=self.high).contains(&value.log10())).collect()
    }

    /// Round values within the range.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.axis {
            Axis::Ratios => {
                let decades = self.high - self.low;
                let steps: &[f64] = if decades < 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let all = (-3..=15)
                    .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
                all.filter(|value| (self.low..=self.high).contains(&value.log10())).collect()
            }
            Axis::Plain => {
                let rough = (self.high - self.low) / 5.0;
                let decade = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0]
                    .map(|step| step * decade)
                    .into_iter()
                    .find(|step| *step >= rough)
                    .unwrap_or(decade);
                let first = (self.low / step).ceil();
                (0..12)
                    .map(|at| (first + f64::from(at)) * step)
                    .filter(|value| *value <= self.high)
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Scale};

    #[test]
    fn values_below_zero_have_their_place_on_a_plain_axis() {
        let scale = Scale::over(Axis::Plain, &[-5.0, 20.0]).unwrap();
        assert!(scale.at(-5.0) < scale.at(0.0) && scale.at(0.0) < scale.at(20.0));
        assert!(scale.ticks().contains(&0.0));
    }
}
