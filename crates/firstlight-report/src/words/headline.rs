//! The representative number of an arm in a regime, the same everywhere.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::RegimeResult;
use firstlight_schema::suite::Regime;

/// Time per call, to first result, or of whole processes; `None` without a valid measurement.
pub(crate) fn headline(regime_result: &RegimeResult) -> Option<Estimate> {
    match regime_result.regime {
        Regime::Warm => regime_result.warm.as_ref().map(|warm| warm.per_call),
        // Commands need not mark a first result, and other tools do not have it.
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
            let summary = regime_result.summary.as_ref()?;
            Some(summary.first_result.unwrap_or(summary.wall))
        }
    }
}
