//! Starts a process and watches it until it has been reaped. The parent sleeps in between. It wakes for
//! messages and for the exit, and at growing intervals to check for overflowing output and stopped processes.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use firstlight_schema::message::Message;
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::reading::{Outcome, Paused, ProcessExit, Streams, Usage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::birth::{Born, Spawner, Start};
use super::capture::Capture;
use super::descendants::{end_survivors, signal_group};
use super::launch::Launch;
use super::listen::Listener;
use super::openings::Openings;
use super::standstill::Standstill;
use super::wait::reap;
use crate::EngineError;
use crate::clock::{asleep, now};
use crate::interrupt::{Interrupt, Running, stops};

const READ_AT_ONCE: usize = 16 << 10;
/// Two consecutive clock readings differ by less than this.
const SHORTEST_SLEEP: Nanos = Nanos(5_000_000);
/// How long a process may take to exit after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);

/// The observations of one process.
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
    pub exits: Vec<ProcessExit>,
    pub opened: Vec<Moment>,
    pub paused: Option<Paused>,
}

/// Where processes are observed, one after the other.
#[derive(Debug)]
pub struct Stage<'a> {
    capture: Capture,
    spawner: Spawner,
    /// A channel that the last process did not touch, for the next one.
    idle: Option<Listener>,
    interrupt: &'a Interrupt,
}

impl<'a> Stage<'a> {
    /// Output is kept in files without a name in this folder.
    pub fn new(folder: &Path, interrupt: &'a Interrupt) -> Result<Self, EngineError> {
        let capture = Capture::new(folder).map_err(EngineError::file("write to", folder))?;
        let spawner = Spawner::new().map_err(EngineError::system("prepare for processes"))?;
        Ok(Self { capture, spawner, idle: None, interrupt })
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    /// Runs the command until it exits or exceeds its time limit.
    pub fn observe(&mut self, start: &mut Start) -> Result<Observation, EngineError> {
        let streams = self.capture.hand_out().map_err(EngineError::system("keep output"))?;
        let mut listener =
            self.listener(&start.launch).map_err(EngineError::system("open a channel"))?;
        start.name_channel(listener.as_ref().map(Listener::inherited));
        start.rewind_input().map_err(EngineError::system("rewind the standard input"))?;
        let openings = start.launch.interpreter.as_deref().and_then(Openings::watch);
        let spawn = now();
        if let Some(listener) = &mut listener {
            listener.begin(spawn);
        }
        let born = self
            .spawner
            .spawn(start, streams)
            .map_err(|source| EngineError::Spawn { path: start.launch.program.clone(), source })?;
        let exec = now();
        Watch::new(born, listener, openings, &start.launch, spawn, self)
            .follow(exec)
            .map_err(EngineError::system("watch a process"))
    }

    /// The channel of a process that is about to start, if it is to have one.
    fn listener(&mut self, launch: &Launch) -> io::Result<Option<Listener>> {
        if launch.requests.is_empty() {
            return Ok(None);
        }
        match self.idle.take() {
            Some(idle) if idle.asks(&launch.requests) => Ok(Some(idle)),
            _ => Listener::new(&launch.requests).map(Some),
        }
    }
}

struct Watch<'a, 'b> {
    pid: Pid,
    pidfd: OwnedFd,
    listener: Option<Listener>,
    openings: Option<Openings>,
    /// Interpreters that another program started, until they exit.
    others: Vec<(u32, OwnedFd)>,
    exits: Vec<ProcessExit>,
    /// The number of messages that were searched for new interpreters.
    heard: usize,
    spawn: Moment,
    deadline: Moment,
    stage: &'a mut Stage<'b>,
    /// Why firstlight killed the process, if it did.
    ended: Option<Outcome>,
    /// How long the machine had slept before.
    asleep: Nanos,
    /// How often firstlight and its children had been stopped or continued before.
    stops: u32,
    standstill: Standstill,
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(
        born: Born,
        listener: Option<Listener>,
        openings: Option<Openings>,
        launch: &Launch,
        spawn: Moment,
        stage: &'a mut Stage<'b>,
    ) -> Self {
        let Born { pid, pidfd } = born;
        let deadline = spawn + Nanos::from(launch.timeout);
        Self {
            pid,
            pidfd,
            listener,
            openings,
            others: Vec::new(),
            exits: Vec::new(),
            heard: 0,
            spawn,
            deadline,
            stage,
            ended: None,
            asleep: asleep(),
            stops: stops(),
            standstill: Standstill::new(spawn),
        }
    }

    fn follow(mut self, exec: Moment) -> io::Result<Observation> {
        let _running = Running::new(self.pid);
        while !self.sleep()? {
            self.read();
            self.stage.capture.trim();
            if let Some(outcome) = self.reason_to_end() {
                self.end(outcome);
            }
        }
        let (status, usage) = reap(self.pid)?;
        let reaped = now();
        if let Some(listener) = &mut self.listener {
            // Messages of the process itself come first, whenever they are read.
            listener.drain(&mut [0; READ_AT_ONCE]);
            listener.end(reaped);
        }
        let survivors = end_survivors(self.pid);
        self.read();
        Ok(self.conclude(exec, reaped, status, usage, survivors))
    }

    /// Waits for the next event; true if the process exited.
    fn sleep(&mut self) -> io::Result<bool> {
        let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        fds.extend(self.others.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)));
        if let Some(openings) = &self.openings {
            fds.push(PollFd::new(openings.fd(), PollFlags::IN));
        }
        if self.ended.is_none() {
            fds.push(PollFd::from_borrowed_fd(self.stage.interrupt.fd(), PollFlags::IN));
        }
        if let Some(listener) = self.listener.as_ref().filter(|listener| listener.error.is_none()) {
            fds.push(PollFd::new(listener.socket(), PollFlags::IN));
        }
        let at = now();
        let left = Duration::from(self.deadline.since(at)).min(self.standstill.due(at));
        let woken = poll(&mut fds, Timespec::try_from(left).ok().as_ref());
        let at = now();
        match woken {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = !fds[0].revents().is_empty();
        let gone: Vec<bool> =
            fds[1..=self.others.len()].iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if !has_ended {
            self.standstill.look(self.pid, at);
        }
        self.note_exits(&gone, at);
        if let Some(openings) = &mut self.openings {
            openings.note(at);
        }
        Ok(has_ended)
    }

    /// The pauses of the process, if there were any.
    fn paused(&self) -> Option<Paused> {
        let slept = Nanos(asleep().0.saturating_sub(self.asleep.0));
        let suspended_ns = if slept < SHORTEST_SLEEP { Nanos::ZERO } else { slept };
        let stops = stops().saturating_sub(self.stops) + self.standstill.count();
        (stops > 0 || suspended_ns > Nanos::ZERO).then_some(Paused { suspended_ns, stops })
    }

    fn note_exits(&mut self, gone: &[bool], at: Moment) {
        let mut gone = gone.iter();
        let exits = &mut self.exits;
        self.others.retain(|&(pid, _)| {
            let has_ended = gone.next().copied().unwrap_or(false);
            if has_ended {
                exits.push(ProcessExit { pid, at });
            }
            !has_ended
        });
    }

    /// Reads the available messages.
    fn read(&mut self) {
        let Some(listener) = &mut self.listener else { return };
        listener.drain(&mut [0; READ_AT_ONCE]);
        let own = u32::try_from(self.pid.as_raw_nonzero().get()).unwrap_or(0);
        for message in &listener.messages[self.heard..] {
            if let Message::Hello(hello) = message
                && hello.pid != own
                && let Some(fd) = open(hello.pid)
            {
                self.others.push((hello.pid, fd));
            }
        }
        self.heard = listener.messages.len();
    }

    fn reason_to_end(&self) -> Option<Outcome> {
        if let Some(error) = self.listener.as_ref().and_then(|listener| listener.error.as_ref()) {
            return Some(Outcome::Broke { error: error.to_string() });
        }
        if self.stage.interrupt.is_set() {
            return Some(Outcome::Interrupted);
        }
        let at = now();
        (at >= self.deadline).then(|| Outcome::TimedOut { after_ns: at.since(self.spawn) })
    }

    /// Sends SIGTERM to the whole group the first time, SIGKILL the second time.
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
        mut self,
        exec: Moment,
        reaped: Moment,
        status: ExitStatus,
        usage: Usage,
        survivors: u32,
    ) -> Observation {
        let paused = self.paused();
        let (messages, error) = self.listener.as_mut().map_or((Vec::new(), None), Listener::finish);
        self.stage.idle = self.listener.filter(Listener::is_untouched);
        let broke = error.map(|error| Outcome::Broke { error: error.to_string() });
        let outcome = self.ended.or(broke).unwrap_or_else(|| outcome(status));
        let mut streams = self.stage.capture.read();
        if outcome == Outcome::Completed {
            // Output is kept only for failed processes, where it explains the failure.
            streams.stdout_tail.clear();
            streams.stderr_tail.clear();
        }
        Observation {
            spawn: self.spawn,
            exec,
            reaped,
            outcome,
            messages,
            usage,
            streams,
            survivors,
            exits: self.exits,
            opened: self.openings.map(|openings| openings.moments).unwrap_or_default(),
            paused,
        }
    }
}

/// A descriptor that becomes readable when the process ends; none for one that is gone.
fn open(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Completed,
        (Some(code), _) => Outcome::Exited { code },
        (None, signal) => Outcome::Killed { signal: signal.unwrap_or(0) },
    }
}
