//! Statistics that hold up on few, skewed and contaminated values.

mod median;
mod signed_rank;

pub use median::median;
pub use signed_rank::paired_difference;

/// The confidence that intervals have at least.
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
