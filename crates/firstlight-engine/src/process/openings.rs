//! Detects when the interpreter's file is opened, which is when a script in front of it starts it.
//!
//! The kernel keeps no time of `execve`, and a shim that becomes the interpreter keeps its process
//! number. Only the opening of the executable is visible, by any process.

use std::os::fd::OwnedFd;
use std::path::Path;

use firstlight_schema::nanos::Moment;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// A watch on one file.
#[derive(Debug)]
pub(super) struct Openings {
    fd: OwnedFd,
    pub(super) moments: Vec<Moment>,
}

impl Openings {
    /// `None` if the file cannot be watched.
    pub(super) fn watch(file: &Path) -> Option<Self> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        inotify::add_watch(&fd, file, WatchFlags::OPEN).ok()?;
        Some(Self { fd, moments: Vec::new() })
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Reads the events so far.
    pub(super) fn note(&mut self, at: Moment) {
        let mut buffer = [0; 1024];
        while rustix::io::read(&self.fd, &mut buffer).is_ok_and(|read| read > 0) {
            self.moments.push(at);
        }
    }
}
