//! Errors in a trace: the file, the offset, and a hint.

use std::path::PathBuf;

use thiserror::Error;

/// An error for a trace that could not be read.
#[derive(Debug, Error)]
#[error("`{}`: {problem}", path.display())]
pub struct TraceError {
    pub path: PathBuf,
    pub problem: Problem,
}

/// The error, and its byte offset in the unpacked file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("is empty")]
    Empty,
    #[error("is not a trace that firstlight knows: it begins with {begins}")]
    Unknown { begins: String },
    #[error("ends at byte {at}, inside {inside}")]
    Truncated { at: u64, inside: &'static str },
    #[error("is corrupt at byte {at}: {what}")]
    Corrupt { at: u64, what: String },
    #[error("unpacks to more than {limit} bytes, over {times} times its size")]
    Bomb { limit: u64, times: u64 },
    #[error("unpacks to more than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("needs more than {limit} bytes of memory; {events} events were read up to byte {at}")]
    TooLarge { limit: u64, events: u64, at: u64 },
    #[error(
        "does not fit into {limit} bytes of memory even in pieces: {what} takes {needs}, names and \
         programs included"
    )]
    StepTooLarge { what: String, needs: u64, limit: u64 },
    #[error("changed while it was read")]
    Changed,
    #[error("holds no trace")]
    NoTrace,
    #[error("holds the traces of several hosts: {names}")]
    SeveralHosts { names: String },
    #[error("holds no event with a time")]
    NoEvents,
}

impl Problem {
    /// A remedy, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io(_) => return None,
            Self::Empty => {
                "JAX writes an empty xplane.pb, and calls it success, when the trace would be larger \
                 than 2 GB: trace fewer steps, or with python_tracer_level=0"
            }
            Self::Unknown { .. } => {
                "give an xplane.pb, a Kineto or Chrome JSON (also .gz or .zst), or a JAX profile folder"
            }
            Self::Truncated { .. } | Self::Corrupt { .. } => {
                "was the file copied whole, and had the profiler stopped? write it again"
            }
            Self::Bomb { .. } | Self::TooLong { .. } => {
                "if the file is what it should be, unpack it and give the unpacked file"
            }
            Self::TooLarge { .. } => {
                "the names and programs of a recording are in memory all the time: raise --memory, in \
                 megabytes of 2^20 bytes"
            }
            Self::StepTooLarge { .. } => {
                "with a --memory of that much (in megabytes of 2^20 bytes) it is read step by step, \
                 with more in fewer passes over the file"
            }
            Self::Changed => "wait until the profiler has written it",
            Self::NoTrace => {
                "a JAX profile folder holds plugins/profile/TIME/HOST.xplane.pb; was the trace stopped?"
            }
            Self::SeveralHosts { .. } => "name one of the files",
            Self::NoEvents => "was the profiler running while the work was done?",
        })
    }
}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;
