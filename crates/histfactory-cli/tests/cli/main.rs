//! Tests of histfactory through its command line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod notes;
mod rearranging;
mod refusals;
mod schemas;
mod shards;
mod slurm;
mod support;
