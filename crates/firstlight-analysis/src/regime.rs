//! One arm in one regime: all conclusions from its samples.

use firstlight_schema::cache::CachePolicy;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{QuantileBound, RegimeResult, RunOptions, Work};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use crate::compare::values;
use crate::diagnosis::diagnose;
use crate::notices::{high_variance, notices, warm_notices};
use crate::stats::quantile_bound;
use crate::summary::{summarise, summarise_invalid};
use crate::warm::{spread, summarise_warm};

/// Computes the regime's result from its samples.
pub fn regime_result(
    regime: Regime,
    policy: CachePolicy,
    samples: Vec<Sample>,
    work: Option<&Work>,
    options: &RunOptions,
    seed: u64,
) -> RegimeResult {
    let times: Vec<f64> = values(&samples, regime).into_iter().map(|(_, time)| time).collect();
    let warm = match regime {
        Regime::Warm => summarise_warm(&samples, work, seed),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => None,
    };
    let mut notices = match regime {
        Regime::Warm => warm_notices(&samples, warm.as_ref()),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => notices(&samples),
    };
    let spread = spread(&times);
    notices.extend(spread.as_ref().and_then(high_variance));
    let mut quantiles = Vec::new();
    if regime.is_cold() && !times.is_empty() {
        for &quantile in &options.quantiles {
            match quantile_bound(&times, quantile) {
                Ok(bound) => {
                    quantiles.push(QuantileBound { quantile, at_most_ns: bound.bound });
                }
                Err(too_few) => notices.push(Reason::new(
                    Finding::TailNotSupported,
                    format!(
                        "{} processes cannot bound the {} % quantile, {} are needed",
                        times.len(),
                        (quantile * 1e6).round() / 1e4,
                        too_few.needed,
                    ),
                )),
            }
        }
    }
    RegimeResult {
        regime,
        policy,
        summary: summarise(&samples),
        invalid_summary: summarise_invalid(&samples).map(Box::new),
        diagnosis: if regime.is_cold() { diagnose(&samples) } else { Vec::new() },
        warm,
        spread,
        quantiles,
        hooks: None,
        nodes: None,
        notices,
        samples,
    }
}
