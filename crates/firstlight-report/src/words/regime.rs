//! The name of a regime where a person reads it.

use firstlight_schema::cache::Policy;
use firstlight_schema::run::RegimeResult;
use firstlight_schema::suite::Regime;

/// The regime, or what was found: caches that were left as configured are not claimed to be clean.
pub(crate) fn label(result: &RegimeResult) -> &'static str {
    match (result.regime, result.policy.compilers) {
        (Regime::ColdClean, Policy::AsConfigured) => "as configured",
        (Regime::ColdClean, Policy::AsFound) => "as found",
        (regime, _) => regime.name(),
    }
}
