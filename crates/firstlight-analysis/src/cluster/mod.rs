//! A suite on a cluster: how it is cut into tasks, and what to do next from what is seen of them. It knows
//! no scheduler, so that a simulated one can drive it.

mod gather;
mod plan;

pub use gather::{Gatherer, QueueState, Seen, ShardState, Step};
pub use plan::{Array, TaskPlan, arrays, plan};
