//! One process: started, observed, killed on timeout, reaped with its descendants.

mod birth;
mod capture;
mod descendants;
mod launch;
mod listen;
mod marks;
mod observe;
mod openings;
mod standstill;
mod wait;
mod watchdog;

pub use birth::Start;
pub use descendants::adopt_orphans;
pub use launch::{Launch, Show};
pub(crate) use marks::mark;
pub use observe::{Observation, Stage};
pub use watchdog::{ARGUMENT as WATCH_ARGUMENT, watch_over};
