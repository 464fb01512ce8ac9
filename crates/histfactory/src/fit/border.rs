//! Minima at the boundary of positive rates.
//!
//! In a bin without counts −log L falls with the rate, and the minimum can lie where the rate is zero. −log L
//! has no value beyond that boundary, so a fit approaches it only slowly. Such a fit is repeated with a small
//! count κ in every empty bin: −κ ln ν is a barrier that keeps rates positive. At its minimum the slope in
//! the rate is λ = κ/ν, the multiplier of the condition ν ≥ 0, and −log L lies κ above its value at the
//! boundary. For rates that are linear, a step with the same Hessian and a smaller κ follows the minimum
//! exactly, so a few values of κ are enough.

use super::Fitter;
use super::options::{FitOptions, Search};
use super::pace::Pace;
use super::result::Fit;
use crate::kernel::Information;

/// With a smaller last value, rounding of the rates would show in the gradient.
const BARRIERS: [f64; 4] = [1e-1, 1e-3, 1e-5, 1e-6];
/// A rate with a multiplier above this is at the boundary.
const ACTIVE: f64 = 1e-3;
/// The fraction of the last step that is taken: to a rate of 1e-4 κ, where −log L still has a value.
const ALMOST: f64 = 0.9999;
/// A rate below this in an empty bin is near the boundary.
const NEAR: f64 = 1e-2;

impl Fitter<'_> {
    /// Whether the latest rate of an empty bin is near zero.
    pub(super) fn is_near_border(&self) -> bool {
        let bins = self.evaluator.model.layout.bins;
        let counts = &self.evaluator.data.values[..bins];
        let rates = &self.evaluator.scratch.rate[..bins];
        self.evaluator.softened.is_none()
            && counts.iter().zip(rates).any(|(n, rate)| *n == 0.0 && !(*rate > NEAR))
    }

    /// The minimum with all rates of empty bins positive or zero, starting where another fit failed.
    pub(super) fn along_border(&mut self, failed: &Fit, options: &FitOptions) -> Option<Fit> {
        let found = self.follow_barrier(failed, options);
        self.evaluator.softened = None;
        let found = found?;
        if !found.at_border.is_empty() {
            return Some(found);
        }
        // The minimum is not at the boundary.
        let options = options.clone().from(&found.theta).searching(Search::Descent);
        let state = self.begin(&options).ok()?;
        let pace = Pace::new(self.evaluator.model, true);
        let inside = self.descend(state, pace, None, &options);
        Some(inside).filter(Fit::converged)
    }

    fn follow_barrier(&mut self, failed: &Fit, options: &FitOptions) -> Option<Fit> {
        let mut theta = failed.theta.clone();
        let (mut iterations, mut evaluations) = (failed.iterations, failed.evaluations);
        let mut found = None;
        for (index, barrier) in BARRIERS.into_iter().enumerate() {
            self.soften(barrier);
            let next = BARRIERS.get(index + 1).copied();
            let mut options = options.clone().from(&theta);
            options.covariance &= next.is_none();
            let state = self.begin(&options).ok()?;
            let pace = Pace::new(self.evaluator.model, true);
            let fit = self.descend(state, pace, None, &options);
            iterations += fit.iterations;
            evaluations += fit.evaluations;
            if !fit.converged() {
                return None;
            }
            theta = self.with_lower_barrier(&fit, next)?;
            found = Some(fit);
        }
        let mut found = found?;
        self.evaluator.softened = None;
        self.soften(BARRIERS[BARRIERS.len() - 1]);
        self.evaluator.raw_gradient(&found.theta);
        found.at_border =
            self.multipliers().filter(|(_, size)| *size > ACTIVE).map(|(bin, _)| bin).collect();
        self.evaluator.softened = None;
        found.nll = self.evaluator.nll(&theta).ok()?;
        found.theta = theta;
        (found.iterations, found.evaluations) = (iterations, evaluations);
        Some(found)
    }

    /// Puts a count in every empty bin.
    fn soften(&mut self, barrier: f64) {
        let bins = self.evaluator.model.layout.bins;
        let mut counts = self.evaluator.data.values.clone();
        for count in counts[..bins].iter_mut().filter(|count| **count == 0.0) {
            *count = barrier;
        }
        self.exact = None;
        self.evaluator.softened = Some(counts);
    }

    /// κ/ν of the bins that have a barrier.
    fn multipliers(&self) -> impl Iterator<Item = (usize, f64)> {
        let counts = self.evaluator.data.values.iter().enumerate();
        let barriers = counts.filter(|(_, n)| **n == 0.0).map(|(bin, _)| bin);
        let softened = self.evaluator.softened.as_deref().unwrap_or_default();
        let rates = &self.evaluator.scratch.rate[..self.evaluator.model.layout.bins];
        barriers.filter_map(|bin| Some((bin, softened.get(bin)? / rates.get(bin)?)))
    }

    /// The minimum for a lower barrier, or for no barrier, to first order.
    fn with_lower_barrier(&mut self, fit: &Fit, barrier: Option<f64>) -> Option<Vec<f64>> {
        let layout = &self.evaluator.model.layout;
        let moving = fit.moving();
        self.renew();
        self.evaluator.raw_gradient(&fit.theta);
        self.exact = None;
        self.evaluator.collect(&mut self.curvature, Information::Exact);
        self.secants.clear();
        if !self.system.factorise(layout, &self.curvature, &moving, 0.0) {
            return None;
        }
        match barrier {
            Some(barrier) => self.soften(barrier),
            None => self.evaluator.softened = None,
        }
        self.evaluator.raw_gradient(&fit.theta);
        let mut step: Vec<f64> = self.evaluator.gradient().iter().map(|slope| -slope).collect();
        self.system.solve(layout, &self.curvature, &moving, &mut step);
        let mut part = if barrier.is_some() { 1.0 } else { ALMOST };
        for _ in 0..20 {
            let moved = fit.theta.iter().zip(&step).zip(self.evaluator.model.bounds());
            let theta: Vec<f64> = moved
                .zip(&moving)
                .map(
                    |(((from, step), [low, high]), moving)| {
                        if *moving { (from + part * step).clamp(*low, *high) } else { *from }
                    },
                )
                .collect();
            if self.evaluator.raw_nll(&theta).is_finite() {
                return Some(theta);
            }
            part *= 0.5;
        }
        Some(fit.theta.clone())
    }
}
