//! Ctrl-C, SIGTERM and their like as a descriptor that can be waited for, so that nothing is lost to them.
//!
//! The first signal asks the measured process to exit. The second one kills its group and lets the command
//! clean up. The third, and a second one while nothing is measured, terminates firstlight at once; the
//! watchdog then cleans up.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use rustix::process::Pid;
use signal_hook::consts::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ,
};

use crate::EngineError;

/// Signals that ask firstlight to exit.
pub(crate) const ENDING: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
const EXIT_CODE: i32 = 130;

/// The number of such signals so far.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// How often firstlight was continued, and a child of it stopped or continued.
static STOPS: AtomicU32 = AtomicU32::new(0);
/// The group of the process that runs now; zero while there is none.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// A flag that is set, with a descriptor that becomes readable, when the user interrupts firstlight.
#[derive(Debug)]
pub struct Interrupt {
    wake: UnixStream,
}

impl Interrupt {
    /// Takes over the signals for the rest of this process.
    pub fn install() -> Result<Self, EngineError> {
        let cannot = "take over the signals";
        let (read, write) = UnixStream::pair().map_err(EngineError::system(cannot))?;
        read.set_nonblocking(true).map_err(EngineError::system(cannot))?;
        for signal in ENDING {
            let write = write.try_clone().map_err(EngineError::system(cannot))?;
            register(signal).map_err(EngineError::system(cannot))?;
            signal_hook::low_level::pipe::register(signal, write)
                .map_err(EngineError::system(cannot))?;
        }
        register_stops().map_err(EngineError::system(cannot))?;
        Ok(Self { wake: read })
    }

    pub fn is_set(&self) -> bool {
        is_raised()
    }

    /// An error if the user has interrupted firstlight.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.is_set() { Err(EngineError::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Whether the user has interrupted firstlight.
pub(crate) fn is_raised() -> bool {
    count() > 0
}

/// The number of signals that asked firstlight to exit.
pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// A file that exceeds a size limit is a write error, not the end of the program.
pub fn outlive_file_limits() -> Result<(), EngineError> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .map(|_| ())
        .map_err(EngineError::system("take over the signals"))
}

/// While this guard exists, a second signal kills this group and nothing else.
pub(crate) struct Running;

impl Running {
    pub(crate) fn new(group: Pid) -> Self {
        GROUP.store(group.as_raw_nonzero().get(), Ordering::Relaxed);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        GROUP.store(0, Ordering::Relaxed);
    }
}

/// How often firstlight was stopped and continued, and its children were. The kernel reports every one,
/// however short.
pub(crate) fn stops() -> u32 {
    STOPS.load(Ordering::Relaxed)
}

#[expect(unsafe_code, reason = "a handler that counts must be registered as one")]
fn register_stops() -> std::io::Result<()> {
    let count = || {
        STOPS.fetch_add(1, Ordering::Relaxed);
    };
    let look = move |info: &libc::siginfo_t| {
        if matches!(info.si_code, libc::CLD_STOPPED | libc::CLD_CONTINUED) {
            count();
        }
    };
    // SAFETY: the handlers only read their argument and add to a counter.
    unsafe {
        signal_hook::low_level::register(SIGCONT, count)?;
        signal_hook_registry::register_sigaction(SIGCHLD, look).map(|_| ())
    }
}

#[expect(unsafe_code, reason = "a handler that kills must be registered as one")]
fn register(signal: i32) -> std::io::Result<()> {
    // SAFETY: the handler only counts and makes system calls that are safe in one.
    unsafe { signal_hook::low_level::register(signal, on_signal) }.map(|_| ())
}

#[expect(unsafe_code, reason = "only bare system calls may be made here")]
fn on_signal() {
    let before = COUNT.fetch_add(1, Ordering::Relaxed);
    if before == 0 {
        return;
    }
    let group = GROUP.load(Ordering::Relaxed);
    // SAFETY: both calls are async-signal-safe and take plain numbers.
    unsafe {
        if group > 0 {
            libc::kill(-group, libc::SIGKILL);
        }
        if group == 0 || before > 1 {
            libc::_exit(EXIT_CODE);
        }
    }
}
