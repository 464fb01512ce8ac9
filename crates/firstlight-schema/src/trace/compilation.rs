//! The compilations of a recording, and their causes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::part::PartTime;
use crate::nanos::Nanos;

/// A function that was traced, lowered or compiled, or read from a cache instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Compilation {
    pub function: String,
    /// The number of its step; absent outside all steps.
    pub step: Option<i64>,
    pub start_ns: Nanos,
    pub duration_ns: Nanos,
    pub parts: Vec<PartTime>,
    pub turn: Turn,
    pub served: Served,
    /// The program's number, or torch's compile id.
    pub program: Option<String>,
    /// The program that it replaces.
    pub previous: Option<String>,
    pub cause: Cause,
}

/// Whether the function had been compiled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Turn {
    First,
    Again,
    Unknown,
}

/// The origin of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Served {
    Compiler,
    DiskCache,
    Unknown,
}

/// The cause of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cause {
    pub kind: CauseKind,
    /// One line for people.
    pub text: String,
    pub changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CauseKind {
    FirstUse,
    Shape,
    Type,
    Rank,
    /// The compiled program uses another number of arguments; the text lists the remaining possible causes.
    ArgumentCount,
    /// The framework's own log gives the cause.
    Guard,
    /// The arguments that the program uses have the same types and shapes; the text lists the remaining
    /// possible causes.
    SameSignature,
    /// The same code under another function object: a closure, partial or lambda that was created again.
    NewFunction,
    /// An argument became or ceased to be of weak type.
    WeakType,
    /// A static argument, or the structure of the arguments.
    StaticArgument,
    /// A setting of the framework.
    Setting,
    ClearedCache,
    Unknown,
}

/// An argument that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Change {
    pub parameter: u32,
    pub name: Option<String>,
    pub before: String,
    pub after: String,
}

/// Dynamo left the graph: a function is compiled in parts, with Python between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GraphBreak {
    /// torch's compile id.
    pub compile_id: String,
    pub function: Option<String>,
    /// The source line: `train.py:63`
    pub place: String,
    /// Dynamo's explanation.
    pub reason: String,
}
