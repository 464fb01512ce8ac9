//! Arrays of Slurm tasks that share a folder: submitted, followed, and submitted again until each has left
//! its shard. Slurm is used through its own commands: `sbatch`, `squeue`, `scontrol`, `scancel` and `srun`.
//! Accounting may be off, so nothing here asks for the past.

mod arrays;
mod commands;
mod error;
mod folder;
mod follow;
mod gather;
mod helper;
mod probe;
mod queue;
mod script;

pub use arrays::{Array, arrays};
pub use commands::{Answer, Slurm, Submission};
pub use error::SlurmError;
pub use folder::{Start, TaskFolder};
pub use follow::{Followed, Job, Tasks, follow, latency};
pub use gather::{Gatherer, QueueState, Seen, ShardState, Step};
pub use helper::output;
pub use probe::Probe;
pub use queue::{QueuedTask, TaskState, newest};
pub use script::{Script, quoted};
