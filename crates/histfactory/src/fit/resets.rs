//! Lower minima in which another parameter takes the place of one that went far.
//!
//! Rates are products: a signal that was not seen can vanish because one factor goes to zero or because
//! several templates take from it, and of two samples with a free normalisation either one can fill a bin.
//! In each of these minima some parameter lies at an end of its range or is pulled by several standard
//! deviations. The fit puts each such parameter back to its initial value, lets the others follow and
//! releases it. The lowest minimum counts.

use super::Fitter;
use super::options::FitOptions;
use super::result::Fit;
use crate::model::Constraint;

/// Pulls above this are tried without.
const FAR: f64 = 2.5;
/// Parameters that are reset, those with the largest pull first.
const MOST_RESETS: usize = 6;

impl Fitter<'_> {
    /// A lower minimum without a far parameter, or this one.
    pub(super) fn reset(&mut self, best: Fit, options: &FitOptions) -> Fit {
        let from = best.nll;
        let mut best = best;
        for parameter in self.far(&best) {
            let init = self.evaluator.model.init()[parameter];
            let held = options.clone().fixing(parameter, init);
            let Some(other) = self.descend_from(&best.theta, &held) else { continue };
            if let Some(other) = self.descend_from(&other.theta, options) {
                best = best.or_lower(other);
            }
            if best.nll < from {
                break;
            }
        }
        best
    }

    /// Free parameters at an end of their range or with a large pull, the furthest first.
    fn far(&self, best: &Fit) -> Vec<usize> {
        let model = self.evaluator.model;
        let data = &self.evaluator.data.values[model.bin_count()..];
        let mut far: Vec<(f64, usize)> = Vec::new();
        for (parameter, constraint) in model.numbers.constraints.iter().enumerate() {
            let value = best.theta[parameter];
            if !best.free[parameter] {
                continue;
            }
            let pull = match *constraint {
                Constraint::Free => {
                    let at_end = best.at_bound.iter().any(|(held, _)| *held == parameter);
                    if at_end && value != model.init()[parameter] { f64::INFINITY } else { 0.0 }
                }
                Constraint::Normal { auxiliary, sigma } => (value - data[auxiliary]).abs() / sigma,
                Constraint::Poisson { auxiliary, factor } => {
                    (value * factor - data[auxiliary]).abs() / factor.sqrt()
                }
            };
            if pull > FAR {
                far.push((pull, parameter));
            }
        }
        far.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        far.truncate(MOST_RESETS);
        far.into_iter().map(|(_, parameter)| parameter).collect()
    }
}
