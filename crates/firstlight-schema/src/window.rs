//! The measured window of a warm process: its levels, and whether it reached a steady state.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a process's iterations.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SteadyState {
    /// Steady from the first iteration on.
    Flat,
    /// Steady after slower iterations.
    WarmUp,
    /// Steady, but slower than some iterations before.
    SlowDown,
    /// The process never reached a steady state, or too late to measure.
    #[serde(rename = "no-steady-state")]
    None,
    /// Another tool took too few values to decide, and treated them as steady.
    Unknown,
}

impl SteadyState {
    pub const ALL: [Self; 5] =
        [Self::Flat, Self::WarmUp, Self::SlowDown, Self::None, Self::Unknown];

    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::WarmUp => "warm-up",
            Self::SlowDown => "slow-down",
            Self::None => "no-steady-state",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for SteadyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Iterations on one level, from a first number up to but not including a second. Durations are in
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segment {
    pub from: u32,
    pub to: u32,
    pub mean: f64,
    pub sd: f64,
}

#[cfg(test)]
mod tests {
    use super::SteadyState;

    #[test]
    fn a_state_has_the_same_name_in_text_and_in_json() {
        for state in SteadyState::ALL {
            let json = serde_json::to_string(&state).unwrap();
            assert_eq!(json, format!("\"{state}\""));
        }
    }
}
