//! firstlight through its command line: real processes with planted faults.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../campaign/mod.rs"]
mod campaign;
mod children;
mod cold;
mod config;
mod conformance;
mod doctor;
mod exchange;
mod faults;
mod gate;
mod help;
mod hooks;
mod hostile;
mod impossible;
mod interrupt;
mod merge;
mod namespaces;
mod one_result;
mod outputs;
mod packing;
mod publish;
mod report;
#[path = "../resealed/mod.rs"]
mod resealed;
mod run;
mod secrets;
mod signals;
mod slurm;
mod snapshot;
mod support;
mod trace;
mod usage;
mod warm;
