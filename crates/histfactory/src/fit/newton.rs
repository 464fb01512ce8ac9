//! The iteration.
//!
//! Damping follows Levenberg and Marquardt, multiples of the diagonal; bounds are kept by an active
//! set (a parameter at its bound whose gradient pushes it outwards is held) and, within a step, by
//! solving again with the parameters that would leave their range held at its end.

use super::kinks::Kink;
use super::options::FitOptions;
use super::result::{Fit, FitError, Outcome, Side};
use super::{Covariance, System};
use crate::kernel::{Curvature, Information};
use crate::likelihood::Evaluator;
use crate::model::{Data, EvaluationError, Model};

/// Steps with the expected information before the exact Hessian takes over.
const FISHER_STEPS: usize = 2;
const MOST_DAMPING: f64 = 1e10;

/// Fits of one model, with memory that is used again.
#[derive(Debug, Clone)]
pub struct Fitter<'a> {
    pub(super) evaluator: Evaluator<'a>,
    pub(super) curvature: Curvature,
    pub(super) system: System,
}

/// A fit under way.
pub(super) struct State {
    pub(super) theta: Vec<f64>,
    pub(super) nll: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) free: Vec<bool>,
    /// Free and not held by a bound or a kink.
    pub(super) moving: Vec<bool>,
    pub(super) kinks: Vec<Kink>,
    pub(super) evaluations: usize,
}

impl State {
    /// Finds out which parameters a bound holds; returns the largest other gradient.
    fn activate(&mut self) -> f64 {
        let mut kkt = 0.0_f64;
        for i in 0..self.theta.len() {
            let (value, slope) = (self.theta[i], self.gradient[i]);
            // Without a slope nothing leads away from a bound: two factors of a product that are
            // both zero stay there.
            let held = (value <= self.lower[i] && slope >= 0.0)
                || (value >= self.upper[i] && slope <= 0.0);
            self.moving[i] = self.free[i] && !held;
            if self.moving[i] {
                // `max` would pass over a slope that is no number.
                kkt = if slope.is_nan() { f64::INFINITY } else { kkt.max(slope.abs()) };
            }
        }
        kkt
    }

    fn at_bound(&self) -> Vec<(usize, Side)> {
        (0..self.theta.len())
            .filter(|&i| self.free[i])
            .filter_map(|i| match self.theta[i] {
                value if value <= self.lower[i] => Some((i, Side::Lower)),
                value if value >= self.upper[i] => Some((i, Side::Upper)),
                _ => None,
            })
            .collect()
    }
}

/// What became of a step.
enum Step {
    Taken {
        full: bool,
    },
    /// Not even a small part of it lowers the likelihood.
    Refused,
}

impl<'a> Fitter<'a> {
    pub fn new(model: &'a Model, data: &'a Data) -> Result<Self, EvaluationError> {
        let evaluator = model.evaluator(data);
        evaluator.check(model.init())?;
        Ok(Self {
            evaluator,
            curvature: Curvature::new(&model.layout),
            system: System::new(&model.layout),
        })
    }

    /// The same memory for another data set.
    pub fn set_data(&mut self, data: &'a Data) -> Result<(), EvaluationError> {
        self.evaluator.data = data;
        self.evaluator.check(self.evaluator.model.init())
    }

    /// Minimises −log L.
    pub fn fit(&mut self, options: &FitOptions) -> Result<Fit, FitError> {
        let mut state = self.begin(options)?;
        let fisher = if options.start.is_some() { 1 } else { FISHER_STEPS };
        let mut damping = 0.0;
        let mut iterations = 0;
        let mut factorised = false;
        let outcome = loop {
            self.choose_sides(&mut state, options.tolerance);
            let kkt = state.activate();
            if kkt < options.tolerance && factorised {
                break Outcome::Converged;
            }
            if kkt >= options.tolerance && iterations >= options.max_iterations {
                // Steps within rounding may go on for ever.
                let limit = if factorised { self.rounding(&state) } else { 0.0 };
                break if kkt.is_finite() && kkt <= limit {
                    Outcome::ConvergedToRounding { limit }
                } else {
                    Outcome::TooManyIterations { allowed: options.max_iterations }
                };
            }
            let far = iterations < fisher && kkt > 1e-3;
            let information = if far { Information::Fisher } else { Information::Exact };
            self.evaluator.collect(&mut self.curvature, information);
            if kkt < options.tolerance {
                // Already there: one factorisation, for the distance.
                factorised = self.factorise(&state, &mut damping);
                break Outcome::Converged;
            }
            iterations += 1;
            match self.step(&mut state, &mut damping, kkt) {
                Some(Step::Taken { full }) => {
                    factorised = true;
                    damping = match full {
                        true if damping < 1e-7 => 0.0,
                        true => damping * 0.1,
                        false => (damping * 2.0).max(1e-4),
                    };
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
        Ok(self.finish(state, distance, outcome, iterations, options))
    }

    /// The start, with everything that holds it.
    fn begin(&mut self, options: &FitOptions) -> Result<State, FitError> {
        let model = self.evaluator.model;
        let mut theta = options.start.clone().unwrap_or_else(|| model.init().to_vec());
        model.check_parameters(&theta)?;
        let mut free: Vec<bool> = model.fixed().iter().map(|fixed| !fixed).collect();
        let mut lower: Vec<f64> = model.bounds().iter().map(|bounds| bounds[0]).collect();
        let mut upper: Vec<f64> = model.bounds().iter().map(|bounds| bounds[1]).collect();
        let count = theta.len();
        let known = |parameter: usize| match parameter {
            known if known < count => Ok(()),
            unknown => Err(EvaluationError::NoSuchParameter { name: unknown.to_string() }),
        };
        for &(parameter, [low, high]) in &options.bounds {
            known(parameter)?;
            if !(low <= high) {
                return Err(FitError::Bounds { parameter, low, high });
            }
            (lower[parameter], upper[parameter]) = (low, high);
        }
        // A fixed parameter stays where the start has it, even outside its bounds, as in pyhf.
        if options.start.is_none() {
            for i in 0..count {
                if !free[i] {
                    theta[i] = model.init()[i];
                }
            }
        }
        for &(parameter, value) in &options.fixed {
            known(parameter)?;
            if !value.is_finite() {
                let what = "parameter";
                return Err(EvaluationError::NotFinite { what, index: parameter, value }.into());
            }
            theta[parameter] = value;
            free[parameter] = false;
        }
        for i in 0..count {
            if free[i] {
                theta[i] = theta[i].clamp(lower[i], upper[i]);
            }
        }
        let moving = free.clone();
        let gradient = vec![0.0; count];
        let kinks = Vec::new();
        let (nll, evaluations) = (f64::NAN, 0);
        let mut state =
            State { theta, nll, gradient, lower, upper, free, moving, kinks, evaluations };
        state.find_kinks(model);
        self.feasible_start(&mut state)?;
        Ok(state)
    }

    /// Evaluates at `state.theta`; whether that gave a finite value.
    pub(super) fn evaluate(&mut self, state: &mut State) -> bool {
        state.nll = self.evaluator.raw_gradient(&state.theta);
        state.evaluations += 1;
        state.gradient.copy_from_slice(self.evaluator.gradient());
        state.nll.is_finite()
    }

    /// Factorises, damping as much as is needed; false if nothing helps.
    fn factorise(&mut self, state: &State, damping: &mut f64) -> bool {
        let layout = &self.evaluator.model.layout;
        while !self.system.factorise(layout, &self.curvature, &state.moving, *damping) {
            *damping = (*damping * 10.0).max(1e-6);
            if *damping > MOST_DAMPING {
                return false;
            }
        }
        true
    }

    /// One step; `None` if the Hessian cannot be factorised at all.
    fn step(&mut self, state: &mut State, damping: &mut f64, kkt: f64) -> Option<Step> {
        loop {
            let direction = self.direction(state, damping)?;
            match self.search(state, &direction, kkt) {
                taken @ Step::Taken { .. } => return Some(taken),
                Step::Refused => {
                    // What the search left in the evaluator belongs to another point.
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

    /// Goes along a direction as far as it lowers the likelihood.
    fn search(&mut self, state: &mut State, direction: &[f64], kkt: f64) -> Step {
        let slope: f64 = state.gradient.iter().zip(direction).map(|(g, p)| g * p).sum();
        if !(slope < 0.0) {
            return Step::Refused;
        }
        let (from, nll) = (state.theta.clone(), state.nll);
        let gradient = state.gradient.clone();
        // Differences below this are rounding: there the gradient decides.
        let noise = 1e-13 * (1.0 + nll.abs());
        let mut part = 1.0;
        for _ in 0..12 {
            for i in 0..from.len() {
                let to = from[i] + part * direction[i];
                state.theta[i] =
                    if state.free[i] { to.clamp(state.lower[i], state.upper[i]) } else { from[i] };
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
                // The minimum of the parabola through what is known.
                let curve = state.nll - nll - part * slope;
                let best = -0.5 * slope * part * part / curve;
                part = best.clamp(0.1 * part, 0.5 * part);
            } else {
                part *= 0.25;
            }
        }
        state.theta = from;
        state.nll = nll;
        state.gradient = gradient;
        Step::Refused
    }

    /// The gradient that rounding alone can leave.
    fn rounding(&self, state: &State) -> f64 {
        let layout = &self.evaluator.model.layout;
        let stride = self.curvature.dense.stride;
        let mut limit = 0.0_f64;
        for (place, &parameter) in layout.elimination.global.iter().enumerate() {
            let parameter = parameter as usize;
            if !state.moving[parameter] {
                continue;
            }
            let rows = self.curvature.jacobian.chunks_exact(stride.max(1));
            let sum: f64 = rows
                .zip(&self.evaluator.scratch.weight)
                .map(|(row, weight)| (2.0 + weight.abs()) * row[place].abs())
                .sum();
            limit = limit.max(sum + state.theta[parameter].abs());
        }
        for (local, &parameter) in layout.elimination.local.iter().enumerate() {
            if state.moving[parameter as usize] {
                limit = limit.max(2.0 * self.curvature.slope[local].abs());
            }
        }
        64.0 * f64::EPSILON * limit
    }

    /// ½ gᵀH⁻¹g with the latest factor.
    fn distance(&mut self, state: &mut State) -> f64 {
        state.activate();
        let layout = &self.evaluator.model.layout;
        let mut p = state.gradient.clone();
        self.system.solve(layout, &self.curvature, &state.moving, &mut p);
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
        let layout = &self.evaluator.model.layout;
        let kkt = state.activate();
        let mut covariance = None;
        if options.covariance {
            self.evaluate(&mut state);
            state.activate();
            self.evaluator.collect(&mut self.curvature, Information::Exact);
            if self.system.factorise(layout, &self.curvature, &state.moving, 0.0) {
                covariance =
                    Some(Covariance::new(layout, &self.curvature, &mut self.system, &state.moving));
            }
        }
        let at_kink = state.leave_kinks();
        Fit {
            at_bound: state.at_bound(),
            at_kink,
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
