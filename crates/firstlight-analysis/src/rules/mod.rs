//! The rules of the protocol, checked on a stored run: each with its result and its evidence.

mod conditions;
mod order;
mod standing;
mod times;

pub use conditions::{cache_evidence, no_compile_in_window};
pub use order::{Order, fresh_processes, interleaved};
pub use standing::{complete, control, correctness, minimum_samples};
pub use times::times;
