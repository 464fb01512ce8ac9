//! Takes samples: one process at a time, in a planned order, raw readings on disk first.

mod contender;
mod plan;
mod session;
mod suite;

pub(crate) use contender::{prepare, target};
pub use plan::turns;
pub use session::{Observer, Session, Target};
pub use suite::{
    ArmReadings, CaseReadings, Guidance, Guide, RegimeReadings, SuitePlan, deadline, sample_case,
};
