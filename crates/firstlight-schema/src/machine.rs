//! The machine of a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine; `None` means unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Machine {
    pub cpu: Option<String>,
    pub cores: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub kernel: Option<String>,
}
