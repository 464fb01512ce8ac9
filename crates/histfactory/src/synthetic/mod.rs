//! Workspaces generated from a seed: twins of published ones, and arbitrary ones for tests.
//!
//! Generation only uses additions, multiplications, divisions and roots of random bits, so a seed gives the
//! same numbers on every platform.

mod analyses;
mod any;
mod dice;
mod systematics;
mod twin;

pub use analyses::combination_of_analyses;
pub use any::{Limits, any};
pub use twin::Twin;
