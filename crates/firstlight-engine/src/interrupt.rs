//! Ctrl-C and SIGTERM as a descriptor that can be waited for, so that nothing is lost to them.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::EngineError;

/// Becomes set, and its descriptor readable, when the user wants to stop.
#[derive(Debug)]
pub struct Interrupt {
    wake: UnixStream,
    set: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over the signals for the rest of this process. A second signal ends it at once.
    pub fn install() -> Result<Self, EngineError> {
        let cannot = "take over the signals";
        let (read, write) = UnixStream::pair().map_err(EngineError::system(cannot))?;
        read.set_nonblocking(true).map_err(EngineError::system(cannot))?;
        let set = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let write = write.try_clone().map_err(EngineError::system(cannot))?;
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&set))
                .map_err(EngineError::system(cannot))?;
            signal_hook::flag::register(signal, Arc::clone(&set))
                .map_err(EngineError::system(cannot))?;
            signal_hook::low_level::pipe::register(signal, write)
                .map_err(EngineError::system(cannot))?;
        }
        Ok(Self { wake: read, set })
    }

    pub fn is_set(&self) -> bool {
        let set = self.set.load(Ordering::Relaxed);
        if set {
            // The flag is set before the descriptor is written; a drained one may stay quiet.
            let _ = (&self.wake).read(&mut [0; 64]);
        }
        set
    }

    /// An error when the user wants to stop.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.is_set() { Err(EngineError::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
