//! The parent's end of the protocol: lines in, checked messages out, requests answered for.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use firstlight_schema::conversation::{Conversation, ProtocolError, is_exec};
use firstlight_schema::message::{LONGEST_LINE, Message, Request};
use firstlight_schema::nanos::Moment;
use firstlight_schema::times::outside;
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionread};

use crate::clock::now;

/// A limit on the messages besides calls that a hostile process can make firstlight keep. No real process
/// sends as many.
const MOST_BYTES: usize = 16 << 20;
/// The largest size of one call's readings: two times of twenty digits, with separators.
const BYTES_PER_CALL: usize = 48;

/// A socket pair: our end, and the end that a process inherits.
#[derive(Debug)]
pub(super) struct Listener {
    socket: UnixStream,
    /// Kept open while the process runs, so that its exit wakes the parent only once.
    far_end: UnixStream,
    asked: Vec<u8>,
    conversation: Conversation,
    partial: Vec<u8>,
    bytes: usize,
    most_bytes: usize,
    watches: bool,
    /// No time in a message lies before this.
    born: Moment,
    /// When the process had been reaped; later times come from what it left running.
    reaped: Option<Moment>,
    pub(super) messages: Vec<Message>,
    pub(super) error: Option<ProtocolError>,
}

impl Listener {
    /// Writes the requests to the socket; the process finds them there when it starts.
    pub(super) fn new(requests: &[Request]) -> io::Result<Self> {
        let (mut socket, far_end) = UnixStream::pair()?;
        let mut conversation = Conversation::default();
        for request in requests {
            conversation.asked(request);
        }
        let asked: Vec<u8> = requests.iter().flat_map(line).collect();
        socket.write_all(&asked)?;
        socket.set_nonblocking(true)?;
        fcntl_setfd(&far_end, FdFlags::empty())?;
        Ok(Self {
            socket,
            far_end,
            asked,
            conversation,
            partial: Vec::new(),
            bytes: 0,
            most_bytes: MOST_BYTES.saturating_add(calls(requests).saturating_mul(BYTES_PER_CALL)),
            watches: requests == [Request::Watch],
            born: Moment::default(),
            reaped: None,
            messages: Vec::new(),
            error: None,
        })
    }

    /// Whether the pair is unused: all requests are unread, and no message was sent.
    pub(super) fn is_untouched(&self) -> bool {
        self.bytes == 0
            && ioctl_fionread(&self.far_end).is_ok_and(|waiting| waiting == self.asked.len() as u64)
    }

    /// Whether these are the unread requests.
    pub(super) fn asks(&self, requests: &[Request]) -> bool {
        requests.iter().flat_map(line).eq(self.asked.iter().copied())
    }

    /// The number under which the process finds its end.
    pub(super) fn inherited(&self) -> RawFd {
        self.far_end.as_raw_fd()
    }

    /// The process is about to start.
    pub(super) fn begin(&mut self, at: Moment) {
        self.born = at;
    }

    /// The process has been reaped.
    pub(super) fn end(&mut self, at: Moment) {
        self.reaped = Some(at);
    }

    /// The message, if its times are possible; `None` if a surviving child sent it after the process was
    /// reaped.
    fn in_time(&self, message: Message) -> Result<Option<Message>, ProtocolError> {
        let (from, to) = (self.born, now());
        if let Some(at) = outside(&message, from, to) {
            return Err(ProtocolError::OutOfTime { at, from, to });
        }
        let late = self.reaped.is_some_and(|reaped| outside(&message, from, reaped).is_some());
        Ok(Some(message).filter(|_| !late))
    }

    pub(super) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Reads the available messages.
    pub(super) fn drain(&mut self, buffer: &mut [u8]) {
        while self.error.is_none() {
            match self.socket.read(buffer) {
                Ok(0) => return,
                Ok(n) => self.take(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, data: &[u8]) {
        self.bytes += data.len();
        if self.bytes > self.most_bytes {
            self.error = Some(ProtocolError::TooMuch(self.most_bytes));
            return;
        }
        self.partial.extend_from_slice(data);
        let mut from = 0;
        while let Some(length) = self.partial[from..].iter().position(|&byte| byte == b'\n') {
            let to = from + length;
            let said = self.conversation.said(&self.partial[from..to]);
            match said.and_then(|said| said.map_or(Ok(None), |message| self.in_time(message))) {
                Ok(message) => self.messages.extend(message),
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            }
            from = to + 1;
            self.offer_next_watch();
        }
        self.partial.drain(..from);
        if self.partial.len() > LONGEST_LINE {
            self.error = Some(ProtocolError::TooLong(self.partial.len()));
        }
    }

    /// When a watched process has said bye or becomes another program, the next one may be watched.
    fn offer_next_watch(&mut self) {
        let leaves = |message: &Message| matches!(message, Message::Bye(_)) || is_exec(message);
        if self.watches && self.messages.last().is_some_and(leaves) {
            // It is not an error if no process is left to read it.
            let _ = self.socket.write_all(&line(&Request::Watch));
        }
    }

    /// All messages; a truncated last line is an error.
    pub(super) fn finish(&mut self) -> (Vec<Message>, Option<ProtocolError>) {
        if self.error.is_none() && !self.partial.is_empty() {
            let text = String::from_utf8_lossy(&self.partial).chars().take(120).collect();
            self.error = Some(ProtocolError::HalfALine(text));
        }
        (std::mem::take(&mut self.messages), self.error.take())
    }
}

/// The number of requested calls.
fn calls(requests: &[Request]) -> usize {
    let of = |request: &Request| match request {
        Request::WarmUp(asked) | Request::Iterate(asked) | Request::Settle(asked) => asked.count,
        _ => 1,
    };
    requests.iter().map(|request| usize::try_from(of(request)).unwrap_or(usize::MAX)).sum()
}

fn line(request: &Request) -> Vec<u8> {
    let mut line = serde_json::to_vec(request).expect("requests have only plain fields");
    line.push(b'\n');
    line
}
