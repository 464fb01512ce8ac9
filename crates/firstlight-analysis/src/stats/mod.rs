//! Statistics that are robust for few, skewed and contaminated values.

mod autocorrelation;
mod block_bootstrap;
mod change_points;
mod clip;
mod components;
mod drift;
mod exponent;
mod holm;
pub mod limits;
mod line;
mod log_mean;
mod median;
mod moments;
mod nodes;
mod pelt;
mod plain_mean;
mod rare_kinds;
mod ratio;
mod rough;
mod signed_rank;
pub(crate) mod student;
mod tail;

pub use autocorrelation::autocorrelation_time;
pub(crate) use autocorrelation::{straightened, time_around_a_line};
pub use block_bootstrap::block_bootstrap;
pub use change_points::change_points;
pub(crate) use change_points::change_points_of_clipped;
pub(crate) use clip::clip;
pub use components::{Components, SteadyPart};
pub use drift::{Drift, drift};
pub use exponent::exponent;
pub use holm::holm;
pub use line::{Line, line, line_by_rounds};
pub use log_mean::log_mean;
pub use median::median;
pub(crate) use moments::{mean, variance};
pub use nodes::{ByNode, NodeMean, Outlier};
pub use pelt::MIN_SEGMENT;
pub use plain_mean::plain_mean;
pub(crate) use ratio::log_ratios;
pub use ratio::{LogError, Ratio, robust};
pub use signed_rank::paired_difference;
pub use tail::{QuantileBound, TooFew, quantile_bound};

/// The confidence of all intervals, as a lower limit.
pub const CONFIDENCE: f64 = 0.95;

/// The middle of the values, or the mean of the two in the middle; they must be sorted.
pub(crate) fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[half - 1], sorted[half])
    } else {
        sorted[half]
    }
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

/// A count in the type that documents use.
pub(crate) fn short(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
