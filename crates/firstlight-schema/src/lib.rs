//! The contract: every document, file and message that another program reads or writes.
//!
//! This crate opens no file, starts no process and reads no clock.

pub mod cache;
pub mod comparison;
pub mod config;
pub mod conformance;
pub mod conversation;
pub mod diagnosis;
pub mod difference;
pub mod estimate;
pub mod exit_code;
pub mod finding;
pub mod gate;
pub mod health;
pub mod launch;
pub mod machine;
pub mod machine_state;
pub mod message;
pub mod nanos;
pub mod phase;
pub mod reading;
pub mod run;
pub mod sample;
pub mod site;
pub mod snapshot;
pub mod suite;
pub mod suite_trace;
pub mod summary;
pub mod times;
pub mod trace;
pub mod trace_comparison;
pub mod validation;
pub mod variables;
pub mod version;
pub mod warm;
pub mod window;
