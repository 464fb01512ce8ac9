//! The one number that stands for an arm in a regime, wherever it is shown.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::RegimeResult;
use firstlight_schema::suite::Regime;

/// Time per call, to first result, or of whole processes; none where nothing valid was measured.
pub(crate) fn headline(of: &RegimeResult) -> Option<Estimate> {
    match of.regime {
        Regime::Warm => of.warm.as_ref().map(|warm| warm.per_call),
        // Commands need not mark a first result, and other tools know none.
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
            let summary = of.summary.as_ref()?;
            Some(summary.first_result.unwrap_or(summary.wall))
        }
    }
}
