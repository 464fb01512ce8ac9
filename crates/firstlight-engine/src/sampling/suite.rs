//! Samples a suite: case by case, its arms and regimes interleaved.

use std::path::Path;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Message, Prepare, Request};
use firstlight_schema::reading::{RawSample, SampleRole, Subject};
use firstlight_schema::suite::{ArmFile, CaseFile, EnvironmentFile, Program, Regime};

use super::command::{is_fine, priming};
use super::plan::rounds;
use super::session::{Observer, Session, Target};
use crate::EngineError;
use crate::process::{Launch, Show};
use crate::python::resolve;
use crate::suites::Suite;

/// Cheaper than `-m`, which imports a good part of the standard library to find a module.
const RUNNER: &str = "from firstlight.runner import main; main()";

/// An arm that fails this often in a row is given up.
const FAILURES_IN_A_ROW: u32 = 2;

#[derive(Debug)]
pub struct SuitePlan<'a> {
    pub suite: &'a Suite,
    /// The interpreter for workloads in Python; suites without any need none.
    pub python: Option<&'a Path>,
    /// Overrides the suite's own number.
    pub processes: u32,
    pub seed: u64,
}

#[derive(Debug)]
pub struct ArmReadings {
    pub arm: String,
    pub priming: Vec<RawSample>,
    pub regimes: Vec<(Regime, CachePolicy, Vec<RawSample>)>,
    /// Why it was given up.
    pub stopped: Option<Reason>,
}

impl SuitePlan<'_> {
    /// How many processes will be started if nothing fails.
    pub fn processes_in_all(&self) -> u32 {
        let file = &self.suite.file;
        let regimes = u32::try_from(file.regimes.len()).unwrap_or(u32::MAX);
        let arms: usize = file.cases.iter().map(|case| file.arms_of(case).count()).sum();
        let arms = u32::try_from(arms).unwrap_or(u32::MAX);
        let primings =
            u32::from(file.regimes.iter().any(|&regime| self.policy(regime).needs_priming()));
        arms * (regimes * self.processes + primings)
    }

    fn policy(&self, regime: Regime) -> CachePolicy {
        CachePolicy {
            compilers: regime.compilers(),
            bytecode: self.suite.file.cache.bytecode,
            page_cache: Policy::AsFound,
        }
    }

    fn target(&self, case: &CaseFile, arm: &ArmFile) -> Result<Target, EngineError> {
        let file = &self.suite.file;
        let workload = match arm.program() {
            Program::Workload(workload) => Some(workload.to_owned()),
            Program::Command(_) => None,
        };
        let (program, arguments) = match arm.program() {
            Program::Workload(_) => {
                let python =
                    self.python.expect("suites with workloads in Python have an interpreter");
                (python.to_owned(), vec!["-c".into(), RUNNER.into()])
            }
            Program::Command(words) => {
                let typed = if words[0].contains('/') {
                    self.suite.folder.join(&words[0]).to_string_lossy().into_owned()
                } else {
                    words[0].clone()
                };
                (resolve(&typed)?.program, words[1..].iter().map(Into::into).collect())
            }
        };
        let variables = match &file.environment {
            EnvironmentFile::AsFound => Vec::new(),
            EnvironmentFile::Provisioned(provisioned) => provisioned
                .variables
                .iter()
                .map(|(name, value)| (name.into(), Some(value.into())))
                .collect(),
        };
        let prepare = Prepare {
            workload: workload.clone(),
            case: case.name.get_ref().clone(),
            parameters: case.parameters.clone(),
            arm: arm.name.get_ref().clone(),
            options: arm.options.clone(),
        };
        let launch = Launch {
            program,
            arguments,
            directory: Some(self.suite.folder.clone()),
            variables,
            // All at once: the process never waits for us inside the measured stretch.
            requests: vec![Request::Prepare(prepare), Request::First, Request::Finish],
            timeout: file.sampling.timeout,
            show: Show::Tail,
        };
        Target::new(launch, workload.is_some(), self.policy(file.regimes[0]), &[])
    }
}

struct Contender<'a> {
    arm: &'a ArmFile,
    target: Target,
    readings: ArmReadings,
    failures: u32,
}

/// Takes all samples of one case; a failing arm does not stop the others.
pub fn sample_case(
    session: &mut Session<'_>,
    plan: &SuitePlan<'_>,
    case: &CaseFile,
    observer: &mut dyn Observer,
) -> Result<Vec<ArmReadings>, EngineError> {
    let file = &plan.suite.file;
    let mut contenders = Vec::new();
    for arm in file.arms_of(case) {
        let mut contender = Contender::new(plan, case, arm)?;
        if file.regimes.iter().any(|&regime| plan.policy(regime).needs_priming()) {
            contender.prime(session, plan, case, observer)?;
        }
        contenders.push(contender);
    }
    let regimes = file.regimes.len();
    for round in rounds(contenders.len() * regimes, plan.processes, plan.seed) {
        for turn in round {
            let contender = &mut contenders[turn / regimes];
            if contender.readings.stopped.is_none() && !session.is_interrupted() {
                contender.sample(session, case, turn % regimes, observer)?;
            }
        }
    }
    Ok(contenders.into_iter().map(|contender| contender.readings).collect())
}

impl<'a> Contender<'a> {
    fn new(plan: &SuitePlan<'_>, case: &CaseFile, arm: &'a ArmFile) -> Result<Self, EngineError> {
        let regimes = &plan.suite.file.regimes;
        let readings = ArmReadings {
            arm: arm.name.get_ref().clone(),
            priming: Vec::new(),
            regimes: regimes
                .iter()
                .map(|&regime| (regime, plan.policy(regime), Vec::new()))
                .collect(),
            stopped: None,
        };
        Ok(Self { arm, target: plan.target(case, arm)?, readings, failures: 0 })
    }

    fn subject(&self, case: &CaseFile, regime: Option<Regime>) -> Subject {
        Subject { case: case.name.get_ref().clone(), arm: self.arm.name.get_ref().clone(), regime }
    }

    /// One process fills the caches for all regimes.
    fn prime(
        &mut self,
        session: &mut Session<'_>,
        plan: &SuitePlan<'_>,
        case: &CaseFile,
        observer: &mut dyn Observer,
    ) -> Result<(), EngineError> {
        let policy = priming(plan.policy(Regime::ColdPrimed));
        let subject = self.subject(case, None);
        observer.starting(SampleRole::Priming, Some(&subject));
        let sample = session.take(&mut self.target, policy, SampleRole::Priming, Some(subject))?;
        observer.taken(&sample);
        if has_failed(&sample) {
            self.readings.stopped = Some(Reason::new(
                Finding::ProcessFailed,
                format!("the process that should fill the caches failed: {}", why(&sample)),
            ));
        } else {
            self.target.scratch.keep_as_primed()?;
        }
        self.readings.priming.push(sample);
        Ok(())
    }

    fn sample(
        &mut self,
        session: &mut Session<'_>,
        case: &CaseFile,
        regime: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), EngineError> {
        let (name, policy, _) = self.readings.regimes[regime];
        let subject = self.subject(case, Some(name));
        observer.starting(SampleRole::Measured, Some(&subject));
        let sample = session.take(&mut self.target, policy, SampleRole::Measured, Some(subject))?;
        observer.taken(&sample);
        self.failures = if has_failed(&sample) { self.failures + 1 } else { 0 };
        if self.failures == FAILURES_IN_A_ROW {
            let text = format!("failed {FAILURES_IN_A_ROW} times in a row: {}", why(&sample));
            self.readings.stopped = Some(Reason::new(Finding::ProcessFailed, text));
        }
        self.readings.regimes[regime].2.push(sample);
        Ok(())
    }
}

fn has_failed(sample: &RawSample) -> bool {
    !is_fine(sample, false) || failure(sample).is_some()
}

fn failure(sample: &RawSample) -> Option<&str> {
    sample.messages.iter().find_map(|message| match message {
        Message::Failed(failed) => Some(failed.error.as_str()),
        _ => None,
    })
}

fn why(sample: &RawSample) -> String {
    failure(sample).map_or_else(|| format!("{:?}", sample.outcome), str::to_owned)
}
