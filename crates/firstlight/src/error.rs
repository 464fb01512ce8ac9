//! What ends a command early: a message, a hint where there is one, an exit code.

use firstlight_engine::EngineError;
use firstlight_schema::exit_code::Exit;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot write the result as JSON")]
    Json(#[from] serde_json::Error),
}

impl Error {
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::Usage(_) => Some("see --help".to_owned()),
            Self::Json(_) => None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Engine(EngineError::Interrupted) => Exit::Interrupted,
            Self::Engine(EngineError::Snapshot { .. }) => Exit::VerificationFailed,
            Self::Usage(_) | Self::Engine(_) => Exit::Usage,
            Self::Json(_) => Exit::Unexpected,
        }
    }
}
