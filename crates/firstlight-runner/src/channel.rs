//! The inherited descriptor: messages out, requests in.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;

use firstlight_schema::message::{Hello, Message, PROTOCOL, Request, Role};
use firstlight_schema::nanos::Moment;
use firstlight_schema::variables;
use rustix::time::{ClockId, clock_gettime};

use crate::Failure;

/// A reading of the clock that all processes of this host share.
pub(crate) fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Moment(part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec))
}

pub(crate) struct Channel {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Channel {
    /// The inherited descriptor, if firstlight started this process.
    #[expect(unsafe_code, reason = "a descriptor's number is all that is inherited")]
    pub(crate) fn inherited() -> Option<Self> {
        let number = std::env::var(variables::FD).ok()?.parse().ok()?;
        // SAFETY: the measuring process opened the descriptor for this process alone and says so in
        // the variable; nothing else in this process knows of it.
        let writer = unsafe { UnixStream::from_raw_fd(number) };
        let reader = BufReader::new(writer.try_clone().ok()?);
        Some(Self { reader, writer })
    }

    pub(crate) fn hello(&mut self, entered: Moment) {
        self.send(&Message::Hello(Hello {
            protocol: PROTOCOL,
            role: Role::Runner,
            pid: std::process::id(),
            language: "rust".to_owned(),
            runtime: "native".to_owned(),
            executable: std::env::current_exe().ok().map(|path| path.display().to_string()),
            started: None,
            at: entered,
        }));
    }

    /// If the parent has exited, messages are dropped.
    pub(crate) fn send(&mut self, message: &Message) {
        if let Ok(mut line) = serde_json::to_vec(message) {
            line.push(b'\n');
            let _ = self.writer.write_all(&line);
        }
    }

    /// The next request; `None` if the parent has exited.
    pub(crate) fn next(&mut self) -> Result<Option<Request>, Failure> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match serde_json::from_str(&line) {
            Ok(request) => Ok(Some(request)),
            // A request of a newer parent needs no answer.
            Err(_) if is_tagged(&line) => self.next(),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a line is a message of some type.
fn is_tagged(line: &str) -> bool {
    let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    value["type"].is_string()
}
