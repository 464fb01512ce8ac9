//! Directions that neither the data nor a constraint determines.
//!
//! Two samples that are proportional in all bins, or a factor without effect, leave a combination of
//! parameters along which −log L does not change. The Hessian is then singular up to rounding, and repeated
//! solves with it, slightly damped, turn any vector into that combination.

use super::state::State;
use super::{Covariance, Fitter, FlatDirection};
use crate::kernel::Information;
use crate::model::Constraint;

/// Damping that makes a singular Hessian solvable.
const DAMPING: f64 = 1e-9;
const SOLVES: usize = 6;
/// Parameters that move less than this fraction of the first are left out.
const LEAST: f64 = 1e-3;

impl Fitter<'_> {
    /// The flattest direction, if a parameter without a constraint may move across its whole range along it.
    pub(super) fn flat_direction(
        &mut self,
        state: &State,
        covariance: Option<&Covariance>,
    ) -> Option<FlatDirection> {
        let constraints = &self.evaluator.model.numbers.constraints;
        let range = |index: usize| state.upper[index] - state.lower[index];
        let loose =
            |index: &usize| state.moving[*index] && matches!(constraints[*index], Constraint::Free);
        let candidates: Vec<usize> = (0..state.theta.len()).filter(loose).collect();
        let sigmas = covariance.map(|covariance| covariance.sigmas(&candidates));
        let is_wide = |(at, index): (usize, &usize)| match &sigmas {
            None => true,
            Some(sigmas) => !(sigmas[at] < range(*index)),
        };
        if !candidates.iter().enumerate().any(is_wide) {
            return None;
        }
        self.renew();
        self.evaluate(&mut state.clone());
        self.exact = None;
        self.evaluator.collect(&mut self.curvature, Information::Exact);
        let layout = &self.evaluator.model.layout;
        if !self.system.factorise(layout, &self.curvature, &state.moving, DAMPING) {
            return None;
        }
        let mut direction = vec![0.0; state.theta.len()];
        for (place, &index) in (1_u32..).zip(&candidates) {
            direction[index] = 1.0 + 0.1 * f64::from(place % 7);
        }
        for _ in 0..SOLVES {
            self.system.solve(layout, &self.curvature, &state.moving, &mut direction);
            let largest = direction.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
            if !(largest > 0.0 && largest.is_finite()) {
                return None;
            }
            for value in &mut direction {
                *value /= largest;
            }
        }
        let curved = self.curvature.multiply(layout, &direction);
        let curvature: f64 = direction.iter().zip(&curved).map(|(a, b)| a * b).sum();
        let sigma = 1.0 / curvature.abs().max(f64::MIN_POSITIVE).sqrt();
        let mut parameters: Vec<(usize, f64)> =
            direction.into_iter().enumerate().filter(|(_, value)| value.abs() > LEAST).collect();
        parameters.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
        let first = parameters.first()?.0;
        (sigma > range(first)).then_some(FlatDirection { parameters, sigma })
    }
}
