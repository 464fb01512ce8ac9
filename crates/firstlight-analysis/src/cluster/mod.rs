//! A suite on a cluster: its split into tasks, and the next step for their observed state. It does not depend
//! on a scheduler, so that a simulated one can drive it.

mod gather;
mod plan;

pub use gather::{Gatherer, QueueState, Seen, ShardState, Step};
pub use plan::{Array, TaskPlan, arrays, plan};
