//! A session measures processes one after the other and records the readings of each. A resumed session first
//! replays the recorded processes, in the same order.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::cache::{CachePolicy, Layer, LayerReading, Policy};
use firstlight_schema::message::{Message, Request};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::{Outcome, RawRecord, RawSample, SampleRole, Subject};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::EngineError;
use crate::cache::{PageCache, Scratch};
use crate::interrupt::Interrupt;
use crate::machine::BusyTime;
use crate::privacy::Identity;
use crate::process::{Launch, Observation, Stage, Start};
use crate::python::Hooks;
use crate::store::{RunFolder, now_utc};

/// Receives a run's progress, between processes only.
pub trait Observer {
    /// A process is about to start.
    fn starting(&mut self, role: SampleRole, subject: Option<&Subject>);
    /// Its readings are on disk.
    fn taken(&mut self, sample: &RawSample);
    /// The number of further planned processes.
    fn extended(&mut self, processes: u32);
}

/// A program that is started repeatedly, with private caches.
#[derive(Debug)]
pub struct Target {
    /// The command without settings for caches and hooks.
    pub launch: Launch,
    pub scratch: Scratch,
    /// Files whose cached pages are part of a policy.
    pub page_cache: Option<PageCache>,
    /// Whether the hooks are to be loaded into it.
    pub hooked: bool,
    /// Whether it is an unchanged command.
    pub is_process: bool,
    /// Whether a control must be able to import `firstlight`.
    lends_firstlight: bool,
    /// The command with all settings, for each way it has been started.
    prepared: Vec<((CachePolicy, SampleRole), Start)>,
}

impl Target {
    /// `folders` hold the files that a clean page cache must not hold.
    pub fn new(
        launch: Launch,
        hooked: bool,
        policy: CachePolicy,
        folders: &[PathBuf],
    ) -> Result<Self, EngineError> {
        let page_cache = match policy.page_cache {
            Policy::AsFound => None,
            Policy::Clean => Some(PageCache::below(folders)),
            other @ (Policy::Primed | Policy::Disabled | Policy::AsConfigured) => {
                return Err(EngineError::PageCachePolicy(other));
            }
        };
        Ok(Self {
            launch,
            scratch: Scratch::new()?,
            page_cache,
            hooked,
            is_process: false,
            lends_firstlight: false,
            prepared: Vec::new(),
        })
    }
}

impl Target {
    /// Sets the requests of its later processes.
    pub(super) fn ask(&mut self, requests: &[Request]) {
        if self.launch.requests != requests {
            self.launch.requests = requests.to_vec();
            self.prepared.clear();
        }
    }

    /// The interpreter that spoke, where scripts in front of it started it and nobody watches its file
    /// yet; from now on it is watched.
    fn discover(&mut self, sample: &RawSample) -> bool {
        if !self.is_process || sample.outcome != Outcome::Completed {
            return false;
        }
        let spoke = sample.messages.iter().find_map(|message| match message {
            Message::Hello(hello) => hello.executable.as_ref().map(PathBuf::from),
            _ => None,
        });
        let real = |path: &Path| fs::canonicalize(path).ok();
        let Some(found) = spoke.as_deref().and_then(real) else { return false };
        if self.launch.interpreter.is_some() || real(&self.launch.program) == Some(found.clone()) {
            return false;
        }
        self.launch.interpreter = Some(found);
        self.prepared.clear();
        true
    }

    /// Lets later controls import `firstlight`; false if they already could.
    pub(super) fn lend_firstlight(&mut self) -> bool {
        self.prepared.retain(|((_, role), _)| *role != SampleRole::Control);
        !std::mem::replace(&mut self.lends_firstlight, true)
    }
}

/// The state that all processes of a run share.
#[derive(Debug)]
pub struct Session<'a> {
    pub store: RunFolder,
    pub hooks: Hooks,
    stage: Stage<'a>,
    busy: BusyTime,
    /// The names to remove from the records.
    redacts: Option<Identity>,
    taken: u32,
    /// Records of an earlier part of this run that were not replayed yet.
    earlier: VecDeque<RawRecord>,
}

impl<'a> Session<'a> {
    pub fn new(
        store: RunFolder,
        hooks: Hooks,
        interrupt: &'a Interrupt,
        earlier: Vec<RawRecord>,
    ) -> Result<Self, EngineError> {
        let stage = Stage::new(store.path(), interrupt)?;
        let earlier = VecDeque::from(earlier);
        Ok(Self { store, hooks, stage, busy: BusyTime::new(), redacts: None, taken: 0, earlier })
    }

    /// Removes names of the machine and its user from later records.
    pub fn redact(&mut self, identity: Identity) {
        self.redacts = Some(identity);
    }

    /// A document as it may be published.
    pub fn published<T: Serialize + DeserializeOwned>(&self, document: T) -> T {
        match &self.redacts {
            Some(identity) => identity.redact_document(document),
            None => document,
        }
    }

    /// Whether the next process was taken before.
    pub(super) fn is_replaying(&self) -> bool {
        !self.earlier.is_empty()
    }

    /// Whether the next process was taken before, and filled the caches of this subject.
    pub(super) fn replays_priming_of(&self, subject: &Subject) -> bool {
        self.earlier.front().is_some_and(|record| {
            record.subject.as_ref() == Some(subject) && record.sample.role == SampleRole::Priming
        })
    }

    /// The next process, if an earlier part of the run recorded it. The plan follows from the seed and from what was
    /// measured, so it is the requested one.
    fn earlier(
        &mut self,
        target: &mut Target,
        role: SampleRole,
        subject: &Subject,
    ) -> Result<Option<RawSample>, EngineError> {
        let Some(record) = self.earlier.pop_front() else { return Ok(None) };
        let found = (record.subject.as_ref(), record.sample.role);
        let discovery = role == SampleRole::Measured && target.discover(&record.sample);
        if found != (Some(subject), if discovery { SampleRole::Priming } else { role }) {
            return Err(EngineError::NotAsPlanned { number: record.sample.number });
        }
        self.taken = record.sample.number;
        Ok(Some(record.sample))
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.stage.is_interrupted()
    }

    /// Takes one process: caches into their state, evidence before, the process, evidence after.
    pub(super) fn take(
        &mut self,
        target: &mut Target,
        policy: CachePolicy,
        role: SampleRole,
        subject: &Subject,
    ) -> Result<RawSample, EngineError> {
        if let Some(sample) = self.earlier(target, role, subject)? {
            return Ok(sample);
        }
        let before = target.scratch.prepare(policy)?;
        let start = self.prepare(target, policy, role)?;
        if let Some(pages) = &target.page_cache {
            pages.drop_all();
        }
        let pages_before = target.page_cache.as_ref().map(PageCache::count);
        let started = now_utc();
        let busy_before = self.busy.read();
        let observation = self.stage.observe(&mut target.prepared[start].1)?;
        let busy = self
            .busy
            .read()
            .zip(busy_before)
            .map(|(after, before)| Nanos(after.0.saturating_sub(before.0)));
        let mut caches = target.scratch.readings(policy, &before);
        if let Some((pages, before)) = target.page_cache.as_ref().zip(pages_before) {
            let (layer, policy) = (Layer::PageCache, policy.page_cache);
            caches.push(LayerReading {
                layer,
                policy,
                directory: None,
                before,
                after: pages.count(),
            });
        }
        self.taken += 1;
        let mut sample = assemble(self.taken, role, started, observation, busy, caches);
        // A process that shows which interpreter the command starts is not measured: the next ones also
        // show when it is started.
        if role == SampleRole::Measured && target.discover(&sample) {
            sample.role = SampleRole::Priming;
        }
        let mut record = RawRecord { subject: Some(subject.clone()), sample };
        if let Some(identity) = &self.redacts {
            record = identity.redact(&record);
        }
        self.store.append(&record)?;
        Ok(record.sample)
    }

    /// The index of the command with its settings among the prepared ones.
    fn prepare(
        &self,
        target: &mut Target,
        policy: CachePolicy,
        role: SampleRole,
    ) -> Result<usize, EngineError> {
        let key = (policy, role);
        if let Some(known) = target.prepared.iter().position(|(known, _)| *known == key) {
            return Ok(known);
        }
        let start = Start::new(self.launch(target, policy, role))?;
        target.prepared.push((key, start));
        Ok(target.prepared.len() - 1)
    }

    fn launch(&self, target: &Target, policy: CachePolicy, role: SampleRole) -> Launch {
        let mut launch = target.launch.clone();
        let caches = target.scratch.variables(policy, &launch.variables);
        launch.variables.extend(caches);
        match role {
            // As the user would start it, unless it would fail for want of `firstlight`.
            SampleRole::Control => {
                launch.requests.clear();
                if target.lends_firstlight {
                    launch.variables.extend(self.hooks.variables());
                }
            }
            SampleRole::Measured | SampleRole::Priming => {
                if target.hooked {
                    launch.variables.extend(self.hooks.variables());
                    if launch.requests.is_empty() {
                        launch.requests.push(Request::Watch);
                    }
                }
            }
        }
        launch
    }
}

/// Shrinks lists of calls to their length, because they are kept until the case is complete.
fn shrink(messages: &mut Vec<Message>) {
    messages.shrink_to_fit();
    for message in messages {
        if let Message::Iterations(block) = message {
            block.spans.shrink_to_fit();
        }
    }
}

fn assemble(
    number: u32,
    role: SampleRole,
    started: String,
    mut seen: Observation,
    machine_busy_ns: Option<Nanos>,
    caches: Vec<LayerReading>,
) -> RawSample {
    shrink(&mut seen.messages);
    RawSample {
        number,
        role,
        started,
        spawn: seen.spawn,
        exec: seen.exec,
        reaped: seen.reaped,
        outcome: seen.outcome,
        messages: seen.messages,
        usage: seen.usage,
        machine_busy_ns,
        caches,
        streams: seen.streams,
        survivors: seen.survivors,
        exits: seen.exits,
        opened: seen.opened,
        paused: seen.paused,
    }
}
