//! Finds lower minima in which another parameter replaces one that moved far.
//!
//! Rates are products. A signal that was not seen can vanish because one factor goes to zero or because
//! several templates subtract from it; of two samples with a free normalisation, either one can fill a bin.
//! In each of these minima some parameter lies at an end of its range or is pulled by several standard
//! deviations. The fit resets each such parameter to its initial value, lets the others follow and releases
//! it. The lowest minimum is the result.
//!
//! A parameter at an end of its range is common where there is one minimum: a signal that was not seen. The
//! fit therefore first moves it with the factor of the minimum, steps that cost little more than a gradient
//! each. If the slope there leads back as steeply as a convex function would, nothing is repeated. The fit of a
//! toy also checks parameters with a constraint in this way, stops at the first step that shows it, and marks
//! itself as doubtful if none does. Where a toy's test also fits another value of the parameter of interest, the
//! slope of that fit is looked at instead.

use super::Fitter;
use super::newton::Step;
use super::options::{FitOptions, Search};
use super::result::Fit;
use super::state::State;
use crate::linalg::product;
use crate::model::Constraint;

/// The search resets parameters with a larger pull.
const FAR: f64 = 2.5;
/// Parameters that are reset, those with the largest pull first.
const MOST_RESETS: usize = 6;
/// A reset is abandoned if −log L with the parameter at its initial value is this much above the minimum.
const MOST_ABOVE: f64 = 100.0;
/// The number of steps in which the others follow a parameter that is moved.
const FOLLOWING_STEPS: usize = 2;
/// The same in the fit of a toy, which ends as soon as the slope leads back.
const FOLLOWING_STEPS_TOY: usize = 3;
/// The share of the mean slope to a point that the slope there must have. It is at least one if −log L is
/// convex on the way, and two if it is a parabola from its minimum.
const LEADS_BACK: f64 = 0.99;
/// The same of a parameter with a constraint, which alone makes −log L a parabola.
const PULLS_BACK: f64 = 1.4;
/// The share of the rise that may be left between the point that the steps reach and its minimum.
const MOST_LEFT: f64 = 0.15;
/// The same where a bound held the parameter, so that the others follow from the first step on only.
const MOST_LEFT_AT_BOUND: f64 = 0.4;

impl Fit {
    /// Whether a parameter without a constraint is at an end of its range and −log L may have another minimum
    /// beyond its value in `other`, a fit with that value: the slope there does not lead back.
    pub(crate) fn is_doubted_by(&self, other: &Self, parameter: usize) -> bool {
        if !self.at_bound.iter().any(|(held, _)| *held == parameter) {
            return false;
        }
        let is_smooth = |fit: &Self| fit.at_border.is_empty() && fit.at_kink.is_empty();
        let above = other.nll - self.nll;
        let way = other.theta[parameter] - self.theta[parameter];
        let leads_back = above > 0.0 && way * other.gradient[parameter] > LEADS_BACK * above;
        !(leads_back && is_smooth(self) && is_smooth(other))
    }
}

impl Fitter<'_> {
    /// A lower minimum without a far parameter, or this one.
    pub(super) fn reset(&mut self, best: Fit, options: &FitOptions) -> Fit {
        let from = best.nll;
        let mut best = best;
        let constraints = &self.evaluator.model.numbers.constraints;
        for parameter in self.far(&best) {
            if self.is_toy && self.examined == Some(parameter) {
                continue;
            }
            let init = self.evaluator.model.init()[parameter];
            let is_wide = matches!(options.search, Search::Global { .. });
            let is_free = matches!(constraints[parameter], Constraint::Free);
            let is_checked = !is_wide && (is_free || self.is_toy);
            if is_checked && self.leads_back(&mut best, parameter, init, options).is_some() {
                continue;
            }
            best.doubtful = true;
            let held = options.clone().fixing(parameter, init);
            let Some(other) = self.descend_from(&best.theta, &held) else { continue };
            best.iterations += other.iterations;
            best.evaluations += other.evaluations;
            if other.nll > best.nll + MOST_ABOVE {
                continue;
            }
            if let Some(other) = self.descend_from(&other.theta, options) {
                best = best.or_lower(other);
            }
            if best.nll < from {
                break;
            }
        }
        best
    }

    /// Whether −log L leads back to this minimum from another value of the parameter, while the other
    /// parameters follow approximately. Returns a lower limit of the rise on the way there; `None` if it does
    /// not lead back, or if that is unknown, as without the factor of the minimum.
    pub(crate) fn leads_back(
        &mut self,
        best: &mut Fit,
        parameter: usize,
        to: f64,
        options: &FitOptions,
    ) -> Option<f64> {
        // The parameter itself may have reached its bound after the factorisation.
        let moving = self.factored.clone();
        let is_same = |(i, moving): (usize, bool)| i == parameter || moving == self.factored[i];
        if !best.moving().into_iter().enumerate().all(is_same) || !best.at_border.is_empty() {
            return None;
        }
        let way = to - best.theta[parameter];
        // The change of the others for one unit of the parameter.
        let mut tangent = vec![0.0; moving.len()];
        tangent[parameter] = 1.0;
        if moving[parameter] {
            self.solve(&moving, &mut tangent);
            let unit = tangent[parameter];
            if !(unit > 0.0) {
                return None;
            }
            for part in &mut tangent {
                *part /= unit;
            }
        }
        let start: Vec<f64> =
            best.theta.iter().zip(&tangent).map(|(from, part)| from + way * part).collect();
        // A search for another start would destroy the factor.
        let mut state = self.prepare(&options.clone().from(&start).fixing(parameter, to)).ok()?;
        if !state.kinks.is_empty() || !self.evaluate(&mut state) {
            return None;
        }
        let constraint = self.evaluator.model.numbers.constraints[parameter];
        let enough = if constraint == Constraint::Free { LEADS_BACK } else { PULLS_BACK };
        let following_steps = if self.is_toy { FOLLOWING_STEPS_TOY } else { FOLLOWING_STEPS };
        let mut rise = None;
        for steps_left in (0..=following_steps).rev() {
            let kkt = state.activate();
            let step = self.following_step(&state, parameter, &moving, &tangent);
            if self.is_toy && !moving[parameter] && steps_left == following_steps {
                // The factor does not contain the parameter, so the others follow their gradient.
                tangent.iter_mut().zip(&step).for_each(|(part, step)| *part += step / way);
            }
            let above = state.nll - best.nll;
            let left = 0.5 * product(&state.gradient, &step).abs();
            let alone = way * state.gradient[parameter];
            let following = way * product(&state.gradient, &tangent);
            let (slope, most_left) = match (self.is_toy, moving[parameter]) {
                (false, _) => (alone, MOST_LEFT),
                (true, true) => (alone.min(following), MOST_LEFT),
                (true, false) => (following, MOST_LEFT_AT_BOUND),
            };
            let is_back = above > 0.0 && left <= most_left * above && slope > enough * above;
            rise = is_back.then_some(above - 2.0 * left);
            if steps_left == 0 || (self.is_toy && is_back) {
                break;
            }
            let Step::Taken { .. } = self.search(&mut state, &step, kkt) else { break };
            rise = None;
        }
        best.evaluations += state.evaluations;
        rise
    }

    /// The step of the other parameters where one is held, with the factor of the minimum.
    fn following_step(
        &mut self,
        state: &State,
        parameter: usize,
        moving: &[bool],
        tangent: &[f64],
    ) -> Vec<f64> {
        let mut step: Vec<f64> = state.gradient.iter().map(|slope| -slope).collect();
        step[parameter] = 0.0;
        self.solve(moving, &mut step);
        let back = step[parameter];
        for (i, part) in step.iter_mut().enumerate() {
            *part = if state.moving[i] { *part - back * tangent[i] } else { 0.0 };
        }
        step
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
