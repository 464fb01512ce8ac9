//! Profiler traces: reading, attributing every instant of a step, explaining compilations, comparing two.
//! Pure except for reading the file.

mod attribute;
mod compare;
mod document;
mod error;
mod inflation;
mod intervals;
mod limits;
mod memory;
mod model;
mod names;
mod overhead;
mod policy;
mod read;
mod recompile;
mod rules;
mod speedscope;
mod wrappers;

pub use compare::compare;
pub use document::{document, recomputed};
pub use error::{Problem, TraceError};
pub use inflation::{Run, combined};
pub use limits::Limits;
pub use model::{
    Detail, Events, Facts, Line, MemorySample, Parameter, Place, Program, Run as RunOfProgram,
    Trace,
};
pub use names::{Category, NameId, Names};
pub use overhead::tell_overheads;
pub use policy::check_cache;
pub use read::{Opened, open, open_bytes, read_bytes};
pub use recompile::{JaxLog, Logs, TorchTrace};
pub use speedscope::speedscope;
