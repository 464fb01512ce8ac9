//! `suite.toml`, checked once when it is read and trusted afterwards.

mod choice;
mod conversion;
mod defaults;
mod environment;
mod error;
mod file;
mod launch;
mod measure;
mod profile;
mod regime;
mod scalar;

pub use choice::Choice;
pub use conversion::{suite_as_json, suite_from_json};
pub use defaults::DEFAULTS;
pub use environment::{EnvironmentFile, ExtraFile, Provisioned};
pub use error::SuiteError;
pub(crate) use error::nearest;
pub use file::{ArmFile, CacheFile, CaseFile, Program, SamplingFile, SuiteFile, SweepPoint};
pub use launch::{HardwareKey, LaunchFile, SlurmFile};
pub use measure::{Agreement, ComparisonFile, SweepFile, Takes, WarmFile, WorkFile};
pub use profile::{PlantedFile, ProfileFile};
pub use regime::Regime;
pub use scalar::Scalar;
