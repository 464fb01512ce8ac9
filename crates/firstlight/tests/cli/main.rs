//! firstlight through its command line: real processes, faults planted on purpose.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../again/mod.rs"]
mod again;
mod children;
mod cold;
mod doctor;
mod exchange;
mod faults;
mod hooks;
mod hostile;
mod interrupt;
mod one_result;
mod publish;
mod report;
mod run;
mod snapshot;
mod support;
mod trace;
mod usage;
mod warm;
