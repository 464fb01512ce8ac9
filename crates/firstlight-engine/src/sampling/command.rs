//! Samples one command: priming first where a policy needs it, controls in between where asked.

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::reading::{Outcome, RawSample, SampleRole};

use super::plan::swaps;
use super::session::{Observer, Session, Target};
use crate::EngineError;

#[derive(Clone, Copy, Debug)]
pub struct CommandPlan {
    pub runs: u32,
    pub policy: CachePolicy,
    /// Beside each measured process one without hooks.
    pub control: bool,
    pub any_exit_code: bool,
    pub seed: u64,
}

/// Says after a measured process whether there is no point in another one.
pub type IsHopeless<'a> = dyn FnMut(&RawSample) -> bool + 'a;

/// All processes that were taken, in order within each role.
#[derive(Debug, Default)]
pub struct CommandReadings {
    pub priming: Vec<RawSample>,
    pub measured: Vec<RawSample>,
    pub controls: Vec<RawSample>,
    /// Whether nothing was left out.
    pub complete: bool,
}

/// Takes the samples. A command that fails the first time is not started again.
pub fn sample_command(
    session: &mut Session<'_>,
    target: &mut Target,
    plan: CommandPlan,
    observer: &mut dyn Observer,
    is_hopeless: &mut IsHopeless<'_>,
) -> Result<CommandReadings, EngineError> {
    let mut readings = CommandReadings::default();
    let mut sampler =
        Sampler { session, target, plan, observer, is_hopeless, readings: &mut readings };
    let complete = sampler.take_all()?;
    readings.complete = complete;
    Ok(readings)
}

struct Sampler<'a, 'b> {
    session: &'a mut Session<'b>,
    target: &'a mut Target,
    plan: CommandPlan,
    observer: &'a mut dyn Observer,
    is_hopeless: &'a mut IsHopeless<'a>,
    readings: &'a mut CommandReadings,
}

impl Sampler<'_, '_> {
    /// Whether nothing had to be left out.
    fn take_all(&mut self) -> Result<bool, EngineError> {
        if self.plan.policy.needs_priming() && !self.take(SampleRole::Priming)? {
            return Ok(false);
        }
        for swap in swaps(self.plan.runs, self.plan.seed) {
            let roles: &[SampleRole] = match (self.plan.control, swap) {
                (false, _) => &[SampleRole::Measured],
                (true, false) => &[SampleRole::Measured, SampleRole::Control],
                (true, true) => &[SampleRole::Control, SampleRole::Measured],
            };
            for &role in roles {
                if !self.take(role)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Takes one process; false when there is no point in going on.
    fn take(&mut self, role: SampleRole) -> Result<bool, EngineError> {
        self.observer.starting(role, None);
        let policy = match role {
            SampleRole::Priming => priming(self.plan.policy),
            SampleRole::Measured | SampleRole::Control => self.plan.policy,
        };
        let mut sample = self.session.take(self.target, policy, role, None)?;
        if role == SampleRole::Control
            && misses_firstlight(&sample)
            && self.target.lend_firstlight()
        {
            sample = self.session.take(self.target, policy, role, None)?;
        }
        self.observer.taken(&sample);
        if sample.role != role {
            self.readings.priming.push(sample);
            return self.take(role);
        }
        let fine = is_fine(&sample, self.plan.any_exit_code);
        if role == SampleRole::Priming && fine {
            self.target.scratch.keep_as_primed()?;
        }
        let list = match role {
            SampleRole::Priming => &mut self.readings.priming,
            SampleRole::Measured => &mut self.readings.measured,
            SampleRole::Control => &mut self.readings.controls,
        };
        let hopeless = role == SampleRole::Measured && (self.is_hopeless)(&sample);
        list.push(sample);
        Ok((fine || list.len() > 1) && !hopeless && !self.session.is_interrupted())
    }
}

/// Under which the caches are filled: private and empty at first.
pub(super) fn priming(policy: CachePolicy) -> CachePolicy {
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

fn is_fine(sample: &RawSample, any_exit_code: bool) -> bool {
    match sample.outcome {
        Outcome::Completed => true,
        Outcome::Exited { .. } => any_exit_code,
        _ => false,
    }
}

/// A script that carries marks cannot run where `firstlight` is not installed.
fn misses_firstlight(sample: &RawSample) -> bool {
    sample.outcome != Outcome::Completed
        && sample.streams.stderr_tail.contains("No module named 'firstlight'")
}
