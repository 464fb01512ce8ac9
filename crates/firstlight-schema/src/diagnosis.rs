//! A diagnosis: the largest parts of a start, each line with its number, its share and a remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// One line of a diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Diagnosis {
    pub finding: Finding,
    /// Such as `jit(step) compiled twice`.
    pub what: String,
    /// The mean per process.
    pub cost_ns: f64,
    /// The share of the whole ledger, from 0 to 1.
    pub share: f64,
    /// The cause, if known: `argument x changed from f32[64] to f32[48]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The remedy, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}
