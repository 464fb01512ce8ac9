//! The display name of a regime.

use firstlight_schema::cache::Policy;
use firstlight_schema::run::RegimeResult;
use firstlight_schema::suite::Regime;

/// The regime, or the observed state: caches that were left as configured are not called clean.
pub(crate) fn label(result: &RegimeResult) -> &'static str {
    match (result.regime, result.policy.compilers) {
        (Regime::ColdClean, Policy::AsConfigured) => "as configured",
        (Regime::ColdClean, Policy::AsFound) => "as found",
        (regime, _) => regime.name(),
    }
}
