//! Raw readings in, results out. Pure: no file, no process, no clock, no randomness of its own.

pub mod control;
mod evidence;
pub mod examine;
pub mod ledger;
mod memory;
#[cfg(test)]
#[path = "../tests/noise/mod.rs"]
mod noise;
pub mod notices;
mod programs;
pub mod stats;
pub mod steady;
pub mod summary;
mod timeline;
