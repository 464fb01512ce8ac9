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
    #[error("is truncated at byte {at}, inside {inside}")]
    Truncated { at: u64, inside: &'static str },
    #[error("is corrupt at byte {at}: {what}")]
    Corrupt { at: u64, what: String },
    #[error("unpacks to more than {limit} bytes, at least {times} times its size")]
    Bomb { limit: u64, times: u64 },
    #[error("unpacks to more than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("needs more than {limit} bytes of memory; {events} events were read up to byte {at}")]
    TooLarge { limit: u64, events: u64, at: u64 },
    #[error(
        "does not fit into {limit} bytes of memory even in pieces: {what} takes {needs}, including \
         names and programs"
    )]
    StepTooLarge { what: String, needs: u64, limit: u64 },
    #[error("changed while it was read")]
    Changed,
    #[error("contains no trace")]
    NoTrace,
    #[error("contains the traces of several hosts: {names}")]
    SeveralHosts { names: String },
    #[error("contains no event with a time")]
    NoEvents,
}

impl Problem {
    /// A remedy, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io(_) => return None,
            Self::Empty => {
                "the profiler wrote nothing; JAX does so without an error if a trace exceeds 2 GB: trace \
                 fewer steps, or set python_tracer_level=0"
            }
            Self::Unknown { .. } => {
                "give an xplane.pb, a Kineto or Chrome JSON (also .gz or .zst), or a JAX profile folder"
            }
            Self::Truncated { .. } | Self::Corrupt { .. } => {
                "copy the file again after the profiler has stopped, or record again"
            }
            Self::Bomb { .. } | Self::TooLong { .. } => {
                "if you trust the file, unpack it and pass the unpacked file"
            }
            Self::TooLarge { .. } => {
                "names and programs must fit into memory: raise --memory (in megabytes of 2^20 bytes)"
            }
            Self::StepTooLarge { .. } => {
                "raise --memory to that size (in megabytes of 2^20 bytes); a larger value needs fewer \
                 passes over the file"
            }
            Self::Changed => "wait until the profiler has written the file",
            Self::NoTrace => {
                "a JAX profile folder contains plugins/profile/TIME/HOST.xplane.pb, which JAX writes \
                 when the trace stops"
            }
            Self::SeveralHosts { .. } => "name one of the files",
            Self::NoEvents => {
                "start the profiler before the work, and stop it after the work has finished"
            }
        })
    }
}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;
