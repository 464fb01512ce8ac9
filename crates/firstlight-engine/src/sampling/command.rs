//! Samples one command: priming first where a policy needs it, controls in between where asked.

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::message::{Event, Message};
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
) -> Result<CommandReadings, EngineError> {
    let mut readings = CommandReadings::default();
    let mut take = |readings: &mut CommandReadings, role| -> Result<bool, EngineError> {
        observer.starting(role, None);
        let policy = if role == SampleRole::Priming { priming(plan.policy) } else { plan.policy };
        let sample = session.take(target, policy, role, None)?;
        observer.taken(&sample);
        target.marks |= puts_marks(&sample);
        let fine = is_fine(&sample, plan.any_exit_code);
        let goes_on = !session.is_interrupted();
        if role == SampleRole::Priming && fine {
            target.scratch.keep_as_primed()?;
        }
        let list = match role {
            SampleRole::Priming => &mut readings.priming,
            SampleRole::Measured => &mut readings.measured,
            SampleRole::Control => &mut readings.controls,
        };
        list.push(sample);
        Ok(goes_on && (fine || list.len() > 1))
    };

    if plan.policy.needs_priming() && !take(&mut readings, SampleRole::Priming)? {
        return Ok(readings);
    }
    for (pair, swap) in swaps(plan.runs, plan.seed).into_iter().enumerate() {
        // The first process shows whether a control needs `firstlight` to be importable.
        let roles: &[SampleRole] = match (plan.control, swap && pair > 0) {
            (false, _) => &[SampleRole::Measured],
            (true, false) => &[SampleRole::Measured, SampleRole::Control],
            (true, true) => &[SampleRole::Control, SampleRole::Measured],
        };
        for &role in roles {
            if !take(&mut readings, role)? {
                return Ok(readings);
            }
        }
    }
    readings.complete = true;
    Ok(readings)
}

/// Under which the caches are filled: private and empty at first.
pub(super) fn priming(policy: CachePolicy) -> CachePolicy {
    let fill = |of: Policy| if of == Policy::AsFound { Policy::AsFound } else { Policy::Clean };
    CachePolicy {
        compilers: fill(policy.compilers),
        bytecode: fill(policy.bytecode),
        page_cache: policy.page_cache,
    }
}

pub(super) fn is_fine(sample: &RawSample, any_exit_code: bool) -> bool {
    match sample.outcome {
        Outcome::Completed => true,
        Outcome::Exited { .. } => any_exit_code,
        _ => false,
    }
}

fn puts_marks(sample: &RawSample) -> bool {
    sample.messages.iter().any(|message| match message {
        Message::Event(event) => matches!(event.event, Event::Mark(_)),
        _ => false,
    })
}
