//! The parent's end of the protocol: lines in, checked messages out, requests answered for.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use firstlight_schema::conversation::{Conversation, ProtocolError};
use firstlight_schema::message::{LONGEST_LINE, Message, Request};

/// More than any honest process says; a bound on what a dishonest one can make us keep.
const MOST_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Listener {
    socket: UnixStream,
    conversation: Conversation,
    partial: Vec<u8>,
    bytes: usize,
    watches: bool,
    pub(super) messages: Vec<Message>,
    pub(super) error: Option<ProtocolError>,
}

impl Listener {
    /// Puts the requests on the wire; the process finds them there when it starts.
    pub(super) fn new(mut socket: UnixStream, requests: &[Request]) -> std::io::Result<Self> {
        let mut conversation = Conversation::default();
        for request in requests {
            socket.write_all(&line(request))?;
            conversation.asked(request);
        }
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            conversation,
            partial: Vec::new(),
            bytes: 0,
            watches: requests == [Request::Watch],
            messages: Vec::new(),
            error: None,
        })
    }

    pub(super) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Reads what is there now; true when nothing more can come.
    pub(super) fn drain(&mut self, buffer: &mut [u8]) -> bool {
        loop {
            match self.socket.read(buffer) {
                Ok(0) => return true,
                Ok(n) => self.take(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
            if self.error.is_some() {
                return true;
            }
        }
    }

    fn take(&mut self, data: &[u8]) {
        self.bytes += data.len();
        if self.bytes > MOST_BYTES {
            self.error = Some(ProtocolError::TooMuch(MOST_BYTES));
            return;
        }
        self.partial.extend_from_slice(data);
        let mut from = 0;
        while let Some(length) = self.partial[from..].iter().position(|&byte| byte == b'\n') {
            let to = from + length;
            match self.conversation.said(&self.partial[from..to]) {
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

    /// When a watched process has said bye, the next one that its launcher starts may be watched.
    fn offer_next_watch(&mut self) {
        if self.watches && matches!(self.messages.last(), Some(Message::Bye(_))) {
            // If nobody is left to take it, that is no error.
            let _ = self.socket.write_all(&line(&Request::Watch));
        }
    }

    /// What the process left unsaid when it ended: half a line is an error of its own.
    pub(super) fn finish(mut self) -> (Vec<Message>, Option<ProtocolError>) {
        if self.error.is_none() && !self.partial.is_empty() {
            let text = String::from_utf8_lossy(&self.partial).chars().take(120).collect();
            self.error = Some(ProtocolError::HalfALine(text));
        }
        (self.messages, self.error)
    }
}

fn line(request: &Request) -> Vec<u8> {
    let mut line = serde_json::to_vec(request).expect("requests have only plain fields");
    line.push(b'\n');
    line
}
