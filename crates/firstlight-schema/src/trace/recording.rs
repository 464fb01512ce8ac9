//! The metadata of a recording, and problems of its file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;

/// Metadata of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recording {
    /// The file that was read.
    pub file: String,
    pub format: TraceFormat,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
    pub events: u64,
    pub lines: u64,
    pub framework: Framework,
    /// By name: jax, jaxlib, cuda-driver, …
    pub versions: Vec<NamedVersion>,
    pub devices: Vec<String>,
    pub hosts: Vec<String>,
    /// Unknown if the format does not record it.
    pub tracer: Option<TracerLevels>,
    /// Whether Python frames were recorded: according to the levels, or because some are present.
    pub python_traced: bool,
    /// From the first event to the end of the last.
    pub span_ns: Nanos,
    /// The rules that interpret names of events.
    pub rules: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NamedVersion {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum TraceFormat {
    Xplane,
    /// PyTorch's.
    Kineto,
    /// Chrome JSON written by JAX's converter.
    JaxJson,
    /// Any other Chrome JSON.
    ChromeJson,
}

impl TraceFormat {
    pub fn name(self) -> &'static str {
        match self {
            Self::Xplane => "xplane",
            Self::Kineto => "Kineto JSON",
            Self::JaxJson => "JAX's Chrome JSON",
            Self::ChromeJson => "Chrome JSON",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Framework {
    Jax,
    Torch,
    Unknown,
}

impl Framework {
    pub fn name(self) -> &'static str {
        match self {
            Self::Jax => "JAX",
            Self::Torch => "PyTorch",
            Self::Unknown => "unknown",
        }
    }
}

/// The configured levels of JAX's profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TracerLevels {
    pub host: u32,
    pub device: u32,
    pub python: u32,
}

/// Something that a reader of the file should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Notice {
    pub name: NoticeName,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum NoticeName {
    /// The profiler itself reported this error.
    ErrorInFile,
    WarningInFile,
    /// The converter's cap on events was reached.
    EventCap,
    InvalidJson,
    Truncated,
    NegativeDuration,
    NoTime,
    /// Another file than the named one was read.
    XplaneInstead,
    OtherRuns,
    /// Steps were not marked in the program.
    StepsGuessed,
    /// Kernels of a CUDA graph cannot be assigned to operations.
    CudaGraphs,
    /// Steps on more than one thread.
    OtherThreads,
    /// There are no specific rules for this version of the framework.
    UnknownVersion,
}

impl NoticeName {
    pub fn name(self) -> &'static str {
        match self {
            Self::ErrorInFile => "error-in-file",
            Self::WarningInFile => "warning-in-file",
            Self::EventCap => "event-cap",
            Self::InvalidJson => "invalid-json",
            Self::Truncated => "truncated",
            Self::NegativeDuration => "negative-duration",
            Self::NoTime => "no-time",
            Self::XplaneInstead => "xplane-instead",
            Self::OtherRuns => "other-runs",
            Self::StepsGuessed => "steps-guessed",
            Self::CudaGraphs => "cuda-graphs",
            Self::OtherThreads => "other-threads",
            Self::UnknownVersion => "unknown-version",
        }
    }
}
