//! The distribution of the calls of the steady parts: counted in columns, so that any number of calls gives a
//! curve that is exact to a pixel.

use super::series::{Series, WarmArm};

/// The number of columns of the curve.
pub const BINS: usize = 400;
/// If the ratio of the longest call to the shortest is larger, columns are logarithmic.
const WIDE: f64 = 4.0;

#[derive(Debug)]
pub struct Distribution<'a> {
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
    /// Each arm with its number of calls, and the number at or below the end of each column.
    pub arms: Vec<(&'a str, usize, Vec<usize>)>,
}

impl<'a> Distribution<'a> {
    /// `None` if no process has a steady part, or all calls took the same time.
    pub(super) fn new(arms: &[WarmArm<'a>]) -> Option<Self> {
        let all = || arms.iter().flat_map(|arm| &arm.processes).flat_map(Series::steady_calls);
        let (low, high) =
            all().fold((f64::INFINITY, 0.0_f64), |(l, h), value| (l.min(value), h.max(value)));
        if low.partial_cmp(&high) != Some(std::cmp::Ordering::Less) {
            return None;
        }
        let logarithmic = low > 0.0 && high / low > WIDE;
        let mut made = Self { low, high, logarithmic, arms: Vec::new() };
        for arm in arms {
            let mut counts = vec![0_usize; BINS];
            for value in arm.processes.iter().flat_map(Series::steady_calls) {
                counts[made.bin(value)] += 1;
            }
            let calls: usize = counts.iter().sum();
            let mut below = 0;
            for count in &mut counts {
                below += *count;
                *count = below;
            }
            if calls > 0 {
                made.arms.push((arm.arm, calls, counts));
            }
        }
        Some(made)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a column of few"
    )]
    fn bin(&self, value: f64) -> usize {
        let share = if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        ((share * BINS as f64) as usize).min(BINS - 1)
    }
}
