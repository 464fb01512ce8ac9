//! Keeps a command's output in files, so that nothing has to read it during the measurement.
//!
//! A pipe would wake the parent for every line, and once more when the command exits, on the core that runs
//! the exit. The files have no name and are used again for each process.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use firstlight_schema::reading::Streams;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

const KEPT: u64 = 8 << 10;
/// If a command writes more than this, its older output is discarded while it runs.
const LARGEST: u64 = 256 << 20;

/// Both streams of one process at a time.
#[derive(Debug)]
pub(super) struct Capture {
    stdout: Stream,
    stderr: Stream,
}

impl Capture {
    /// Files without a name in this folder.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self { stdout: Stream::new(folder)?, stderr: Stream::new(folder)? })
    }

    /// Empties the files and hands them to a process that is about to start.
    pub(super) fn hand_out(&mut self) -> io::Result<[RawFd; 2]> {
        Ok([self.stdout.hand_out()?, self.stderr.hand_out()?])
    }

    /// Discards old output if there is too much of it.
    pub(super) fn trim(&mut self) {
        self.stdout.trim();
        self.stderr.trim();
    }

    /// How much was written, and the end of it.
    pub(super) fn read(&mut self) -> Streams {
        let (stdout_bytes, stdout_tail) = self.stdout.read();
        let (stderr_bytes, stderr_tail) = self.stderr.read();
        Streams { stdout_bytes, stderr_bytes, stdout_tail, stderr_tail }
    }
}

#[derive(Debug)]
struct Stream {
    file: File,
    thrown_away: u64,
    used: bool,
}

impl Stream {
    fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        // Processes append to the file, even after it was truncated.
        fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::APPEND)?;
        Ok(Self { file, thrown_away: 0, used: false })
    }

    fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    fn hand_out(&mut self) -> io::Result<RawFd> {
        self.thrown_away = 0;
        if self.used {
            self.file.set_len(0)?;
            self.used = false;
        }
        Ok(self.file.as_raw_fd())
    }

    fn trim(&mut self) {
        let length = self.length();
        if length > LARGEST && self.file.set_len(0).is_ok() {
            self.thrown_away += length;
        }
    }

    fn read(&mut self) -> (u64, String) {
        let length = self.length();
        self.used |= length > 0;
        let kept = length.min(KEPT);
        let mut tail = vec![0; usize::try_from(kept).unwrap_or(0)];
        let read = self.file.read_exact_at(&mut tail, length - kept);
        let text =
            if read.is_ok() { String::from_utf8_lossy(&tail).into_owned() } else { String::new() };
        (self.thrown_away + length, text)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{Capture, KEPT};

    #[test]
    fn the_end_is_kept_and_everything_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(folder.path()).unwrap();
        capture.hand_out().unwrap();
        let mut writer = capture.stdout.file.try_clone().unwrap();
        writer.write_all(&vec![b'x'; 100_000]).unwrap();
        writer.write_all(b"the end").unwrap();
        let streams = capture.read();
        assert_eq!(streams.stdout_bytes, 100_007);
        assert_eq!(streams.stdout_tail.len() as u64, KEPT);
        assert!(streams.stdout_tail.ends_with("the end"));
        assert_eq!(streams.stderr_bytes, 0);
    }

    #[test]
    fn what_is_thrown_away_is_still_counted_and_later_output_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(folder.path()).unwrap();
        capture.hand_out().unwrap();
        let mut writer = capture.stderr.file.try_clone().unwrap();
        // A file with a hole is as long as any other.
        capture.stderr.file.set_len(super::LARGEST + 5).unwrap();
        capture.trim();
        writer.write_all(b"later").unwrap();
        let streams = capture.read();
        assert_eq!(streams.stderr_bytes, super::LARGEST + 10);
        assert_eq!(streams.stderr_tail, "later");
    }

    #[test]
    fn each_process_starts_with_empty_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(folder.path()).unwrap();
        for _ in 0..2 {
            capture.hand_out().unwrap();
            capture.stdout.file.try_clone().unwrap().write_all(b"once").unwrap();
            assert_eq!(capture.read().stdout_tail, "once");
        }
    }
}
