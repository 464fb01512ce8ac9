//! Raw readings in, results out. Pure: no file, no process, no clock, no randomness of its own.

pub mod control;
mod evidence;
pub mod examine;
pub mod health;
pub mod ledger;
mod memory;
pub mod notices;
mod programs;
pub mod stats;
pub mod summary;
mod timeline;
