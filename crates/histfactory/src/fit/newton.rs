//! The iteration.
//!
//! Damping follows Levenberg and Marquardt, with multiples of the diagonal. An active set keeps the bounds: a
//! parameter at its bound whose gradient pushes it outwards is held. Within a step, parameters that would
//! leave their range are held at its end and the rest is solved again. `Pace` decides whether a step takes a
//! new matrix or the one that is held.

use std::sync::Arc;

use super::System;
use super::covariance::{ExactPoint, Factor};
use super::options::FitOptions;
use super::pace::{Matrix, Pace};
use super::result::{Fit, FitError, Outcome};
use super::secants::{Ends, Secants};
use super::state::State;
use crate::kernel::{Aligned, Curvature, Information};
use crate::likelihood::Evaluator;
use crate::linalg::product;
use crate::model::{Data, EvaluationError, Model};

const MOST_DAMPING: f64 = 1e10;
/// The number of steps that may end where −log L has no value before the fit shortens its steps in advance.
const MOST_BLOCKED: usize = 8;
/// A larger gradient is never treated as rounding before the fit has used all its iterations.
const AT_MOST_ROUNDING: f64 = 1.0;

/// Fits of one model, with reused memory.
#[derive(Debug, Clone)]
pub struct Fitter<'a> {
    pub(super) evaluator: Evaluator<'a>,
    pub(super) curvature: Curvature,
    pub(super) system: System,
    pub(super) secants: Secants,
    /// The parameters that the factor covers.
    pub(super) factored: Vec<bool>,
    /// The point of the exact Hessian to which the factor belongs, if it has no damping.
    pub(super) exact: Option<ExactPoint>,
    /// The part of this memory that the latest covariance uses.
    pub(super) lent: Option<Arc<Factor>>,
    /// Memory for the inverse of a covariance.
    pub(super) spare: Aligned,
    /// Whether the fit is one of very many, which repeats itself only for a reason.
    pub(crate) is_toy: bool,
    /// A parameter that a toy's fit need not examine at an end of its range, because the caller does.
    pub(crate) examined: Option<usize>,
}

/// The result of a step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Taken {
        full: bool,
    },
    /// Not even a small part of it lowers the likelihood.
    Refused,
}

fn damping_after(full: bool, damping: f64) -> f64 {
    match full {
        true if damping < 1e-7 => 0.0,
        true => damping * 0.1,
        false => (damping * 2.0).max(1e-4),
    }
}

impl<'a> Fitter<'a> {
    pub fn new(model: &'a Model, data: &'a Data) -> Result<Self, EvaluationError> {
        let evaluator = model.evaluator(data);
        evaluator.check(model.init())?;
        Ok(Self {
            evaluator,
            curvature: Curvature::new(&model.layout),
            system: System::new(&model.layout),
            secants: Secants::new(model.parameter_count()),
            factored: vec![false; model.parameter_count()],
            exact: None,
            lent: None,
            spare: Aligned::default(),
            is_toy: false,
            examined: None,
        })
    }

    /// The same memory for another data set.
    pub fn set_data(&mut self, data: &'a Data) -> Result<(), EvaluationError> {
        self.evaluator.data = data;
        self.evaluator.scratch.has_slopes = false;
        self.evaluator.check(self.evaluator.model.init())
    }

    /// Reuses the memory for data with another lifetime.
    pub(crate) fn on<'b>(self, model: &'b Model, data: &'b Data) -> Fitter<'b> {
        let Self { evaluator: Evaluator { mut scratch, curvature: kept, .. }, .. } = self;
        scratch.has_slopes = false;
        let Self { curvature, system, secants, factored, lent, spare, .. } = self;
        let evaluator = Evaluator { model, data, softened: None, scratch, curvature: kept };
        Fitter {
            evaluator,
            curvature,
            system,
            secants,
            factored,
            exact: None,
            lent,
            spare,
            is_toy: false,
            examined: None,
        }
    }

    /// Minimises −log L.
    pub fn fit(&mut self, options: &FitOptions) -> Result<Fit, FitError> {
        self.is_toy = false;
        let state = self.begin(options)?;
        let pace = Pace::new(self.evaluator.model, options.start.is_some());
        let pace = if options.covariance { pace.with_covariance() } else { pace };
        Ok(self.minimise(state, pace, None, options))
    }

    /// Continues to the minimum, perhaps after a first step, and to a lower one known to be near.
    pub(super) fn minimise(
        &mut self,
        state: State,
        pace: Pace,
        first: Option<Step>,
        options: &FitOptions,
    ) -> Fit {
        self.exact = None;
        if !options.covariance {
            return self.find_minimum(state, pace, first, options);
        }
        // Only once, at the final minimum.
        let without = FitOptions { covariance: false, ..options.clone() };
        let mut fit = self.find_minimum(state, pace, first, &without);
        if !fit.at_border.is_empty() {
            // At the boundary the curvature would be that of the barrier.
            return self.along_border(&fit, options).unwrap_or(fit);
        }
        let Ok(mut state) = self.begin(&without.from(&fit.theta)) else { return fit };
        state.activate();
        fit.at_kink.iter().for_each(|&parameter| state.moving[parameter] = false);
        (fit.covariance, fit.flat) = self.covariance(&state);
        fit.evaluations += state.evaluations;
        fit
    }

    fn find_minimum(
        &mut self,
        state: State,
        pace: Pace,
        first: Option<Step>,
        options: &FitOptions,
    ) -> Fit {
        let kinks = state.kinks.clone();
        let fit = self.descend(state, pace, first, options);
        if !fit.converged() {
            return self.along_border(&fit, options).unwrap_or(fit);
        }
        let fit = self.cross(fit, &kinks, options);
        self.search_minima(fit, options)
    }

    /// Continues to the next minimum.
    pub(super) fn descend(
        &mut self,
        mut state: State,
        mut pace: Pace,
        first: Option<Step>,
        options: &FitOptions,
    ) -> Fit {
        let mut iterations = usize::from(first.is_some());
        let mut damping = match first {
            Some(Step::Taken { full }) => damping_after(full, 0.0),
            Some(Step::Refused) | None => 0.0,
        };
        let mut factorised = false;
        let mut within = 0;
        let mut rounding = f64::INFINITY;
        let outcome = loop {
            self.choose_sides(&mut state, options.tolerance);
            let kkt = state.activate();
            if state.blocked > MOST_BLOCKED && self.is_near_border() {
                break Outcome::Stalled { damping };
            }
            if kkt < options.tolerance && factorised {
                if pace.ends_exactly() {
                    // A smaller tolerance first, so that the last step stays at the point of the Hessian.
                    self.held_step(&mut state, &mut damping, kkt);
                    self.collect(&state, Information::Exact);
                    factorised = self.step(&mut state, &mut damping, kkt).is_some();
                    iterations += 1;
                    continue;
                }
                if pace.polishes() {
                    // A new matrix would have reached beyond the tolerance; a held one gains less.
                    self.held_step(&mut state, &mut damping, kkt);
                    iterations += 1;
                    continue;
                }
                break Outcome::Converged;
            }
            if kkt >= options.tolerance && iterations >= options.max_iterations {
                // Steps within rounding could go on for ever.
                let limit = if factorised { self.rounding(&state) } else { 0.0 };
                break if kkt.is_finite() && kkt <= limit {
                    Outcome::ConvergedToRounding { limit }
                } else {
                    Outcome::TooManyIterations { allowed: options.max_iterations }
                };
            }
            if kkt >= options.tolerance && factorised && kkt < AT_MOST_ROUNDING {
                // The rounding estimate hardly changes from one step to the next.
                if !(kkt > 10.0 * rounding) {
                    rounding = self.rounding(&state);
                }
                let limit = rounding;
                within += usize::from(kkt <= limit);
                // One more step may still gain digits; further steps do not.
                if within > 2 {
                    break Outcome::ConvergedToRounding { limit };
                }
            }
            if kkt < options.tolerance {
                // Converged at the start: one factorisation is needed to estimate the distance.
                self.collect(&state, Information::Exact);
                factorised = self.factorise(&state, &mut damping);
                break Outcome::Converged;
            }
            // Secants are meaningless at kinks. With few iterations allowed, exact steps are better.
            if !state.kinks.is_empty() || 2 * iterations > options.max_iterations {
                pace.release();
            }
            let matrix = pace.next(kkt, options.tolerance);
            iterations += 1;
            let step = match matrix {
                Matrix::Held => self.held_step(&mut state, &mut damping, kkt),
                Matrix::New(information) => {
                    self.collect(&state, information);
                    self.step(&mut state, &mut damping, kkt)
                }
            };
            match step {
                Some(Step::Taken { full }) => {
                    factorised = true;
                    if matrix != Matrix::Held {
                        damping = damping_after(full, damping);
                    }
                    if damping > 0.0 || !self.learn(&state) {
                        pace.release();
                    }
                }
                refused @ (Some(Step::Refused) | None) if matrix == Matrix::Held => {
                    // A factorisation that fails destroys the one that was held.
                    factorised &= refused.is_some();
                    pace.release();
                }
                refused @ (Some(Step::Refused) | None) => {
                    // Without a step there is no factorisation to measure the distance with.
                    factorised &= refused.is_some();
                    let limit = self.rounding(&state);
                    break if kkt.is_finite() && kkt <= limit {
                        Outcome::ConvergedToRounding { limit }
                    } else {
                        Outcome::Stalled { damping }
                    };
                }
            }
        };
        let distance = factorised.then(|| self.distance(&mut state));
        self.finish(state, distance, outcome, iterations, options)
    }

    /// Collects second derivatives at the latest evaluation, replacing the held ones.
    fn collect(&mut self, state: &State, information: Information) {
        self.secants.clear();
        self.exact = (information == Information::Exact)
            .then(|| ExactPoint { theta: state.theta.clone(), gradient: state.gradient.clone() });
        self.evaluator.collect(&mut self.curvature, information);
    }

    /// Updates the secants with the curvature along the latest step.
    pub(super) fn learn(&mut self, state: &State) -> bool {
        let [theta, gradient] = &state.from;
        let ends = Ends { theta: [theta, &state.theta], gradient: [gradient, &state.gradient] };
        self.secants.add(&ends, &self.factored)
    }

    /// Factorises with as much damping as needed; false if no damping is enough.
    fn factorise(&mut self, state: &State, damping: &mut f64) -> bool {
        let layout = &self.evaluator.model.layout;
        while !self.system.factorise(layout, &self.curvature, &state.moving, *damping) {
            *damping = (*damping * 10.0).max(1e-6);
            if *damping > MOST_DAMPING {
                self.factored.fill(false);
                self.exact = None;
                return false;
            }
        }
        self.factored.copy_from_slice(&state.moving);
        if *damping > 0.0 {
            self.exact = None;
        }
        true
    }

    /// A step with the held matrix and the secants; `None` as in [`Self::step`].
    fn held_step(&mut self, state: &mut State, damping: &mut f64, kkt: f64) -> Option<Step> {
        let direction = if let Some(direction) = self.secant_direction(state) {
            direction
        } else {
            self.secants.clear();
            self.direction(state, damping)?
        };
        let step = self.search(state, &direction, kkt);
        if let Step::Refused = step {
            self.evaluate(state);
        }
        Some(step)
    }

    /// `None` if a bound holds other parameters, or would be crossed.
    pub(super) fn secant_direction(&mut self, state: &State) -> Option<Vec<f64>> {
        if self.factored != state.moving {
            return None;
        }
        let mut p: Vec<f64> = state.gradient.iter().map(|slope| -slope).collect();
        self.solve(&state.moving, &mut p);
        let inside = |i: usize| {
            let to = state.theta[i] + p[i];
            to >= state.lower[i] && to <= state.upper[i]
        };
        (0..p.len()).all(|i| !state.moving[i] || inside(i)).then_some(p)
    }

    /// Solves for the moving parameters with the factor and the secants; the others get zero.
    pub(super) fn solve(&mut self, moving: &[bool], vector: &mut [f64]) {
        let layout = &self.evaluator.model.layout;
        self.secants.before(vector);
        self.system.solve(layout, &self.curvature, moving, vector);
        self.secants.after(vector);
    }

    /// One step; `None` if the Hessian cannot be factorised at all.
    fn step(&mut self, state: &mut State, damping: &mut f64, kkt: f64) -> Option<Step> {
        loop {
            let direction = self.direction(state, damping)?;
            match self.search(state, &direction, kkt) {
                taken @ Step::Taken { .. } => return Some(taken),
                Step::Refused => {
                    // The line search left the evaluator at another point.
                    self.evaluate(state);
                    state.activate();
                    *damping = (*damping * 10.0).max(1e-3);
                    if *damping > MOST_DAMPING {
                        return Some(Step::Refused);
                    }
                }
            }
        }
    }

    /// The step of the quadratic model within the bounds.
    fn direction(&mut self, state: &mut State, damping: &mut f64) -> Option<Vec<f64>> {
        let layout = &self.evaluator.model.layout;
        let count = state.theta.len();
        let mut held = vec![0.0; count];
        let mut any_held = false;
        for _ in 0..count.min(25) {
            if !self.factorise(state, damping) {
                return None;
            }
            let mut p: Vec<f64> = state.gradient.iter().map(|slope| -slope).collect();
            if any_held {
                let pushed = self.curvature.multiply(layout, &held);
                p.iter_mut().zip(pushed).for_each(|(p, pushed)| *p -= pushed);
            }
            self.system.solve(layout, &self.curvature, &state.moving, &mut p);
            let mut leaves = false;
            for i in 0..count {
                if !state.moving[i] {
                    p[i] = held[i];
                    continue;
                }
                let to = state.theta[i] + p[i];
                if to < state.lower[i] || to > state.upper[i] {
                    leaves = true;
                    held[i] = to.clamp(state.lower[i], state.upper[i]) - state.theta[i];
                    p[i] = held[i];
                    state.moving[i] = false;
                }
            }
            any_held |= leaves;
            if !leaves || !state.moving.iter().any(|moving| *moving) {
                return Some(p);
            }
        }
        // Many bounds at once: the gradient alone points downhill inside the box.
        state.activate();
        let p = (0..count).map(|i| {
            let scale = 1.0 / (1.0 + state.gradient[i].abs());
            let to = state.theta[i] - scale * state.gradient[i];
            if state.moving[i] {
                to.clamp(state.lower[i], state.upper[i]) - state.theta[i]
            } else {
                0.0
            }
        });
        Some(p.collect())
    }

    /// Moves along a direction as far as that lowers the likelihood.
    pub(super) fn search(&mut self, state: &mut State, direction: &[f64], kkt: f64) -> Step {
        let slope = product(&state.gradient, direction);
        if !(slope < 0.0) {
            return Step::Refused;
        }
        let nll = state.nll;
        state.from[0].copy_from_slice(&state.theta);
        state.from[1].copy_from_slice(&state.gradient);
        // Differences below this are rounding, so the gradient decides.
        let noise = 1e-13 * (1.0 + nll.abs());
        let mut part = 1.0;
        for _ in 0..12 {
            for (i, from) in state.from[0].iter().enumerate() {
                let to = from + part * direction[i];
                state.theta[i] =
                    if state.free[i] { to.clamp(state.lower[i], state.upper[i]) } else { *from };
            }
            if self.evaluate(state) {
                let lower = state.nll <= nll + 1e-4 * part * slope;
                let flat = -slope < 100.0 * noise && state.nll <= nll + noise;
                if lower || (flat && state.activate() < kkt) {
                    return Step::Taken { full: part == 1.0 };
                }
                if flat {
                    break;
                }
                // The minimum of the parabola through the known values.
                let curve = state.nll - nll - part * slope;
                let best = -0.5 * slope * part * part / curve;
                part = best.clamp(0.1 * part, 0.5 * part);
            } else {
                state.blocked += usize::from(part == 1.0);
                part *= 0.25;
            }
        }
        state.theta.copy_from_slice(&state.from[0]);
        state.gradient.copy_from_slice(&state.from[1]);
        state.nll = nll;
        Step::Refused
    }

    /// The gradient that rounding alone can leave.
    fn rounding(&self, state: &State) -> f64 {
        let layout = &self.evaluator.model.layout;
        let weights = &self.evaluator.scratch.weight;
        // The terms that the gradient sums up, for each parameter.
        let mut parts = vec![0.0_f64; state.theta.len()];
        for (bin, front, row) in self.curvature.rows(layout) {
            let size = 2.0 + weights[bin].abs();
            for (&parameter, slope) in front.parameters.iter().zip(row) {
                parts[parameter as usize] += size * slope.abs();
            }
        }
        for (local, &parameter) in layout.elimination.local.iter().enumerate() {
            parts[parameter as usize] = 2.0 * self.curvature.slope[local].abs();
        }
        self.evaluator.add_constraint_sizes(&state.theta, &mut parts);
        let moving = parts.iter().zip(&state.moving).filter(|(_, moving)| **moving);
        64.0 * f64::EPSILON * moving.map(|(part, _)| *part).fold(0.0, f64::max)
    }

    /// ½ gᵀH⁻¹g with the latest factor.
    fn distance(&mut self, state: &mut State) -> f64 {
        state.activate();
        let mut p = state.gradient.clone();
        self.solve(&state.moving, &mut p);
        let twice: f64 = state
            .gradient
            .iter()
            .zip(&p)
            .zip(&state.moving)
            .map(|((slope, p), moving)| if *moving { slope * p } else { 0.0 })
            .sum();
        0.5 * twice.abs()
    }

    fn finish(
        &mut self,
        mut state: State,
        distance: Option<f64>,
        outcome: Outcome,
        iterations: usize,
        options: &FitOptions,
    ) -> Fit {
        let kkt = state.activate();
        let mut covariance = None;
        let mut flat = None;
        if options.covariance {
            self.evaluate(&mut state);
            state.activate();
            (covariance, flat) = self.covariance(&state);
        }
        let at_kink = state.leave_kinks();
        Fit {
            at_bound: state.at_bound(),
            at_kink,
            at_border: Vec::new(),
            other_minima: Vec::new(),
            two_sided: false,
            doubtful: false,
            flat,
            kkt,
            edm: distance.unwrap_or(if kkt == 0.0 { 0.0 } else { f64::INFINITY }),
            iterations,
            evaluations: state.evaluations,
            outcome,
            covariance,
            theta: state.theta,
            nll: state.nll,
            gradient: state.gradient,
            free: state.free,
        }
    }
}
