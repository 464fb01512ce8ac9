//! Raw readings in, results out. Pure: no file, no process, no clock, no randomness except from given seeds.

mod agreement;
pub mod bisect;
mod break_even;
pub mod cheapest;
pub mod cluster;
mod collector;
pub mod compare;
pub mod conformance;
pub mod control;
pub mod diagnosis;
mod evidence;
pub mod examine;
pub mod frames;
pub mod gate;
pub mod health;
pub mod history;
pub mod import;
pub mod judge;
mod leaves;
pub mod ledger;
mod memory;
#[cfg(test)]
#[path = "../tests/noise/mod.rs"]
mod noise;
pub mod notices;
mod planted;
mod programs;
pub mod rebuild;
pub mod regime;
pub mod replication;
pub mod results;
pub mod rules;
pub mod shards;
pub mod stats;
pub mod steady;
pub mod stopping;
pub mod summary;
pub mod sweep;
mod timeline;
pub mod warm;
mod window;
mod withhold;
