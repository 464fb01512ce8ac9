//! The state of a running fit: its point, and the parameters that may move.

use super::Fitter;
use super::kinks::Kink;
use super::options::FitOptions;
use super::result::{FitError, Side};
use crate::model::EvaluationError;

/// The state of a running fit.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) theta: Vec<f64>,
    pub(super) nll: f64,
    pub(super) gradient: Vec<f64>,
    /// Both where the latest step began.
    pub(super) from: [Vec<f64>; 2],
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) free: Vec<bool>,
    /// Free and not held by a bound or a kink.
    pub(super) moving: Vec<bool>,
    pub(super) kinks: Vec<Kink>,
    pub(super) evaluations: usize,
    /// Steps that were shortened because −log L has no value at their end.
    pub(super) blocked: usize,
}

impl State {
    /// Updates the parameters that bounds hold; returns the largest remaining gradient.
    pub(super) fn activate(&mut self) -> f64 {
        let mut kkt = 0.0_f64;
        let mut is_number = true;
        let values = self.theta.iter().zip(&self.gradient);
        let bounds = self.lower.iter().zip(&self.upper);
        let flags = self.free.iter().zip(&mut self.moving);
        for (((value, slope), (lower, upper)), (free, moving)) in values.zip(bounds).zip(flags) {
            // A parameter without a slope stays at its bound: two factors of a product that are both zero
            // stay there.
            let held = (value <= lower && *slope >= 0.0) || (value >= upper && *slope <= 0.0);
            *moving = *free && !held;
            let size = if *moving { slope.abs() } else { 0.0 };
            // A comparison ignores a slope that is NaN.
            is_number &= !size.is_nan();
            kkt = if size > kkt { size } else { kkt };
        }
        if is_number { kkt } else { f64::INFINITY }
    }

    pub(super) fn at_bound(&self) -> Vec<(usize, Side)> {
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

impl Fitter<'_> {
    /// The start, with everything that holds its parameters.
    pub(super) fn begin(&mut self, options: &FitOptions) -> Result<State, FitError> {
        let mut state = self.prepare(options)?;
        self.feasible_start(&mut state)?;
        Ok(state)
    }

    /// The same before −log L is evaluated there.
    pub(super) fn prepare(&mut self, options: &FitOptions) -> Result<State, FitError> {
        self.renew();
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
        let mut state = State {
            nll: f64::NAN,
            gradient: vec![0.0; count],
            from: [vec![0.0; count], vec![0.0; count]],
            theta,
            lower,
            upper,
            free,
            moving,
            kinks: Vec::new(),
            evaluations: 0,
            blocked: 0,
        };
        state.find_kinks(model);
        Ok(state)
    }

    /// Evaluates at `state.theta`; whether that gave a finite value.
    pub(super) fn evaluate(&mut self, state: &mut State) -> bool {
        state.nll = self.evaluator.raw_gradient(&state.theta);
        state.evaluations += 1;
        state.gradient.copy_from_slice(self.evaluator.gradient());
        state.nll.is_finite()
    }
}
