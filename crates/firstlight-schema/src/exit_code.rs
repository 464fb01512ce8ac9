//! The exit codes of every command. Each has one meaning and is part of the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The exit code of a command. "Regressed" and "inconclusive" never share a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Exit {
    Ok,
    /// An internal error.
    Unexpected,
    /// Wrong arguments, a missing program, a suite that cannot be read, an environment that cannot be
    /// created.
    Usage,
    GateFailed,
    Inconclusive,
    /// A measured process failed, or no sample was valid.
    RunnerFailed,
    VerificationFailed,
    /// Interrupted by Ctrl-C or SIGTERM; samples measured so far are on disk.
    Interrupted,
}

impl Exit {
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::Unexpected,
        Self::Usage,
        Self::GateFailed,
        Self::Inconclusive,
        Self::RunnerFailed,
        Self::VerificationFailed,
        Self::Interrupted,
    ];

    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::GateFailed => 3,
            Self::Inconclusive => 4,
            Self::RunnerFailed => 5,
            Self::VerificationFailed => 6,
            Self::Interrupted => 130,
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unexpected => "unexpected error",
            Self::Usage => "usage or set-up: wrong arguments, a missing program, a bad suite",
            Self::GateFailed => "gate failed",
            Self::Inconclusive => "inconclusive",
            Self::RunnerFailed => "a measured process failed, or no sample was valid",
            Self::VerificationFailed => "verification failed",
            Self::Interrupted => "interrupted; the samples taken so far are on disk",
        }
    }
}
