//! Whether a machine is suitable for measurements, and whether it stayed so during a run.

mod changes;
mod checks;
mod gpu;
mod stolen;
mod verdict;

pub use changes::changes;
pub use checks::checks;
