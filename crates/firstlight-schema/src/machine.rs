//! The machine a result belongs to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of the machine; `None` means it could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Machine {
    pub cpu: Option<String>,
    pub cores: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub kernel: Option<String>,
}
