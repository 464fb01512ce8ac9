//! Checks the messages of a conversation one by one: type, sender and order.

use serde::Deserialize;
use thiserror::Error;

use crate::message::{
    Edge, Event, Hello, LONGEST_LINE, Message, PROTOCOL, PhaseEdge, Request, Role,
};
use crate::nanos::Moment;
use crate::phase::Phase;
use crate::times::Calls;
use crate::version::Version;

/// A line that breaks the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    #[error("a line of {0} bytes is longer than the protocol allows")]
    TooLong(usize),
    #[error("not a message: {reason}: `{line}`")]
    NotAMessage { line: String, reason: String },
    #[error("`{0}` came before hello")]
    BeforeHello(String),
    #[error("`{0}` came after bye")]
    AfterBye(String),
    #[error("the other side speaks protocol {0}, this side {PROTOCOL}")]
    Version(Version),
    #[error("a second hello")]
    SecondHello,
    #[error("`{0}` is for runners, the other side said it is hooks")]
    NotARunner(String),
    #[error("`{0}` was not requested")]
    Unasked(String),
    #[error("phase {0} ends on thread {1} where it was not begun")]
    NotBegun(Phase, u32),
    #[error("phase {0} ends before it begins")]
    Backwards(Phase),
    #[error("an import ends before it begins: `{0}`")]
    ImportBackwards(String),
    #[error("an iteration ends before it begins")]
    IterationBackwards,
    #[error("a call begins at {}, before the last one ended at {}", begin.0, last.0)]
    CallsOverlap { begin: Moment, last: Moment },
    #[error("{made} calls were made, {asked} were requested")]
    TooManyCalls { made: u64, asked: u32 },
    #[error("the time {} lies outside of the process, which ran from {} to {}", at.0, from.0, to.0)]
    OutOfTime { at: Moment, from: Moment, to: Moment },
    #[error("the last line has no end: `{0}`")]
    HalfALine(String),
    #[error("more than {0} bytes of messages")]
    TooMuch(usize),
}

/// The state of one conversation. Pass it requests and messages in order.
#[derive(Debug, Default)]
pub struct Conversation {
    hello: Option<Hello>,
    gone: bool,
    /// Whether the last message announced that the process becomes another program.
    replaced: bool,
    open: Vec<(u32, Phase, Moment)>,
    /// Requests without an answer so far.
    prepares: u32,
    calls: u32,
    settles: u32,
    outputs: u32,
    times: Calls,
}

impl Conversation {
    pub fn asked(&mut self, request: &Request) {
        self.times.asked(request);
        match request {
            Request::Watch | Request::Finish => {}
            Request::Prepare(_) => self.prepares += 1,
            Request::First | Request::WarmUp(_) | Request::Iterate(_) => self.calls += 1,
            Request::Settle(_) => self.settles += 1,
        }
    }

    /// Processes one line; returns `None` for a message of a newer minor version, which is skipped.
    pub fn said(&mut self, line: &[u8]) -> Result<Option<Message>, ProtocolError> {
        if line.len() > LONGEST_LINE {
            return Err(ProtocolError::TooLong(line.len()));
        }
        let message = match serde_json::from_slice::<Message>(line) {
            Ok(message) => message,
            Err(_) if self.is_from_the_future(line) => return Ok(None),
            Err(error) => return Err(not_a_message(line, &error.to_string())),
        };
        self.check(&message)?;
        Ok(Some(message))
    }

    /// Whether the last process that sent `hello` has sent `bye`.
    pub fn is_over(&self) -> bool {
        self.gone
    }

    fn is_from_the_future(&self, line: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(rename = "type")]
            _type: String,
        }
        let newer = self.hello.as_ref().is_some_and(|hello| hello.protocol.minor > PROTOCOL.minor);
        newer && serde_json::from_slice::<Tag>(line).is_ok()
    }

    fn check(&mut self, message: &Message) -> Result<(), ProtocolError> {
        if let Message::Hello(hello) = message {
            return self.greet(hello);
        }
        self.replaced = is_exec(message);
        let role = match &self.hello {
            None => return Err(ProtocolError::BeforeHello(kind(message).to_owned())),
            Some(_) if self.gone => return Err(ProtocolError::AfterBye(kind(message).to_owned())),
            Some(hello) => hello.role,
        };
        match message {
            Message::Phase(edge) => self.step(edge),
            Message::Imports(imports) => {
                match imports.segments.iter().find(|(_, begin, end)| end < begin) {
                    Some((name, ..)) => Err(ProtocolError::ImportBackwards(name.clone())),
                    None => Ok(()),
                }
            }
            Message::Ready(_) => answer(role, message, &mut self.prepares),
            Message::Iterations(iterations) => {
                owes(role, message, self.calls)?;
                self.times.iterations(iterations)?;
                if !iterations.last {
                    return Ok(());
                }
                self.outputs += 1;
                answer(role, message, &mut self.calls)
            }
            Message::Settled(settled) => {
                if settled.spans.iter().any(|(_, b, c, _)| c < b) {
                    return Err(ProtocolError::IterationBackwards);
                }
                answer(role, message, &mut self.settles)?;
                self.times.settled(settled)
            }
            Message::Output(_) => answer(role, message, &mut self.outputs),
            Message::Bye(_) => {
                self.gone = true;
                Ok(())
            }
            Message::Event(_) | Message::Memory(_) | Message::Failed(_) => Ok(()),
            Message::Hello(_) => unreachable!("greeted above"),
        }
    }

    fn greet(&mut self, hello: &Hello) -> Result<(), ProtocolError> {
        if hello.protocol.major != PROTOCOL.major {
            return Err(ProtocolError::Version(hello.protocol));
        }
        // A launcher may start several interpreters in succession; each is watched in turn.
        let next = (self.gone || self.replaced) && hello.role == Role::Hooks;
        if self.hello.is_some() && !next {
            return Err(ProtocolError::SecondHello);
        }
        *self = Self { hello: Some(hello.clone()), ..Self::take_requests(self) };
        Ok(())
    }

    fn take_requests(old: &Self) -> Self {
        let Self { prepares, calls, settles, .. } = *old;
        Self { prepares, calls, settles, times: old.times.clone(), ..Self::default() }
    }

    fn step(&mut self, edge: &PhaseEdge) -> Result<(), ProtocolError> {
        match edge.edge {
            Edge::Begin => {
                self.open.push((edge.thread, edge.name, edge.at));
                Ok(())
            }
            Edge::End => {
                let position = self
                    .open
                    .iter()
                    .rposition(|&(thread, name, _)| thread == edge.thread && name == edge.name)
                    .ok_or(ProtocolError::NotBegun(edge.name, edge.thread))?;
                let (.., begun) = self.open.remove(position);
                if edge.at < begun { Err(ProtocolError::Backwards(edge.name)) } else { Ok(()) }
            }
        }
    }
}

/// Whether a message says that its process is about to become another program.
pub fn is_exec(message: &Message) -> bool {
    matches!(message, Message::Event(event) if matches!(event.event, Event::Exec(_)))
}

fn answer(role: Role, message: &Message, owed: &mut u32) -> Result<(), ProtocolError> {
    owes(role, message, *owed)?;
    *owed -= 1;
    Ok(())
}

fn owes(role: Role, message: &Message, owed: u32) -> Result<(), ProtocolError> {
    let kind = kind(message).to_owned();
    match (role, owed) {
        (Role::Hooks, _) => Err(ProtocolError::NotARunner(kind)),
        (Role::Runner, 0) => Err(ProtocolError::Unasked(kind)),
        (Role::Runner, _) => Ok(()),
    }
}

fn not_a_message(line: &[u8], reason: &str) -> ProtocolError {
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
    ProtocolError::NotAMessage { line: text, reason: reason.to_owned() }
}

fn kind(message: &Message) -> &'static str {
    match message {
        Message::Hello(_) => "hello",
        Message::Phase(_) => "phase",
        Message::Imports(_) => "imports",
        Message::Event(_) => "event",
        Message::Memory(_) => "memory",
        Message::Ready(_) => "ready",
        Message::Iterations(_) => "iterations",
        Message::Settled(_) => "settled",
        Message::Output(_) => "output",
        Message::Failed(_) => "failed",
        Message::Bye(_) => "bye",
    }
}
