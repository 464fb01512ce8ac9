//! Finds lower minima in which another parameter replaces one that moved far.
//!
//! Rates are products. A signal that was not seen can vanish because one factor goes to zero or because
//! several templates subtract from it; of two samples with a free normalisation, either one can fill a bin.
//! In each of these minima some parameter lies at an end of its range or is pulled by several standard
//! deviations. The fit resets each such parameter to its initial value, lets the others follow and releases
//! it. The lowest minimum is the result.
//!
//! A parameter at an end of its range is also common with a single minimum: a signal that was not seen. The
//! fit therefore first moves it with the factor of the minimum, in two steps that cost little more than a
//! gradient each. If the slope there leads back as steeply as for a convex function, nothing is repeated.

use super::Fitter;
use super::newton::Step;
use super::options::{FitOptions, Search};
use super::result::Fit;
use crate::model::Constraint;

/// The search resets parameters with a larger pull.
const FAR: f64 = 2.5;
/// Parameters that are reset, those with the largest pull first.
const MOST_RESETS: usize = 6;
/// A reset is abandoned if −log L with the parameter at its initial value is this much above the minimum.
const MOST_ABOVE: f64 = 100.0;
/// The number of steps in which the others follow a parameter that is moved.
const FOLLOWING_STEPS: usize = 2;
/// The share of the mean slope to a point that the slope there must have. It is at least one if −log L is
/// convex on the way, and two if it is a parabola from its minimum.
const LEADS_BACK: f64 = 0.99;
/// The fraction of the rise that may remain between the point that the steps reach and its minimum.
const MOST_LEFT: f64 = 0.15;

impl Fitter<'_> {
    /// A lower minimum without a far parameter, or this one.
    pub(super) fn reset(&mut self, best: Fit, options: &FitOptions) -> Fit {
        let from = best.nll;
        let mut best = best;
        let constraints = &self.evaluator.model.numbers.constraints;
        for parameter in self.far(&best) {
            let init = self.evaluator.model.init()[parameter];
            let is_wide = matches!(options.search, Search::Global { .. });
            let is_free = matches!(constraints[parameter], Constraint::Free);
            if is_free && !is_wide && self.leads_back(&mut best, parameter, init, options) {
                continue;
            }
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

    /// Whether −log L falls back to this minimum from another value of the parameter, with the other
    /// parameters following approximately. False if that is unknown, for example without the factor of the
    /// minimum.
    pub(crate) fn leads_back(
        &mut self,
        best: &mut Fit,
        parameter: usize,
        to: f64,
        options: &FitOptions,
    ) -> bool {
        // The parameter itself may have reached its bound after the factorisation.
        let moving = self.factored.clone();
        let is_same = |(i, moving): (usize, bool)| i == parameter || moving == self.factored[i];
        if !best.moving().into_iter().enumerate().all(is_same) || !best.at_border.is_empty() {
            return false;
        }
        let way = to - best.theta[parameter];
        // The change of the others for one unit of the parameter.
        let mut tangent = vec![0.0; moving.len()];
        tangent[parameter] = 1.0;
        if moving[parameter] {
            self.solve(&moving, &mut tangent);
            let unit = tangent[parameter];
            if !(unit > 0.0) {
                return false;
            }
            for part in &mut tangent {
                *part /= unit;
            }
        }
        let start = best.theta.iter().zip(&tangent).map(|(from, part)| from + way * part);
        let options = options.clone().from(&start.collect::<Vec<_>>()).fixing(parameter, to);
        let Ok(mut state) = self.begin(&options) else { return false };
        if !state.kinks.is_empty() {
            return false;
        }
        for _ in 0..FOLLOWING_STEPS {
            let kkt = state.activate();
            let mut step: Vec<f64> = state.gradient.iter().map(|slope| -slope).collect();
            step[parameter] = 0.0;
            self.solve(&moving, &mut step);
            let back = step[parameter];
            for (i, part) in step.iter_mut().enumerate() {
                *part = if state.moving[i] { *part - back * tangent[i] } else { 0.0 };
            }
            let Step::Taken { .. } = self.search(&mut state, &step, kkt) else { break };
        }
        best.evaluations += state.evaluations;
        let rise = state.nll - best.nll;
        state.activate();
        let mut rest = state.gradient.clone();
        rest[parameter] = 0.0;
        self.solve(&moving, &mut rest);
        let back = rest[parameter];
        let left: f64 = (0..rest.len())
            .filter(|i| *i != parameter && state.moving[*i])
            .map(|i| 0.5 * state.gradient[i] * (rest[i] - back * tangent[i]))
            .sum();
        let is_followed = left.abs() <= MOST_LEFT * rise;
        is_followed && rise > 0.0 && state.gradient[parameter] * way > LEADS_BACK * rise
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
