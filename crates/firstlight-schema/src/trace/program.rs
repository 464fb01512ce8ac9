//! Compiled programs by their operators and their memory, and memory over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;

/// A program and its longest operators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramRow {
    /// `jit_step`; of torch a compiled region, or `eager` for what ran outside of all of them.
    pub module: String,
    pub program: Option<String>,
    /// All operators in sum, on all threads and devices.
    pub total_ns: Nanos,
    pub operators: Vec<OperatorRow>,
    /// What its compiler reserved for a run, where the recording has the program.
    #[serde(default)]
    pub memory: Option<ProgramMemory>,
    /// The most that the largest allocator had handed out inside a compiled region of torch; none where
    /// the recording does not show it.
    #[serde(default)]
    pub peak_bytes: Option<u64>,
}

/// Bytes that a compiled program takes on its device, as its compiler laid them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramMemory {
    pub arguments_bytes: u64,
    /// Results that lie in no argument: a donated argument holds its result itself.
    pub outputs_bytes: u64,
    pub constants_bytes: u64,
    /// In use only while the program runs.
    pub temporaries_bytes: u64,
}

impl ProgramMemory {
    pub fn total(self) -> u64 {
        let fixed = self.arguments_bytes.saturating_add(self.outputs_bytes);
        fixed.saturating_add(self.constants_bytes).saturating_add(self.temporaries_bytes)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OperatorRow {
    pub name: String,
    pub count: u64,
    /// Without the operators inside it.
    pub total_ns: Nanos,
    /// Of the program.
    pub share: f64,
}

/// Memory that an allocator had handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryRow {
    pub allocator: String,
    pub peak_bytes: u64,
    pub peak_at_ns: Nanos,
    /// The step that the peak is in; none outside of all steps.
    pub peak_step: Option<i64>,
    /// For drawing: the highest of each stretch.
    pub timeline: Vec<MemoryPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryPoint {
    pub at_ns: Nanos,
    pub bytes: u64,
}
