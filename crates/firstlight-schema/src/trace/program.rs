//! Compiled programs by their operators and their memory, and memory over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;

/// A program and its longest operators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramRow {
    /// `jit_step`; for torch a compiled region, or `eager` for operators outside all of them.
    pub module: String,
    pub program: Option<String>,
    /// The sum of all operators, on all threads and devices.
    pub total_ns: Nanos,
    pub operators: Vec<OperatorRow>,
    /// The memory that its compiler reserved for a run, if the recording contains the program.
    #[serde(default)]
    pub memory: Option<ProgramMemory>,
    /// The peak of the largest allocator inside a compiled region of torch; absent if the recording does not
    /// show it.
    #[serde(default)]
    pub peak_bytes: Option<u64>,
}

/// The memory of a compiled program on its device, in bytes, as laid out by its compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramMemory {
    pub arguments_bytes: u64,
    /// Results outside all arguments: a donated argument holds its result itself.
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
    /// Excluding the operators inside it.
    pub total_ns: Nanos,
    /// The share of the program.
    pub share: f64,
}

/// Memory handed out by an allocator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryRow {
    pub allocator: String,
    pub peak_bytes: u64,
    pub peak_at_ns: Nanos,
    /// The step of the peak; absent outside all steps.
    pub peak_step: Option<i64>,
    /// For drawing: the highest point of each interval.
    pub timeline: Vec<MemoryPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryPoint {
    pub at_ns: Nanos,
    pub bytes: u64,
}
