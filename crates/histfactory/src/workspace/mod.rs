//! Workspaces in pyhf's format: channels of samples with modifiers, observations, measurements.

mod combine;
mod diagnose;
mod digest;
mod error;
mod json;
mod measurement;
mod modifier;
mod nearest;
mod patch;
mod patch_set;
mod select;
mod sharing;
mod validate;

use serde::{Deserialize, Serialize};

pub use combine::Join;
pub use digest::{Algorithm, digest};
pub use error::{Place, Problem, WorkspaceError};
pub use modifier::{Effect, Modifier, ModifierType};
pub use patch::Patch;
pub use patch_set::{PatchSet, PatchSetEntry, PatchSetMetadata};
pub use select::{Pruning, Renaming};

/// The version of the format for reading and writing.
pub const VERSION: &str = "1.0.0";

/// A HistFactory model with its observations and measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    pub channels: Vec<Channel>,
    pub measurements: Vec<Measurement>,
    pub observations: Vec<Observation>,
    pub version: String,
}

/// A region with its binned expectation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    pub name: String,
    pub samples: Vec<Sample>,
}

/// A process with its nominal yields per bin and its modifiers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub data: Vec<f64>,
    pub modifiers: Vec<Modifier>,
    pub name: String,
}

/// The counts of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    pub data: Vec<f64>,
    pub name: String,
}

/// A named parameter of interest with settings of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    pub config: MeasurementConfig,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasurementConfig {
    pub parameters: Vec<ParameterConfig>,
    /// The parameter of interest; an empty string for none.
    pub poi: String,
}

/// A measurement's settings of a parameter; the modifier determines the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auxdata: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Vec<[f64; 2]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inits: Option<Vec<f64>>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigmas: Option<Vec<f64>>,
}

/// Whether a parameter is fixed in fits: one flag for all its components, or one for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fixed {
    All(bool),
    Each(Vec<bool>),
}

impl Channel {
    /// The number of bins: that of the first sample.
    pub fn bins(&self) -> usize {
        self.samples.first().map_or(0, |sample| sample.data.len())
    }
}
