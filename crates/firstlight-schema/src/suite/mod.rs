//! `suite.toml`: what an author writes, checked once and trusted after.

mod error;
mod file;
mod scalar;

pub use error::SuiteError;
pub use file::{
    ArmFile, CacheFile, CaseFile, EnvironmentFile, Program, Provisioned, Regime, SamplingFile,
    SuiteFile,
};
pub use scalar::Scalar;
