//! `suite.toml`: what an author writes, checked once and trusted after.

mod choice;
mod error;
mod file;
mod measure;
mod regime;
mod scalar;

pub use choice::Choice;
pub use error::SuiteError;
pub use file::{
    ArmFile, CacheFile, CaseFile, EnvironmentFile, Program, Provisioned, SamplingFile, SuiteFile,
    SweepPoint,
};
pub use measure::{Agreement, ComparisonFile, SweepFile, WarmFile, WorkFile};
pub use regime::Regime;
pub use scalar::Scalar;
