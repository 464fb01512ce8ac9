//! The state of the machine, read and never changed.

mod cgroup;
mod cpu;
mod examine;
mod files;
mod gpu;
mod host;
mod kernel;
mod nvidia_smi;

pub use examine::examine;
