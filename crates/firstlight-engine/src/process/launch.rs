//! A prepared launch: every decision is made before the clock starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use firstlight_schema::message::Request;

/// The destination of the command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Read, counted, and its end kept.
    Tail,
    /// To the user, both streams to where our own go.
    Inherit,
    /// To the user's error stream, because our output is data.
    OnStderr,
}

/// A command with everything that is needed to start it.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub directory: Option<PathBuf>,
    /// Set, or removed if there is no value.
    pub variables: Vec<(OsString, Option<OsString>)>,
    /// Written to the descriptor before the process starts; none means no descriptor at all.
    pub requests: Vec<Request>,
    pub timeout: Duration,
    pub show: Show,
    /// The file that it reads as its standard input, which is otherwise empty.
    pub stdin: Option<PathBuf>,
    /// The interpreter that a script in front of it starts; its file is watched to see when it is opened.
    pub interpreter: Option<PathBuf>,
}
