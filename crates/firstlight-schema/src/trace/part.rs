//! The bucket and the part to which an instant of a step belongs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;

/// The bucket of an instant of a step; the first that applies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Bucket {
    Compile,
    Callback,
    Execute,
    Transfer,
    Dispatch,
    Wait,
    Host,
}

impl Bucket {
    pub const ALL: [Self; 7] = [
        Self::Compile,
        Self::Callback,
        Self::Execute,
        Self::Transfer,
        Self::Dispatch,
        Self::Wait,
        Self::Host,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Callback => "callback",
            Self::Execute => "execute",
            Self::Transfer => "transfer",
            Self::Dispatch => "dispatch",
            Self::Wait => "wait",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A part of a bucket.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Part {
    /// Kernels tried by the compiler.
    Autotune,
    /// Converting Python to the framework's own representation.
    Trace,
    /// Converting that representation to the compiler's input.
    Lower,
    /// The compiler.
    Compile,
    /// Host code called by a running program.
    Callback,
    /// The compiled program is running.
    Compiled,
    /// Kernels launched outside any compiled program.
    Eager,
    Transfer,
    /// Inside a call of a compiled function, before any of it runs.
    Call,
    /// torch: searching the compiled code that matches the arguments.
    Guards,
    /// torch: code before and after the compiled graph, in the compiled region.
    Prologue,
    /// The host waits for the device.
    Blocked,
    /// The host waits for a result to be copied from the device.
    Fetch,
    /// The host outside compiled calls: before the step's first call …
    Before,
    Between,
    After,
}

impl Part {
    pub const ALL: [Self; 16] = [
        Self::Autotune,
        Self::Trace,
        Self::Lower,
        Self::Compile,
        Self::Callback,
        Self::Compiled,
        Self::Eager,
        Self::Transfer,
        Self::Call,
        Self::Guards,
        Self::Prologue,
        Self::Blocked,
        Self::Fetch,
        Self::Before,
        Self::Between,
        Self::After,
    ];

    pub fn bucket(self) -> Bucket {
        match self {
            Self::Autotune | Self::Trace | Self::Lower | Self::Compile => Bucket::Compile,
            Self::Callback => Bucket::Callback,
            Self::Compiled | Self::Eager => Bucket::Execute,
            Self::Transfer => Bucket::Transfer,
            Self::Call | Self::Guards | Self::Prologue => Bucket::Dispatch,
            Self::Blocked | Self::Fetch => Bucket::Wait,
            Self::Before | Self::Between | Self::After => Bucket::Host,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Autotune => "autotune",
            Self::Trace => "trace",
            Self::Lower => "lower",
            Self::Compile => "compile",
            Self::Callback => "callback",
            Self::Compiled => "compiled",
            Self::Eager => "eager",
            Self::Transfer => "transfer",
            Self::Call => "call",
            Self::Guards => "guards",
            Self::Prologue => "prologue",
            Self::Blocked => "blocked",
            Self::Fetch => "fetch",
            Self::Before => "before",
            Self::Between => "between",
            Self::After => "after",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartTime {
    pub part: Part,
    pub ns: Nanos,
}
