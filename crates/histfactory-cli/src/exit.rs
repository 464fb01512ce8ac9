//! The exit codes of the program.

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    Unexpected,
    /// Wrong arguments, an unreadable file, an invalid workspace.
    Usage,
    /// A fit did not converge, or the question has no answer for this model.
    NoAnswer,
    /// The user left the tasks of a cluster.
    Interrupted,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::NoAnswer => 3,
            Self::Interrupted => 130,
        }
    }
}
