//! The closing sentence: what the evidence says, and nothing else.

use firstlight_schema::cold::{PhaseMean, Summary};
use firstlight_schema::phase::Phase;

use crate::format::duration;

/// A part must make up most of its phase to be named for it.
const MOST: f64 = 0.5;

/// Where most of the time went.
pub fn largest(summary: &Summary) -> String {
    let (whole, phases) = match &summary.first_result_phases {
        Some(phases) => ("the time to first result", phases),
        None => ("the wall time", &summary.phases),
    };
    let Some(row) = phases.iter().max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns)) else {
        return "Nothing was measured.".to_owned();
    };
    format!("{:.0} % of {whole} {}.", row.share * 100.0, doing(row))
}

fn doing(row: &PhaseMean) -> String {
    let part = row.parts.first().filter(|part| part.ns.as_f64() >= MOST * row.mean_ns);
    let name = part.map(|part| part.name.as_str());
    let about = |verb: &str, otherwise: &str| match name {
        Some(name) => format!("is {verb} {name}"),
        None => format!("is {verb} {otherwise}"),
    };
    match row.name {
        Phase::Spawn => "is starting the process".to_owned(),
        Phase::Launcher => "is spent in programs in front of the interpreter".to_owned(),
        Phase::Interpreter => "is starting the interpreter".to_owned(),
        Phase::Probe => "is firstlight's own hooks".to_owned(),
        Phase::Import => about("importing", "modules"),
        Phase::DeviceInit => about("starting the backend of", "a framework"),
        Phase::Setup => "is the workload's setup".to_owned(),
        Phase::Trace => about("tracing", "functions"),
        Phase::Lower => about("lowering", "functions"),
        Phase::Compile => about("compiling", "functions"),
        Phase::CacheRead => about("reading from the cache", "compiled programs"),
        Phase::CacheWrite => "is writing to caches".to_owned(),
        Phase::FirstRun => "is the first run itself".to_owned(),
        Phase::WarmUp => "is warming up".to_owned(),
        Phase::Window => "is the measured window".to_owned(),
        Phase::Run => "is the program's own code".to_owned(),
        Phase::Teardown => "is tearing the process down".to_owned(),
        Phase::Unattributed => "could not be attributed".to_owned(),
    }
}

/// What a primed cache changed, where both regimes were measured.
pub fn primed_against_clean(clean: &Summary, primed: &Summary) -> Option<String> {
    let (clean, primed) = (clean.first_result?, primed.first_result?);
    let (before, after) = (duration(clean.point), duration(primed.point));
    Some(match (&clean.interval, &primed.interval) {
        (Some(a), Some(b)) if a.low > b.high || b.low > a.high => {
            format!("With a primed cache it was {after} instead of {before}.")
        }
        (Some(_), Some(_)) => {
            format!("With a primed cache it was {after}, without {before}: the intervals overlap.")
        }
        _ => format!(
            "With a primed cache it was {after}, without {before}: too few samples to be sure."
        ),
    })
}
