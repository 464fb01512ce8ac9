//! Samples a suite: case by case, its arms interleaved regime by regime, round by round.

use std::path::Path;
use std::time::Duration;

use firstlight_schema::cache::CachePolicy;
use firstlight_schema::finding::Reason;
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::reading::{RawRecord, RawSample, Subject};
use firstlight_schema::suite::{CaseFile, Regime};

use super::contender::Contender;
use super::plan::Rounds;
use super::session::{Observer, Session};
use crate::EngineError;
use crate::clock::now;
use crate::process::Show;
use crate::suites::Suite;

#[derive(Debug)]
pub struct SuitePlan<'a> {
    pub suite: &'a Suite,
    /// The interpreter for workloads in Python; suites without any need none.
    pub python: Option<&'a Path>,
    /// The destination of the processes' output.
    pub show: Show,
    /// No round begins after this.
    pub deadline: Option<Moment>,
}

/// Everything that was taken of one case.
#[derive(Debug, Default)]
pub struct CaseReadings {
    pub arms: Vec<ArmReadings>,
    /// The reference arm a second time.
    pub again: Option<ArmReadings>,
}

#[derive(Debug)]
pub struct ArmReadings {
    pub arm: String,
    pub priming: Vec<RawSample>,
    pub regimes: Vec<RegimeReadings>,
    /// Why it was abandoned.
    pub stopped: Option<Reason>,
}

#[derive(Debug)]
pub struct RegimeReadings {
    pub regime: Regime,
    pub policy: CachePolicy,
    /// With the round in which each was taken: those of one round were taken side by side.
    pub samples: Vec<(u32, RawSample)>,
}

impl CaseReadings {
    /// The lines of `raw.jsonl` that this case has, in order.
    pub fn into_records(self, case: &CaseFile) -> Vec<RawRecord> {
        let again = self.again.into_iter().map(|arm| (true, arm));
        let mut records = Vec::new();
        for (again, arm) in self.arms.into_iter().map(|arm| (false, arm)).chain(again) {
            let subject = |regime, round| Subject {
                case: case.name.get_ref().clone(),
                arm: arm.arm.clone(),
                regime,
                round,
                again,
            };
            let record =
                |regime, round, sample| RawRecord { subject: Some(subject(regime, round)), sample };
            records.extend(arm.priming.into_iter().map(|sample| record(None, None, sample)));
            for of in arm.regimes {
                let samples = of.samples.into_iter();
                records.extend(
                    samples.map(|(round, sample)| record(Some(of.regime), Some(round), sample)),
                );
            }
        }
        records.sort_by_key(|record| record.sample.number);
        records
    }
}

/// The decision after the warm processes so far: whether they are enough, and the next calls of each arm.
#[derive(Debug, Default)]
pub struct Guidance {
    pub enough: bool,
    /// Calls in the window of further processes, arm by arm, the control last.
    pub iterations: Vec<Option<u32>>,
}

/// Decides how a case continues, from the readings so far.
pub trait Guide {
    /// Why the arm is abandoned after this process, if it is.
    fn gives_up(&mut self, subject: &Subject, sample: &RawSample) -> Option<Reason>;

    /// Looks at the warm processes after a block of rounds. It may move the readings out temporarily, and
    /// returns them unchanged.
    fn guide(&mut self, arms: &mut [&mut ArmReadings]) -> Guidance;
}

/// The moment after which no round begins, for a run that may take so long.
pub fn deadline(limit: Duration) -> Moment {
    now() + Nanos::from(limit)
}

impl SuitePlan<'_> {
    /// How many processes will be started if nothing fails and nothing needs more.
    pub fn processes_in_all(&self) -> u32 {
        let file = &self.suite.file;
        let of_case = |case: &CaseFile| {
            let per_arm: u32 =
                file.regimes_of(case).into_iter().map(|regime| file.least(regime)).sum();
            let arms = file.arms_of(case).count() + file.control_of(case).iter().count();
            let per_arm = if file.sampling.unhooked { per_arm * 2 } else { per_arm };
            let each = per_arm + u32::from(self.needs_priming(case));
            u32::try_from(arms).unwrap_or(u32::MAX).saturating_mul(each)
        };
        file.cases.iter().map(of_case).sum()
    }

    /// Whether the run has used up its time.
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| now() >= deadline)
    }

    /// Whether any part of a case needs a primed cache.
    pub(super) fn needs_priming(&self, case: &CaseFile) -> bool {
        let file = &self.suite.file;
        let regimes = file.regimes_of(case);
        file.arms_of(case).any(|arm| {
            let policy = |&regime: &Regime| file.policy(arm.name.get_ref(), regime);
            regimes.iter().map(policy).any(CachePolicy::needs_priming)
        })
    }
}

/// Takes all samples of one case; a failing arm does not stop the others.
pub fn sample_case(
    session: &mut Session<'_>,
    plan: &SuitePlan<'_>,
    case: &CaseFile,
    observer: &mut dyn Observer,
    guide: &mut dyn Guide,
) -> Result<CaseReadings, EngineError> {
    let mut sampler = CaseSampler::new(session, plan, case, observer)?;
    sampler.take_all(guide)?;
    Ok(sampler.finish())
}

struct CaseSampler<'a, 'b> {
    session: &'a mut Session<'b>,
    plan: &'a SuitePlan<'a>,
    case: &'a CaseFile,
    observer: &'a mut dyn Observer,
    /// The control is the last one, if there is one.
    contenders: Vec<Contender<'a>>,
    rounds: Rounds,
    has_control: bool,
}

impl<'a, 'b> CaseSampler<'a, 'b> {
    fn new(
        session: &'a mut Session<'b>,
        plan: &'a SuitePlan<'a>,
        case: &'a CaseFile,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, EngineError> {
        let file = &plan.suite.file;
        let control = file.control_of(case);
        let again = file.arms_of(case).find(|arm| Some(arm.name.get_ref().as_str()) == control);
        let contenders = file
            .arms_of(case)
            .map(|arm| Contender::new(plan, case, arm, false))
            .chain(again.map(|arm| Contender::new(plan, case, arm, true)))
            .collect::<Result<Vec<_>, _>>()?;
        let rounds = Rounds::new(contenders.len(), file.sampling.seed);
        let has_control = control.is_some();
        Ok(Self { session, plan, case, observer, contenders, rounds, has_control })
    }

    fn take_all(&mut self, guide: &mut dyn Guide) -> Result<(), EngineError> {
        let regimes = self.plan.suite.file.regimes_of(self.case);
        for contender in &mut self.contenders {
            contender.prime(self.session, self.observer, guide)?;
        }
        let warm = &self.plan.suite.file.warm;
        let mut wants_more = true;
        for round in 1.. {
            let wanted = |regime: Regime| {
                let further = !regime.is_cold() && wants_more && round <= warm.most_processes;
                round <= self.plan.suite.file.least(regime) || further
            };
            let regimes: Vec<Regime> =
                regimes.iter().copied().filter(|&regime| wanted(regime)).collect();
            if regimes.is_empty() || self.is_over() {
                return Ok(());
            }
            self.take_round(round, &regimes, guide)?;
            if wants_more && round >= warm.processes {
                let spent = Duration::from(self.spent());
                wants_more = if self.rounds.is_balanced() {
                    self.ask(guide, round, spent)
                } else {
                    // A block is finished once it is begun, or the order would not cancel.
                    round < warm.most_processes
                };
                if wants_more {
                    self.observer.extended(self.going());
                }
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let given_up = |contender: &Contender<'_>| contender.readings.stopped.is_some();
        let no_time = !self.session.is_replaying() && self.plan.is_over();
        no_time || self.session.is_interrupted() || self.contenders.iter().all(given_up)
    }

    /// The time that the processes of this case took.
    fn spent(&self) -> Nanos {
        let readings = self.contenders.iter().map(|contender| &contender.readings);
        let samples = readings.flat_map(|of| of.regimes.iter().flat_map(|regime| &regime.samples));
        samples.map(|(_, sample)| sample.wall()).sum()
    }

    /// Every arm once in each regime; the arms of one regime follow each other.
    fn take_round(
        &mut self,
        round: u32,
        regimes: &[Regime],
        guide: &mut dyn Guide,
    ) -> Result<(), EngineError> {
        let order = self.rounds.next_round();
        for &regime in regimes {
            for &turn in &order {
                let contender = &mut self.contenders[turn];
                if contender.readings.stopped.is_none() && !self.session.is_interrupted() {
                    contender.sample(self.session, round, regime, self.observer, guide)?;
                }
            }
        }
        Ok(())
    }

    /// Whether another block of warm processes is to be taken.
    fn ask(&mut self, guide: &mut dyn Guide, round: u32, spent: Duration) -> bool {
        const BLOCK: u32 = 2;
        let warm = &self.plan.suite.file.warm;
        if round + BLOCK > warm.most_processes || spent >= warm.budget {
            return false;
        }
        let mut readings: Vec<&mut ArmReadings> =
            self.contenders.iter_mut().map(|one| &mut one.readings).collect();
        let guidance = guide.guide(&mut readings);
        if guidance.enough {
            return false;
        }
        for (contender, iterations) in self.contenders.iter_mut().zip(&guidance.iterations) {
            if let Some(iterations) = *iterations {
                contender.set_iterations(iterations);
            }
        }
        true
    }

    /// Number of arms that have not been abandoned.
    fn going(&self) -> u32 {
        let going = self.contenders.iter().filter(|one| one.readings.stopped.is_none());
        u32::try_from(going.count()).unwrap_or(u32::MAX)
    }

    fn finish(self) -> CaseReadings {
        let mut arms: Vec<ArmReadings> =
            self.contenders.into_iter().map(|contender| contender.readings).collect();
        let again = if self.has_control { arms.pop() } else { None };
        CaseReadings { arms, again }
    }
}
