//! The first step of many fits that start at the same point, as those of toys do.
//!
//! At a common start the rates, their derivatives and the expected information are the same for all fits, and
//! only the data differ. With w = 1 − n/ν the gradient is Jᵀw and the constraints' part, and the step is a
//! solve with a factor that is computed once. Both are computed for several toys at a time, one in each lane
//! of a vector.

use std::sync::OnceLock;

use super::System;
use super::lanes::{Lanes, spread};
use super::newton::{Fitter, Step};
use super::options::FitOptions;
use super::pace::Pace;
use super::result::{Fit, FitError};
use super::state::State;
use super::system::{small_cholesky, small_solve};
use crate::kernel::{Curvature, Information, Simd, WithSimd, dispatch};
use crate::linalg::add_multiple;
use crate::model::layout::{Front, LANES};
use crate::model::{Data, Model};
use crate::special::poisson_deviance;

/// The largest number of parameters that bounds may hold in a shared step.
const MOST_HELD: usize = 16;

/// The starting point that the fits share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    model: &'a Model,
    state: State,
    rate: Vec<f64>,
    curvature: Curvature,
    system: System,
    /// Columns of the inverse, computed when a bound first needs one.
    columns: Vec<OnceLock<Vec<f64>>>,
}

/// The start of the fit to a toy, and the point after its first step.
#[derive(Debug, Clone)]
pub(crate) struct First {
    nll: f64,
    gradient: Vec<f64>,
    direction: Vec<f64>,
}

impl<'a> Shared<'a> {
    /// `None` if a shared step is impossible: −log L of the expected data has no value or a kink at the
    /// start, or the information is singular.
    pub(crate) fn new(model: &'a Model, expected: &Data, options: &FitOptions) -> Option<Self> {
        let mut fitter = Fitter::new(model, expected).ok()?;
        let state = fitter.begin(options).ok()?;
        if state.evaluations != 1 || !state.kinks.is_empty() {
            return None;
        }
        fitter.evaluator.collect(&mut fitter.curvature, Information::Fisher);
        let Fitter { evaluator, curvature, mut system, .. } = fitter;
        let good = system.factorise(&model.layout, &curvature, &state.free, 0.0);
        let rate = evaluator.scratch.rate[..model.layout.bins].to_vec();
        let columns = vec![OnceLock::new(); state.theta.len()];
        good.then_some(Self { model, state, rate, curvature, system, columns })
    }

    /// The first steps of some toys.
    pub(crate) fn first_steps(&self, toys: &[Data]) -> Vec<First> {
        let count = self.model.parameter_count();
        let mut weights = Lanes::zeros(self.rate.len());
        let mut gradient = Lanes::zeros(count);
        let mut found = Vec::with_capacity(toys.len());
        for toys in toys.chunks(LANES) {
            gradient.clear();
            self.weigh(toys, &mut weights);
            dispatch(Slopes { shared: self, weights: &weights, gradient: &mut gradient });
            for (lane, toy) in toys.iter().enumerate() {
                self.constrain(toy, lane, &mut gradient);
            }
            let mut step = gradient.clone();
            self.system.solve_lanes(
                &self.model.layout,
                &self.curvature,
                &self.state.free,
                &mut step,
            );
            for (lane, toy) in toys.iter().enumerate() {
                found.push(First {
                    nll: self.nll(toy),
                    gradient: gradient.of_lane(lane).collect(),
                    direction: step.of_lane(lane).map(|step| -step).collect(),
                });
            }
        }
        found
    }

    /// The step within the bounds: with parameters that a bound holds, or that would leave their range,
    /// at its end, as long as these are few.
    ///
    /// With C the inverse and a step p without bounds, p − C_A C_AA⁻¹ (p_A − c) is the step that equals c in
    /// the parameters A.
    fn bounded(&self, state: &State, step: Vec<f64>) -> Option<Vec<f64>> {
        let free = (0..step.len()).filter(|&i| state.free[i]);
        let mut held: Vec<(usize, f64)> =
            free.filter(|&i| !state.moving[i]).map(|i| (i, 0.0)).collect();
        if held.is_empty() && !leaves(state, &step, &mut held) {
            return Some(step);
        }
        loop {
            let mut bounded = step.clone();
            self.hold(&held, &mut bounded)?;
            if !leaves(state, &bounded, &mut held) {
                return Some(bounded);
            }
        }
    }

    fn hold(&self, held: &[(usize, f64)], step: &mut [f64]) -> Option<()> {
        let count = held.len();
        if count > MOST_HELD {
            return None;
        }
        let columns: Vec<&[f64]> =
            held.iter().map(|(parameter, _)| self.column(*parameter)).collect();
        let square = columns.iter().flat_map(|column| held.iter().map(|(i, _)| column[*i]));
        let mut square: Vec<f64> = square.collect();
        if !small_cholesky(&mut square, count) {
            return None;
        }
        let mut pulls: Vec<f64> = held.iter().map(|(i, at)| step[*i] - at).collect();
        small_solve(&square, &mut pulls);
        for (pull, column) in pulls.iter().zip(&columns) {
            add_multiple(step, -pull, column);
        }
        for &(i, at) in held {
            step[i] = at;
        }
        Some(())
    }

    fn column(&self, parameter: usize) -> &[f64] {
        self.columns[parameter].get_or_init(|| {
            let mut unit = Lanes::zeros(self.columns.len());
            unit.get_mut(parameter)[0] = 1.0;
            let Self { model, curvature, state, .. } = self;
            self.system.solve_lanes(&model.layout, curvature, &state.free, &mut unit);
            unit.of_lane(0).collect()
        })
    }

    /// 1 − n/ν.
    fn weigh(&self, toys: &[Data], weights: &mut Lanes) {
        for (bin, &rate) in self.rate.iter().enumerate() {
            let weights = weights.get_mut(bin);
            for (weight, toy) in weights.iter_mut().zip(toys) {
                let n = toy.values[bin];
                *weight = if n == 0.0 { 1.0 } else { (rate - n) / rate };
            }
        }
    }

    /// Adds the constraints' part of the gradient.
    fn constrain(&self, toy: &Data, lane: usize, gradient: &mut Lanes) {
        let auxiliary = toy.auxiliary();
        for term in &self.model.numbers.normal {
            let distance = self.state.theta[term.parameter] - auxiliary[term.auxiliary];
            gradient.get_mut(term.parameter)[lane] +=
                distance * term.inverse_sigma * term.inverse_sigma;
        }
        for term in &self.model.numbers.poisson {
            let (gamma, n) = (self.state.theta[term.parameter], auxiliary[term.auxiliary]);
            gradient.get_mut(term.parameter)[lane] +=
                if n == 0.0 { term.factor } else { (gamma * term.factor - n) / gamma };
        }
    }

    /// −log L at the start.
    fn nll(&self, toy: &Data) -> f64 {
        let numbers = &self.model.numbers;
        let auxiliary = toy.auxiliary();
        let main: f64 =
            toy.main().iter().zip(&self.rate).map(|(&n, &rate)| poisson_deviance(n, rate)).sum();
        let normal = numbers.normal.iter().map(|term| {
            let distance = self.state.theta[term.parameter] - auxiliary[term.auxiliary];
            0.5 * (distance * term.inverse_sigma).powi(2)
        });
        let poisson = numbers.poisson.iter().map(|term| {
            let rate = self.state.theta[term.parameter] * term.factor;
            poisson_deviance(auxiliary[term.auxiliary], rate)
        });
        let constraints = normal.chain(poisson).sum::<f64>() + numbers.normal_constant;
        main + constraints + toy.constant
    }
}

/// Adds the parameters that a step takes out of their range, with the distance to its end.
fn leaves(state: &State, step: &[f64], held: &mut Vec<(usize, f64)>) -> bool {
    let count = held.len();
    for (i, p) in step.iter().enumerate() {
        let to = state.theta[i] + p;
        let inside = to >= state.lower[i] && to <= state.upper[i];
        if state.moving[i] && !inside && held.iter().all(|(held, _)| *held != i) {
            held.push((i, to.clamp(state.lower[i], state.upper[i]) - state.theta[i]));
        }
    }
    held.len() > count
}

struct Slopes<'a> {
    shared: &'a Shared<'a>,
    weights: &'a Lanes,
    gradient: &'a mut Lanes,
}

impl WithSimd for Slopes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shared, weights, gradient } = self;
        let elimination = &shared.model.layout.elimination;
        let layout = &shared.model.layout;
        let widest = elimination.fronts.iter().map(Front::len).max().unwrap_or(0);
        let mut of_front = Lanes::zeros(widest);
        for (front, part) in elimination.fronts.iter().zip(&shared.curvature.parts) {
            of_front.clear();
            for (row, &bin) in front.bins.iter().enumerate() {
                let target = &mut of_front.all_mut()[..front.len() * LANES];
                spread(simd, target, weights.get(bin as usize), &part.row(row)[..front.len()]);
            }
            for (at, &parameter) in front.parameters.iter().enumerate() {
                let sums = gradient.get_mut(parameter as usize).iter_mut();
                sums.zip(of_front.get(at)).for_each(|(sum, part)| *sum += part);
            }
        }
        for bin in 0..layout.bins {
            for local in elimination.local_of_bin[bin].clone() {
                let slope = shared.curvature.slope[local];
                let of_local = gradient.get_mut(elimination.local[local] as usize).iter_mut();
                of_local.zip(weights.get(bin)).for_each(|(g, weight)| *g += slope * weight);
            }
        }
    }
}

impl Fitter<'_> {
    /// Fits one of many data sets: it may end on the expected information.
    pub(crate) fn fit_toy(&mut self, options: &FitOptions) -> Result<Fit, FitError> {
        self.is_toy = true;
        let state = self.begin(options)?;
        let pace = Pace::of_toy(self.evaluator.model, false);
        Ok(self.minimise(state, pace, None, options))
    }

    /// The same, starting with the step shared with other fits.
    pub(crate) fn fit_along(
        &mut self,
        shared: &Shared<'_>,
        first: First,
        options: &FitOptions,
    ) -> Result<Fit, FitError> {
        self.is_toy = true;
        self.renew();
        let mut state = shared.state.clone();
        (state.nll, state.gradient, state.evaluations) = (first.nll, first.gradient, 0);
        let kkt = state.activate();
        if !(state.nll.is_finite() && kkt.is_finite() && kkt >= options.tolerance) {
            return self.fit_toy(options);
        }
        let Some(direction) = shared.bounded(&state, first.direction) else {
            return self.fit_toy(options);
        };
        match self.search(&mut state, &direction, kkt) {
            taken @ Step::Taken { .. } => {
                let pace = Pace::of_toy(self.evaluator.model, true);
                Ok(self.minimise(state, pace, Some(taken), options))
            }
            Step::Refused => self.fit_toy(options),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelOptions;
    use crate::synthetic::Twin;

    #[test]
    fn values_and_gradients_at_the_start_equal_single_evaluations() {
        for twin in Twin::ALL {
            let model = Model::new(&twin.workspace(2), &ModelOptions::default()).unwrap();
            let theta: Vec<f64> = model.init().iter().map(|value| value + 0.01).collect();
            let options = FitOptions::default().from(&theta);
            let asimov = model.asimov(&theta).unwrap();
            let shared = Shared::new(&model, &asimov, &options).unwrap();
            let toys = model.toys(&theta, 7, 5).unwrap();
            let first = shared.first_steps(&toys);
            assert_eq!(first.len(), toys.len());
            for (first, toy) in first.iter().zip(&toys) {
                let (nll, gradient) = model.nll_and_gradient(&theta, toy).unwrap();
                assert!((first.nll - nll).abs() < 1e-12 * (1.0 + nll.abs()));
                for (one, two) in first.gradient.iter().zip(&gradient) {
                    assert!((one - two).abs() < 1e-9 * (1.0 + two.abs()), "{one} {two}");
                }
            }
        }
    }
}
