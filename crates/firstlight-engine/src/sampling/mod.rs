//! Takes samples: one process at a time, in a planned order, raw readings on disk first.

mod command;
mod contender;
mod plan;
mod session;
mod suite;

pub use command::{CommandPlan, CommandReadings, IsHopeless, sample_command};
pub(crate) use contender::{prepare, target};
pub use plan::turns;
pub use session::{Observer, Session, Target};
pub use suite::{
    ArmReadings, CaseReadings, Guidance, Guide, RegimeReadings, SuitePlan, sample_case,
};
