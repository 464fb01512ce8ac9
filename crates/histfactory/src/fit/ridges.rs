//! Minima on the other side of a kink.
//!
//! A kink can point upwards: with code0, a histosys whose templates both lie below the nominal one lowers the
//! rate of a bin in both directions. Then −log L falls from zero on both sides, and a fit that follows one
//! side does not see the other.
//!
//! With h the curvature in the parameter α, the others following, −log L rises by ½hα̂² from its minimum to
//! the kink, where the slope drops by J from h|α̂|; on the far side the minimum is lower if J > 2h|α̂|. One
//! evaluation with the slopes of the far sides gives J of all parameters, since the slope at the minimum is
//! zero; the constraint alone is a lower limit of h. Parameters near this condition are fitted again on the
//! far side, and the lowest minimum is the result.

use super::Fitter;
use super::kinks::Kink;
use super::options::FitOptions;
use super::pace::Pace;
use super::result::Fit;
use crate::model::Constraint;

/// Minima that differ by more than this are distinct.
pub(crate) const DIFFERENT: f64 = 1e-9;
/// The ratio of J to h|α̂| that is tried: less than 2, since the rates and the curvature differ between the
/// sides.
const ENOUGH: f64 = 1.8;

impl Fitter<'_> {
    /// The lowest of a minimum and those beyond its kinks.
    pub(super) fn cross(&mut self, found: Fit, kinks: &[Kink], options: &FitOptions) -> Fit {
        let mut best = found;
        for _ in kinks {
            match self.beyond(&mut best, kinks, options) {
                Some(lower) => best = lower,
                None => break,
            }
        }
        best
    }

    /// A lower minimum beyond one kink.
    fn beyond(&mut self, best: &mut Fit, kinks: &[Kink], options: &FitOptions) -> Option<Fit> {
        for kink in self.promising(best, kinks) {
            let mut start = best.theta.clone();
            let far = kink.far_side(start[kink.parameter]);
            start[kink.parameter] = 0.0;
            let options = options.clone().from(&start).bounding(kink.parameter, far);
            let Ok(state) = self.begin(&options) else { continue };
            let pace = Pace::new(self.evaluator.model, true);
            let mut other = self.descend(state, pace, None, &options);
            other.iterations += best.iterations;
            other.evaluations += best.evaluations;
            let inside = other.theta[kink.parameter] != 0.0;
            if inside && other.converged() && other.nll < best.nll - DIFFERENT {
                return Some(other);
            }
            (best.iterations, best.evaluations) = (other.iterations, other.evaluations);
        }
        None
    }

    /// Kinks beyond which there may be a lower minimum, the most promising first.
    fn promising<'k>(&mut self, best: &mut Fit, kinks: &'k [Kink]) -> Vec<&'k Kink> {
        best.evaluations += 1;
        let constraints = &self.evaluator.model.numbers.constraints;
        let slopes = self.evaluator.far_gradient(&best.theta);
        let mut promising: Vec<(f64, &Kink)> = kinks
            .iter()
            .filter_map(|kink| {
                let value = best.theta[kink.parameter];
                let drop = slopes[kink.parameter] * value.signum();
                let curvature = match constraints[kink.parameter] {
                    Constraint::Normal { sigma, .. } => 1.0 / (sigma * sigma),
                    Constraint::Poisson { .. } | Constraint::Free => 0.0,
                };
                let rest = drop - ENOUGH * curvature * value.abs();
                (value != 0.0 && rest > 0.0).then_some((rest, kink))
            })
            .collect();
        promising.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        promising.into_iter().map(|(_, kink)| kink).collect()
    }
}
