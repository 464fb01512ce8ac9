//! The conditions under which an arm is measured.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::Policy;

/// The condition under which an arm is measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Regime {
    /// A fresh process; compiler caches are off or empty, as the environment configures them.
    ColdClean,
    /// A fresh process, compiler caches filled by an unmeasured run.
    ColdPrimed,
    /// The same process in a steady state, after all compilation.
    Warm,
    /// A fresh process that another tool timed as a whole, with unknown caches. Suites cannot request it.
    Fresh,
}

impl Regime {
    pub const ALL: [Self; 4] = [Self::ColdClean, Self::ColdPrimed, Self::Warm, Self::Fresh];

    pub fn name(self) -> &'static str {
        match self {
            Self::ColdClean => "cold-clean",
            Self::ColdPrimed => "cold-primed",
            Self::Warm => "warm",
            Self::Fresh => "fresh",
        }
    }

    pub fn is_cold(self) -> bool {
        match self {
            Self::ColdClean | Self::ColdPrimed | Self::Fresh => true,
            Self::Warm => false,
        }
    }

    pub fn compilers(self) -> Policy {
        match self {
            // Every warm process compiles separately, so differences between compilations are part of the
            // differences between processes.
            Self::ColdClean | Self::Warm => Policy::AsConfigured,
            Self::ColdPrimed => Policy::Primed,
            Self::Fresh => Policy::AsFound,
        }
    }
}

impl FromStr for Regime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|regime| regime.name() == text)
            .ok_or_else(|| "not one of cold-clean, cold-primed, warm, fresh".to_owned())
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
