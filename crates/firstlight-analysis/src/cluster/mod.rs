//! How a suite is cut into the tasks of a cluster.

mod plan;

pub use plan::{TaskPlan, plan};
