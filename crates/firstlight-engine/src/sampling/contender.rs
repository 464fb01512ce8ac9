//! One arm of a case: its program, its caches, its processes so far.

use std::path::PathBuf;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::message::{Iterate, Prepare, Request};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::{RawSample, SampleRole, Subject};
use firstlight_schema::suite::{ArmFile, CaseFile, EnvironmentFile, Program, Regime};
use firstlight_schema::times::SETTLE_CALLS;
use firstlight_schema::variables;

use super::plan::swaps;
use super::session::{Observer, Session, Target};
use super::suite::{ArmReadings, Guide, RegimeReadings, SuitePlan};
use crate::EngineError;
use crate::process::Launch;
use crate::python::{Interpreter, resolve};
use crate::suites::Place;

/// Cheaper than `-m`, which imports a good part of the standard library to find a module.
const RUNNER: &str = "from firstlight.runner import main; main()";

/// Fewer calls cannot show a steady state.
const FEWEST_CALLS: u32 = 10;

/// Calls after the window that test whether calls have finished when they return. Short calls are easily
/// disturbed, so more of them are made.
const SETTLE: Iterate =
    Iterate { count: SETTLE_CALLS, within_ns: Some(Nanos(300_000_000)), at_least: 3 };

pub(super) struct Contender<'a> {
    plan: &'a SuitePlan<'a>,
    case: &'a CaseFile,
    /// Whether this is the arm's second measurement, as a control.
    again: bool,
    /// Its first requests; an unchanged command gets none.
    prepare: Option<Prepare>,
    iterations: u32,
    target: Target,
    /// Whether its caches still have to be filled.
    needs_priming: bool,
    pub(super) readings: ArmReadings,
}

impl<'a> Contender<'a> {
    pub(super) fn new(
        plan: &'a SuitePlan<'a>,
        case: &'a CaseFile,
        arm: &ArmFile,
        again: bool,
    ) -> Result<Self, EngineError> {
        let name = arm.name.get_ref().clone();
        let regimes = plan
            .suite
            .file
            .regimes_of(case)
            .into_iter()
            .map(|regime| RegimeReadings {
                regime,
                policy: plan.suite.file.policy(&name, regime),
                samples: Vec::new(),
            })
            .collect();
        let readings =
            ArmReadings { arm: name.clone(), priming: Vec::new(), regimes, stopped: None };
        let arm = plan.suite.started_arm(arm);
        let place = plan.suite.places.get(&name);
        let prepare = (!arm.is_process()).then(|| named(prepare(case, arm), place));
        Ok(Self {
            plan,
            case,
            again,
            prepare,
            iterations: plan.suite.file.warm.iterations,
            target: target(plan, arm)?,
            needs_priming: plan.needs_priming(case),
            readings,
        })
    }

    /// Limits the calls of later windows.
    pub(super) fn set_iterations(&mut self, iterations: u32) {
        self.iterations = iterations.clamp(FEWEST_CALLS, self.plan.suite.file.warm.iterations);
    }

    fn subject(&self, regime: Option<Regime>, round: Option<u32>) -> Subject {
        Subject {
            case: self.case.name.get_ref().clone(),
            arm: self.readings.arm.clone(),
            regime,
            round,
            again: self.again,
        }
    }

    /// All requests at once, so that the process never waits for firstlight inside a measured stretch.
    fn requests(&self, regime: Regime) -> Vec<Request> {
        let warm = &self.plan.suite.file.warm;
        let Some(prepare) = self.prepare.clone().map(Request::Prepare) else { return Vec::new() };
        if regime.is_cold() {
            return vec![prepare, Request::First, Request::Finish];
        }
        let within_ns = Some(Nanos::from(warm.within));
        vec![
            prepare,
            Request::WarmUp(Iterate { count: warm.warm_up, within_ns: None, at_least: 1 }),
            Request::Iterate(Iterate { count: self.iterations, within_ns, at_least: FEWEST_CALLS }),
            Request::Settle(SETTLE),
            Request::Finish,
        ]
    }

    /// One process fills the caches for all regimes. Caches do not outlive a run, so a resumed one fills
    /// them again.
    pub(super) fn prime(
        &mut self,
        session: &mut Session<'_>,
        observer: &mut dyn Observer,
        guide: &mut dyn Guide,
    ) -> Result<(), EngineError> {
        if !self.needs_priming || self.readings.stopped.is_some() || session.is_interrupted() {
            return Ok(());
        }
        let policy = priming(self.plan.suite.file.policy(&self.readings.arm, Regime::ColdPrimed));
        let subject = self.subject(None, None);
        observer.starting(SampleRole::Priming, Some(&subject));
        self.target.ask(&self.requests(Regime::ColdPrimed));
        let was_replaying = session.is_replaying();
        let sample = session.take(&mut self.target, policy, SampleRole::Priming, &subject)?;
        observer.taken(&sample);
        self.readings.stopped = guide.gives_up(&subject, &sample);
        if self.readings.stopped.is_none() && !was_replaying {
            self.target.scratch.keep_as_primed()?;
            self.needs_priming = false;
        }
        self.readings.priming.push(sample);
        Ok(())
    }

    pub(super) fn sample(
        &mut self,
        session: &mut Session<'_>,
        round: u32,
        regime: Regime,
        observer: &mut dyn Observer,
        guide: &mut dyn Guide,
    ) -> Result<(), EngineError> {
        for role in self.roles(round) {
            self.prime_again(session, observer, guide)?;
            if self.readings.stopped.is_some() || session.is_interrupted() {
                return Ok(());
            }
            let subject = self.subject(Some(regime), Some(round));
            for sample in self.take(session, round, regime, role, observer)? {
                self.readings.stopped = guide.gives_up(&subject, &sample);
                let known = self.readings.regimes.iter_mut().find(|known| known.regime == regime);
                known.expect("a regime of the suite").samples.push((round, sample));
            }
        }
        Ok(())
    }

    /// Fills the caches where they are still empty. An earlier part of a resumed run did so at this
    /// point as often as it was resumed.
    fn prime_again(
        &mut self,
        session: &mut Session<'_>,
        observer: &mut dyn Observer,
        guide: &mut dyn Guide,
    ) -> Result<(), EngineError> {
        let subject = self.subject(None, None);
        while self.readings.stopped.is_none() && session.replays_priming_of(&subject) {
            self.prime(session, observer, guide)?;
        }
        if !session.is_replaying() {
            self.prime(session, observer, guide)?;
        }
        Ok(())
    }

    /// The processes of one turn: the measured one and, if requested, one without hooks.
    fn roles(&self, round: u32) -> Vec<SampleRole> {
        let sampling = &self.plan.suite.file.sampling;
        if self.prepare.is_some() || !sampling.unhooked {
            return vec![SampleRole::Measured];
        }
        let mut roles = vec![SampleRole::Measured, SampleRole::Control];
        let swapped = swaps(round, sampling.seed).last().copied().unwrap_or(false);
        if swapped {
            roles.reverse();
        }
        roles
    }

    /// Takes one process of a turn, and another one where the first only showed what to watch or could not
    /// import `firstlight`.
    fn take(
        &mut self,
        session: &mut Session<'_>,
        round: u32,
        regime: Regime,
        role: SampleRole,
        observer: &mut dyn Observer,
    ) -> Result<Vec<RawSample>, EngineError> {
        let policy = self.plan.suite.file.policy(&self.readings.arm, regime);
        let subject = self.subject(Some(regime), Some(round));
        observer.starting(role, Some(&subject));
        self.target.ask(&self.requests(regime));
        let mut samples = Vec::new();
        let first = session.take(&mut self.target, policy, role, &subject)?;
        let only_shows = first.role != role;
        let again = only_shows || first.misses_firstlight() && self.target.lend_firstlight();
        if only_shows {
            self.readings.priming.push(first);
        } else {
            samples.push(first);
        }
        if again {
            samples.push(session.take(&mut self.target, policy, role, &subject)?);
        }
        if let Some(last) = samples.last() {
            observer.taken(last);
        }
        Ok(samples)
    }
}

/// Under which the caches are filled: private and empty at first.
fn priming(policy: CachePolicy) -> CachePolicy {
    let fill = |of: Policy| match of {
        Policy::AsFound | Policy::AsConfigured => of,
        Policy::Clean | Policy::Primed | Policy::Disabled => Policy::Clean,
    };
    CachePolicy {
        compilers: fill(policy.compilers),
        bytecode: fill(policy.bytecode),
        page_cache: policy.page_cache,
    }
}

/// The requests to a process of an arm.
pub(crate) fn prepare(case: &CaseFile, arm: &ArmFile) -> Prepare {
    Prepare {
        workload: match arm.program() {
            Program::Workload(workload) => Some(workload.to_owned()),
            Program::Command(_) | Program::Process(_) => None,
        },
        case: case.name.get_ref().clone(),
        parameters: case.parameters.clone(),
        arm: arm.name.get_ref().clone(),
        options: arm.options.clone(),
    }
}

/// The same request with the names that the workload knows.
fn named(mut prepare: Prepare, place: Option<&Place>) -> Prepare {
    if let Some(place) = place {
        prepare.arm.clone_from(&place.arm);
        if let Some(case) = place.cases.get(&prepare.case) {
            prepare.case.clone_from(case);
        }
    }
    prepare
}

/// The program of an arm, without its requests.
pub(crate) fn target(plan: &SuitePlan<'_>, arm: &ArmFile) -> Result<Target, EngineError> {
    let file = plan.suite.started();
    let arm = plan.suite.started_arm(arm);
    let place = plan.suite.places.get(arm.name.get_ref());
    let folder = place.map_or(&plan.suite.folder, |place| &place.folder);
    let (program, arguments, hooked) = match arm.program() {
        Program::Workload(_) => {
            let own = place.and_then(|place| place.python.as_deref());
            let python =
                own.or(plan.python).expect("suites with workloads in Python have an interpreter");
            (python.to_owned(), vec!["-c".into(), RUNNER.into()], true)
        }
        Program::Command(words) => {
            let typed = if words[0].contains('/') {
                folder.join(&words[0]).to_string_lossy().into_owned()
            } else {
                words[0].clone()
            };
            (resolve(&typed)?.program, words[1..].iter().map(Into::into).collect(), false)
        }
        Program::Process(words) => {
            let typed = match place {
                Some(place) if words[0].contains('/') => {
                    place.folder.join(&words[0]).to_string_lossy().into_owned()
                }
                _ => words[0].clone(),
            };
            (resolve(&typed)?.program, words[1..].iter().map(Into::into).collect(), true)
        }
    };
    let of_all = match &file.environment {
        EnvironmentFile::AsFound => None,
        EnvironmentFile::Provisioned(provisioned) => Some(&provisioned.variables),
    };
    let variables = of_all
        .into_iter()
        .flatten()
        .chain(&arm.variables)
        .map(|(name, value)| (name.into(), Some(value.into())))
        .collect();
    let launch = Launch {
        program,
        arguments,
        // A process runs where firstlight was started, as it would without it, or in its checkout.
        directory: (!arm.is_process() || place.is_some()).then(|| folder.clone()),
        variables,
        requests: Vec::new(),
        timeout: file.sampling.timeout,
        show: plan.show,
        stdin: file.sampling.stdin.as_ref().filter(|_| arm.is_process()).map(PathBuf::from),
        interpreter: None,
    };
    let policy = plan.suite.file.policy(arm.name.get_ref(), file.regimes[0]);
    let folders = match policy.page_cache {
        Policy::AsFound => Vec::new(),
        _ => Interpreter::ask(&launch.program)?.folders,
    };
    let mut target = Target::new(launch, hooked, policy, &folders)?;
    target.is_process = arm.is_process();
    let own = place.map(|place| place.folder.clone());
    if let Some(folder) = own.or_else(|| std::env::current_dir().ok()) {
        target.launch.variables.push((variables::STARTED_IN.into(), Some(folder.into())));
    }
    if arm.artefacts {
        let folder = target.scratch.artefacts()?;
        target.launch.variables.push((variables::ARTEFACTS.into(), Some(folder.into())));
    }
    Ok(target)
}
