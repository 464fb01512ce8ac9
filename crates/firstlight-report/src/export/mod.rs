//! Results in the formats of other tools. An invalid or failed result never becomes a number there: it is
//! marked if the format supports that, and left out otherwise.

mod action;
mod bencher;
mod csv;
mod gate;
mod junit;
mod markdown;
#[cfg(feature = "parquet")]
mod parquet;
mod pyperf;
mod speedscope;
mod table;

use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{Agreed, ArmResult, RunDocument};
use firstlight_schema::suite::Regime;

use crate::words::headline::headline;

pub use action::github_action_benchmark;
pub use bencher::bencher;
pub use csv::csv;
pub use gate::{annotations, gate_comment, gate_summary};
pub use junit::junit;
pub use markdown::markdown;
#[cfg(feature = "parquet")]
pub use parquet::parquet;
pub use pyperf::pyperf;
pub use speedscope::speedscope;

/// An arm in a regime with its publishable number.
struct Measured<'a> {
    name: String,
    regime: Regime,
    arm: &'a ArmResult,
    estimate: Estimate,
}

/// All results with a number, in order. Skips arms that were abandoned or have wrong results.
fn measured(document: &RunDocument) -> Vec<Measured<'_>> {
    let mut found = Vec::new();
    for case in &document.cases {
        for arm in case.arms.iter().filter(|arm| is_sound(arm)) {
            for result in &arm.regimes {
                let Some(estimate) = headline(result) else { continue };
                let name = name(&case.name, &arm.name, result.regime);
                found.push(Measured { name, regime: result.regime, arm, estimate });
            }
        }
    }
    found
}

fn is_sound(arm: &ArmResult) -> bool {
    arm.stopped.is_none() && !matches!(arm.agreement, Agreed::Differs { .. })
}

/// The name of an arm in a regime for other tools.
fn name(case: &str, arm: &str, regime: Regime) -> String {
    format!("{case}/{arm}/{regime}")
}
