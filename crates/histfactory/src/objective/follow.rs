//! Minima that follow the inputs, and solves with their Hessian (the implicit function theorem).
//!
//! At a minimum F_θ(θ, x) = 0 for all parameters that are not held, so dθ = −H⁻¹ F_θx dx. The same
//! factor of H gives the solutions of linear systems, and their rates: H s = b gives
//! H ds = db − (dH) s.

use std::cell::RefCell;

use super::number::{Along, Number};
use super::surface::Surface;
use crate::fit::{Fit, System};
use crate::inference::InferenceError;
use crate::kernel::{Curvature, Information};
use crate::model::{Data, Model};

/// A minimum of a likelihood, with the factor of its Hessian once it is needed.
pub(super) struct Point {
    pub(super) theta: Vec<f64>,
    data: Data,
    moving: Vec<bool>,
    factor: RefCell<Option<(Curvature, System)>>,
}

impl Point {
    pub(super) fn new(fit: Fit, data: &Data) -> Self {
        let moving = fit.moving();
        Self { theta: fit.theta, data: data.clone(), moving, factor: RefCell::new(None) }
    }

    /// The point whose expected data are `data`, which is their best fit.
    pub(super) fn expected(model: &Model, theta: Vec<f64>, data: &Data) -> Self {
        let moving = model.fixed().iter().map(|fixed| !fixed).collect();
        Self { theta, data: data.clone(), moving, factor: RefCell::new(None) }
    }

    pub(super) fn moves(&self, parameter: usize) -> bool {
        self.moving[parameter]
    }

    /// H⁻¹ times a vector; zero for parameters that do not move.
    pub(super) fn solve(&self, model: &Model, vector: &[f64]) -> Result<Vec<f64>, InferenceError> {
        let mut factor = self.factor.borrow_mut();
        let (curvature, system) = match &mut *factor {
            Some(known) => known,
            none => none.insert(self.factorised(model)?),
        };
        let mut solution = vector.to_vec();
        system.solve(&model.layout, curvature, &self.moving, &mut solution);
        Ok(solution)
    }

    fn factorised(&self, model: &Model) -> Result<(Curvature, System), InferenceError> {
        let mut evaluator = model.evaluator(&self.data);
        evaluator.nll_and_gradient(&self.theta)?;
        let mut curvature = Curvature::new(&model.layout);
        evaluator.collect(&mut curvature, Information::Exact);
        let mut system = System::new(&model.layout);
        if system.factorise(&model.layout, &curvature, &self.moving, 0.0) {
            return Ok((curvature, system));
        }
        Err(InferenceError::NoUncertainty { parameter: "every parameter".to_owned() })
    }
}

/// Numbers for which a gradient can be computed: plain, or moving along a direction of the inputs.
pub(super) trait Level: Number {
    /// The minimum as the inputs change; `held` gives the motion of a held parameter.
    fn follow(
        surface: &Surface<'_, Self>,
        point: &Point,
        held: Option<(usize, Self)>,
    ) -> Result<Vec<Self>, InferenceError>;

    /// H⁻¹ times a vector at a minimum.
    fn solve(
        surface: &Surface<'_, Self>,
        point: &Point,
        theta: &[Self],
        right: &[Self],
    ) -> Result<Vec<Self>, InferenceError>;

    /// A value with known slopes.
    fn combined(value: f64, slopes: &[Self], x: &[Self]) -> Self;
}

impl Level for f64 {
    fn follow(
        _: &Surface<'_, Self>,
        point: &Point,
        _: Option<(usize, Self)>,
    ) -> Result<Vec<Self>, InferenceError> {
        Ok(point.theta.clone())
    }

    fn solve(
        surface: &Surface<'_, Self>,
        point: &Point,
        _: &[Self],
        right: &[Self],
    ) -> Result<Vec<Self>, InferenceError> {
        point.solve(surface.model, right)
    }

    fn combined(value: f64, _: &[Self], _: &[Self]) -> Self {
        value
    }
}

impl Level for Along<f64> {
    fn follow(
        surface: &Surface<'_, Self>,
        point: &Point,
        held: Option<(usize, Self)>,
    ) -> Result<Vec<Self>, InferenceError> {
        let mut theta: Vec<Self> = point.theta.iter().map(|value| Self::constant(*value)).collect();
        if let Some((parameter, value)) = held {
            theta[parameter].rate = value.rate;
        }
        let pushed = surface.slopes(&theta).theta;
        let pushed: Vec<f64> = pushed.iter().map(|slope| -slope.rate).collect();
        let moved = point.solve(surface.model, &pushed)?;
        for (value, rate) in theta.iter_mut().zip(moved) {
            value.rate += rate;
        }
        Ok(theta)
    }

    fn solve(
        surface: &Surface<'_, Self>,
        point: &Point,
        theta: &[Self],
        right: &[Self],
    ) -> Result<Vec<Self>, InferenceError> {
        let of_right: Vec<f64> = right.iter().map(|value| value.at).collect();
        let solution = point.solve(surface.model, &of_right)?;
        let along: Vec<Self> = solution.iter().map(|value| Self::constant(*value)).collect();
        let turned = surface.map(Along::still).slopes(&Along::zip(theta, &along)).theta;
        let pairs = right.iter().zip(&turned);
        let rest: Vec<f64> = pairs.map(|(right, turned)| right.rate - turned.rate.rate).collect();
        let rates = point.solve(surface.model, &rest)?;
        Ok(solution.into_iter().zip(rates).map(|(at, rate)| Self { at, rate }).collect())
    }

    fn combined(value: f64, slopes: &[Self], x: &[Self]) -> Self {
        let pairs = slopes.iter().zip(x);
        Self { at: value, rate: pairs.map(|(slope, x)| slope.at * x.rate).sum() }
    }
}
