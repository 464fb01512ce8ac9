//! Starts a process and watches it until it has been reaped. The parent sleeps in between: it
//! wakes for messages, for output and for the end, never by the clock alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use firstlight_schema::message::Message;
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::reading::{Outcome, Streams, Usage};
use firstlight_schema::variables;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::descendants::{end_survivors, signal_group};
use super::launch::{Launch, Show};
use super::listen::Listener;
use super::stream::Tail;
use super::wait::reap;
use crate::EngineError;
use crate::clock::now;
use crate::interrupt::Interrupt;

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// What was seen of one process.
#[derive(Debug)]
pub struct Observation {
    pub spawn: Moment,
    pub exec: Moment,
    pub reaped: Moment,
    pub outcome: Outcome,
    pub messages: Vec<Message>,
    pub usage: Usage,
    pub streams: Streams,
    pub survivors: u32,
}

/// Runs the command to its end, or to the end of its time.
pub fn observe(launch: &Launch, interrupt: &Interrupt) -> Result<Observation, EngineError> {
    let mut command = command(launch);
    let channel = (!launch.requests.is_empty())
        .then(|| channel(launch).map_err(EngineError::system("open a channel")))
        .transpose()?;
    let (listener, child_end) = channel.unzip();
    if let Some(fd) = &child_end {
        command.env(variables::FD, fd.as_raw_fd().to_string());
    }
    let spawn = now();
    let child = command
        .spawn()
        .map_err(|source| EngineError::Spawn { path: launch.program.clone(), source })?;
    let exec = now();
    drop(child_end);
    let watch = Watch::new(child, listener, launch, spawn, interrupt)
        .map_err(EngineError::system("watch a process"))?;
    watch.follow(exec).map_err(EngineError::system("watch a process"))
}

fn command(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).stdin(Stdio::null()).process_group(0);
    match launch.show {
        Show::Tail => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
        Show::Inherit => command.stdout(Stdio::inherit()).stderr(Stdio::inherit()),
        Show::OnStderr => command.stdout(io::stderr()).stderr(Stdio::inherit()),
    };
    if let Some(directory) = &launch.directory {
        command.current_dir(directory);
    }
    for (name, value) in &launch.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// A socket pair whose far end the child inherits.
fn channel(launch: &Launch) -> io::Result<(Listener, OwnedFd)> {
    let (near, far) = UnixStream::pair()?;
    let listener = Listener::new(near, &launch.requests)?;
    fcntl_setfd(&far, FdFlags::empty())?;
    Ok((listener, far.into()))
}

/// A stream of the command that we read, until it is closed.
struct Source<R> {
    pipe: Option<R>,
    tail: Tail,
}

impl<R: io::Read + AsFd> Source<R> {
    fn new(pipe: Option<R>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, tail: Tail::default() })
    }

    fn read(&mut self, buffer: &mut [u8]) {
        if self.pipe.as_mut().is_some_and(|pipe| self.tail.drain(pipe, buffer)) {
            self.pipe = None;
        }
    }
}

struct Watch<'a> {
    pid: Pid,
    pidfd: OwnedFd,
    /// Closed by the other side: nothing more to wait for, but not yet concluded.
    silent: bool,
    listener: Option<Listener>,
    stdout: Source<ChildStdout>,
    stderr: Source<ChildStderr>,
    buffer: Vec<u8>,
    spawn: Moment,
    deadline: Moment,
    interrupt: &'a Interrupt,
    /// Why the process was ended by us, if it was.
    ended: Option<Outcome>,
}

impl<'a> Watch<'a> {
    fn new(
        mut child: Child,
        listener: Option<Listener>,
        launch: &Launch,
        spawn: Moment,
        interrupt: &'a Interrupt,
    ) -> io::Result<Self> {
        let pid = Pid::from_child(&child);
        Ok(Self {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty())?,
            silent: listener.is_none(),
            listener,
            stdout: Source::new(child.stdout.take())?,
            stderr: Source::new(child.stderr.take())?,
            buffer: vec![0; 64 << 10],
            spawn,
            deadline: spawn + Nanos::from(launch.timeout),
            interrupt,
            ended: None,
        })
    }

    fn follow(mut self, exec: Moment) -> io::Result<Observation> {
        while !self.sleep()? {
            self.read();
            if let Some(outcome) = self.reason_to_end() {
                self.end(outcome);
            }
        }
        let (status, usage) = reap(self.pid)?;
        let reaped = now();
        let survivors = end_survivors(self.pid);
        self.read();
        Ok(self.conclude(exec, reaped, status, usage, survivors))
    }

    /// Waits until something happened; true when it is the end of the process.
    fn sleep(&self) -> io::Result<bool> {
        let mut fds = Vec::with_capacity(5);
        fds.push(PollFd::new(&self.pidfd, PollFlags::IN));
        if self.ended.is_none() {
            fds.push(PollFd::from_borrowed_fd(self.interrupt.fd(), PollFlags::IN));
        }
        if let (Some(listener), false) = (&self.listener, self.silent) {
            fds.push(PollFd::new(listener.socket(), PollFlags::IN));
        }
        fds.extend(self.stdout.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        fds.extend(self.stderr.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let left = Timespec::try_from(Duration::from(self.deadline.since(now()))).ok();
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what has been written, as far as it is there.
    fn read(&mut self) {
        if let Some(listener) = &mut self.listener {
            self.silent |= listener.drain(&mut self.buffer);
        }
        self.stdout.read(&mut self.buffer);
        self.stderr.read(&mut self.buffer);
    }

    fn reason_to_end(&self) -> Option<Outcome> {
        if let Some(error) = self.listener.as_ref().and_then(|listener| listener.error.as_ref()) {
            return Some(Outcome::Broke { error: error.to_string() });
        }
        if self.interrupt.is_set() {
            return Some(Outcome::Interrupted);
        }
        let at = now();
        (at >= self.deadline).then(|| Outcome::TimedOut { after_ns: at.since(self.spawn) })
    }

    /// Asks the whole group to end, and the second time makes it.
    fn end(&mut self, outcome: Outcome) {
        if self.ended.is_none() {
            signal_group(self.pid, Signal::TERM);
            self.deadline = now() + Nanos::from(GRACE);
            self.ended = Some(outcome);
        } else if now() >= self.deadline {
            signal_group(self.pid, Signal::KILL);
            self.deadline = now() + Nanos::from(GRACE);
        }
    }

    fn conclude(
        self,
        exec: Moment,
        reaped: Moment,
        status: ExitStatus,
        usage: Usage,
        survivors: u32,
    ) -> Observation {
        let (messages, error) = self.listener.map_or((Vec::new(), None), Listener::finish);
        let (stdout_bytes, stdout_tail) = self.stdout.tail.finish();
        let (stderr_bytes, stderr_tail) = self.stderr.tail.finish();
        let broke = error.map(|error| Outcome::Broke { error: error.to_string() });
        Observation {
            spawn: self.spawn,
            exec,
            reaped,
            outcome: self.ended.or(broke).unwrap_or_else(|| outcome(status)),
            messages,
            usage,
            streams: Streams { stdout_bytes, stderr_bytes, stdout_tail, stderr_tail },
            survivors,
        }
    }
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Completed,
        (Some(code), _) => Outcome::Exited { code },
        (None, signal) => Outcome::Killed { signal: signal.unwrap_or(0) },
    }
}
