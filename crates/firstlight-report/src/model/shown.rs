//! Selects the warm processes of an arm that are drawn: the typical one, and those that stand out from it.

use firstlight_schema::window::SteadyState;

use super::series::{Series, WarmArm};

/// Further processes that stand out are in the table only.
const MOST_STANDING_OUT: usize = 2;
/// A process this factor away from the median stands out.
const FAR: f64 = 1.25;

/// The processes of an arm that are drawn.
#[derive(Debug)]
pub struct Shown<'b, 'a> {
    /// The valid process whose mean is closest to the median of all.
    pub typical: Option<&'b Series<'a>>,
    /// Each with the reason why it stands out.
    pub standing_out: Vec<(&'b Series<'a>, &'static str)>,
    /// The number of further ones that stand out.
    pub more: usize,
    /// The number of processes similar to the typical one.
    pub alike: usize,
}

impl<'a> WarmArm<'a> {
    pub fn shown(&self) -> Shown<'_, 'a> {
        let mut means: Vec<f64> = self.processes.iter().filter_map(counted).collect();
        means.sort_by(f64::total_cmp);
        let median = means.get(means.len() / 2).copied();
        let distance = |one: &Series<'_>| Some((counted(one)? - median?).abs());
        let ordinary = || self.processes.iter().filter(|one| oddity(one, median).is_none());
        let typical = ordinary()
            .filter_map(|one| Some((one, distance(one)?)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(one, _)| one);
        let mut standing_out: Vec<(&Series<'a>, &'static str)> =
            self.processes.iter().filter_map(|one| Some((one, oddity(one, median)?))).collect();
        let more = standing_out.len().saturating_sub(MOST_STANDING_OUT);
        standing_out.truncate(MOST_STANDING_OUT);
        let alike = ordinary().count().saturating_sub(usize::from(typical.is_some()));
        Shown { typical, standing_out, more, alike }
    }
}

/// The mean per call of a valid process.
fn counted(series: &Series<'_>) -> Option<f64> {
    series.window.filter(|_| series.sample.valid)?.steady.as_ref().map(|steady| steady.mean_ns)
}

fn oddity(series: &Series<'_>, median: Option<f64>) -> Option<&'static str> {
    if !series.sample.valid {
        return Some("invalid");
    }
    if !series.marks.is_empty() {
        return Some("disturbed");
    }
    let Some(window) = series.window else { return Some("without a measured call") };
    match window.state {
        SteadyState::None => return Some("never settled"),
        SteadyState::SlowDown => return Some("slowed down"),
        SteadyState::Flat | SteadyState::WarmUp | SteadyState::Unknown => {}
    }
    let (mean, median) = (counted(series)?, median?);
    if mean > FAR * median {
        return Some("slower than the others");
    }
    (mean * FAR < median).then_some("faster than the others")
}
