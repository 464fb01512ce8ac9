//! The effects: starts and observes processes, keeps caches in their declared state, makes environments,
//! writes files. Computes nothing from what it observes.

pub mod cache;
mod clock;
pub mod doctor;
mod error;
pub mod folders;
pub mod git;
pub mod helper;
pub mod interrupt;
pub mod machine;
pub mod packing;
pub mod privacy;
pub mod process;
pub mod provision;
pub mod python;
pub mod recording;
pub mod sampling;
pub mod secrets;
pub mod snapshot;
pub mod store;
pub mod suites;
mod writing;

pub use error::EngineError;
