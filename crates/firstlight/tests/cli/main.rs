//! firstlight through its command line: real processes, faults planted on purpose.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cold;
mod doctor;
mod exchange;
mod faults;
mod hooks;
mod hostile;
mod interrupt;
mod report;
mod run;
mod snapshot;
mod support;
mod usage;
mod warm;
