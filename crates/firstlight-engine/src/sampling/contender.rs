//! One arm of a case: its program, its caches, what was taken of it.

use firstlight_schema::message::{Iterate, Prepare, Request};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::{SampleRole, Subject};
use firstlight_schema::suite::{ArmFile, CaseFile, EnvironmentFile, Program, Regime};
use firstlight_schema::variables;

use super::command::priming;
use super::session::{Observer, Session, Target};
use super::suite::{ArmReadings, Guide, RegimeReadings, SuitePlan};
use crate::EngineError;
use crate::process::{Launch, Show};
use crate::python::resolve;

/// Cheaper than `-m`, which imports a good part of the standard library to find a module.
const RUNNER: &str = "from firstlight.runner import main; main()";

/// A steady state cannot be told from fewer calls.
const FEWEST_CALLS: u32 = 10;

/// Calls after the window that tell whether calls are over when they return. Short ones are easily
/// disturbed, so it takes more of them: of three, the first is slow and the next may be.
const SETTLE: Iterate = Iterate { count: 15, within_ns: Some(Nanos(300_000_000)), at_least: 3 };

pub(super) struct Contender<'a> {
    plan: &'a SuitePlan<'a>,
    case: &'a CaseFile,
    /// Whether this is the arm's second measurement, as a control.
    again: bool,
    prepare: Prepare,
    iterations: u32,
    target: Target,
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
        let readings = ArmReadings { arm: name, priming: Vec::new(), regimes, stopped: None };
        let prepare = prepare(case, arm);
        Ok(Self {
            plan,
            case,
            again,
            prepare,
            iterations: plan.suite.file.warm.iterations,
            target: target(plan, arm)?,
            readings,
        })
    }

    /// From now on a window has at most so many calls.
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

    /// All at once: the process never waits for us inside a measured stretch.
    fn requests(&self, regime: Regime) -> Vec<Request> {
        let warm = &self.plan.suite.file.warm;
        let prepare = Request::Prepare(self.prepare.clone());
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

    /// One process fills the caches for all regimes.
    pub(super) fn prime(
        &mut self,
        session: &mut Session<'_>,
        observer: &mut dyn Observer,
        guide: &mut dyn Guide,
    ) -> Result<(), EngineError> {
        let policy = priming(self.plan.suite.file.policy(&self.readings.arm, Regime::ColdPrimed));
        let subject = self.subject(None, None);
        observer.starting(SampleRole::Priming, Some(&subject));
        self.target.ask(&self.requests(Regime::ColdPrimed));
        let role = SampleRole::Priming;
        let sample = session.take(&mut self.target, policy, role, Some(subject.clone()))?;
        observer.taken(&sample);
        self.readings.stopped = guide.gives_up(&subject, &sample);
        if self.readings.stopped.is_none() {
            self.target.scratch.keep_as_primed()?;
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
        let policy = self.plan.suite.file.policy(&self.readings.arm, regime);
        let subject = self.subject(Some(regime), Some(round));
        observer.starting(SampleRole::Measured, Some(&subject));
        self.target.ask(&self.requests(regime));
        let role = SampleRole::Measured;
        let sample = session.take(&mut self.target, policy, role, Some(subject.clone()))?;
        observer.taken(&sample);
        self.readings.stopped = guide.gives_up(&subject, &sample);
        let of_regime = self.readings.regimes.iter_mut().find(|known| known.regime == regime);
        of_regime.expect("a regime of the suite").samples.push((round, sample));
        Ok(())
    }
}

/// What an arm's process is asked to do in a case.
pub(crate) fn prepare(case: &CaseFile, arm: &ArmFile) -> Prepare {
    Prepare {
        workload: match arm.program() {
            Program::Workload(workload) => Some(workload.to_owned()),
            Program::Command(_) => None,
        },
        case: case.name.get_ref().clone(),
        parameters: case.parameters.clone(),
        arm: arm.name.get_ref().clone(),
        options: arm.options.clone(),
    }
}

/// What is started for an arm; what it is asked comes later.
pub(crate) fn target(plan: &SuitePlan<'_>, arm: &ArmFile) -> Result<Target, EngineError> {
    let file = &plan.suite.file;
    let (program, arguments, hooked) = match arm.program() {
        Program::Workload(_) => {
            let python = plan.python.expect("suites with workloads in Python have an interpreter");
            (python.to_owned(), vec!["-c".into(), RUNNER.into()], true)
        }
        Program::Command(words) => {
            let typed = if words[0].contains('/') {
                plan.suite.folder.join(&words[0]).to_string_lossy().into_owned()
            } else {
                words[0].clone()
            };
            (resolve(&typed)?.program, words[1..].iter().map(Into::into).collect(), false)
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
        directory: Some(plan.suite.folder.clone()),
        variables,
        requests: Vec::new(),
        timeout: file.sampling.timeout,
        show: Show::Tail,
        interpreter: None,
    };
    let policy = plan.suite.file.policy(arm.name.get_ref(), file.regimes[0]);
    let mut target = Target::new(launch, hooked, policy, &[])?;
    if arm.artefacts {
        let folder = target.scratch.artefacts()?;
        target.launch.variables.push((variables::ARTEFACTS.into(), Some(folder.into())));
    }
    Ok(target)
}
