//! Stolen time: processor time that the hypervisor gave to other guests while work was waiting.
//!
//! The share refers to the time with work to do, `stolen / (all - idle - io-wait)`. As a share of all time,
//! one starving process on a large and otherwise idle machine would be invisible.

use firstlight_schema::machine_state::Ticks;

/// A larger share is reported.
pub(super) const STOLEN_SHARE: f64 = 0.01;
/// Fewer stolen ticks are within the kernel's counting error.
const FEWEST_TICKS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stolen {
    /// From 0 to 1.
    pub(super) share: f64,
    pub(super) is_much: bool,
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn stolen(ticks: &Ticks) -> Stolen {
    let Ticks { user, nice, system, idle: _, io_wait: _, irq, soft_irq, stolen } = *ticks;
    let wanted = user + nice + system + irq + soft_irq + stolen;
    let share = stolen as f64 / wanted.max(1) as f64;
    Stolen { share, is_much: share > STOLEN_SHARE && stolen >= FEWEST_TICKS }
}

/// The ticks between two readings. Some counters of the kernel can run backwards.
pub(super) fn between(before: &Ticks, after: &Ticks) -> Ticks {
    Ticks {
        user: after.user.saturating_sub(before.user),
        nice: after.nice.saturating_sub(before.nice),
        system: after.system.saturating_sub(before.system),
        idle: after.idle.saturating_sub(before.idle),
        io_wait: after.io_wait.saturating_sub(before.io_wait),
        irq: after.irq.saturating_sub(before.irq),
        soft_irq: after.soft_irq.saturating_sub(before.soft_irq),
        stolen: after.stolen.saturating_sub(before.stolen),
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::Ticks;

    use super::{between, stolen};

    #[test]
    fn idle_time_does_not_hide_stolen_time() {
        let ticks = Ticks { user: 90, idle: 1_000_000, stolen: 10, ..Ticks::default() };
        let found = stolen(&ticks);
        assert!(found.is_much && (found.share - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_few_ticks_and_none_at_all_are_not_reported() {
        assert!(!stolen(&Ticks { user: 10, stolen: 9, ..Ticks::default() }).is_much);
        assert!(!stolen(&Ticks::default()).is_much);
    }

    #[test]
    fn a_counter_that_runs_backwards_counts_as_unchanged() {
        let before = Ticks { user: 5, io_wait: 9, ..Ticks::default() };
        let after = Ticks { user: 8, io_wait: 7, ..Ticks::default() };
        assert_eq!(between(&before, &after), Ticks { user: 3, ..Ticks::default() });
    }
}
