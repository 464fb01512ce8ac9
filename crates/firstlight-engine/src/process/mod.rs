//! One process: started, listened to, ended in time, reaped with all it left behind.

mod birth;
mod capture;
mod descendants;
mod launch;
mod listen;
mod observe;
mod openings;
mod wait;

pub use birth::Start;
pub use descendants::adopt_orphans;
pub use launch::{Launch, Show};
pub use observe::{Observation, Stage};
