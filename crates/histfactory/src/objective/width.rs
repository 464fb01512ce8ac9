//! σ_μ, the uncertainty of the parameter of interest, and its derivatives.
//!
//! σ² = z_μ with H z = e_μ, so dσ² = −zᵀ(dH)z: H changes with the inputs and with the point of its
//! evaluation.

use super::follow::{Level, Point};
use super::input::Slots;
use super::stage::{Ground, Stage, along, along_twice};
use crate::inference::{Dataset, InferenceError};
use crate::model::Model;

pub(super) struct Width<'a> {
    stage: Stage<'a>,
    /// The point of expected data, which need no fit.
    expected: Option<Point>,
    pub(super) sigma: f64,
}

impl<'a> Width<'a> {
    pub(super) fn new(model: &'a Model, dataset: Dataset) -> Result<Self, InferenceError> {
        let stage = Stage::new(model, dataset, false)?;
        let expected = match &stage.ground {
            Ground::Observed { .. } => None,
            Ground::Asimov { theta } | Ground::Profiled { at: Point { theta, .. } } => {
                Some(Point::expected(model, theta.clone(), &stage.data))
            }
        };
        let mut width = Self { stage, expected, sigma: 0.0 };
        let solution = width.point().solve(model, &width.unit::<f64>())?;
        let square = solution[width.stage.poi];
        if !(width.point().moves(width.stage.poi) && square > 0.0) {
            let parameter = model.parameter_names()[width.stage.poi].clone();
            return Err(InferenceError::NoUncertainty { parameter });
        }
        width.sigma = square.sqrt();
        Ok(width)
    }

    fn point(&self) -> &Point {
        match (&self.expected, &self.stage.ground) {
            (Some(point), _)
            | (None, Ground::Observed { free: point } | Ground::Profiled { at: point }) => point,
            (None, Ground::Asimov { .. }) => unreachable!("expected data have their point"),
        }
    }

    fn unit<R: Level>(&self) -> Vec<R> {
        let mut unit = vec![R::constant(0.0); self.stage.model.parameter_count()];
        unit[self.stage.poi] = R::constant(1.0);
        unit
    }

    /// σ and its slopes.
    pub(super) fn slopes<R: Level>(
        &self,
        slots: &'a Slots,
        x: &[R],
    ) -> Result<(R, Vec<R>), InferenceError> {
        let scene = self.stage.scene(slots, x)?;
        let (surface, theta) = (&scene.surface, &scene.best);
        let z = R::solve(surface, self.point(), theta, &self.unit())?;
        let second = along_twice(surface, theta, &z);
        let mut slopes: Vec<R> = second.inputs.iter().map(|slope| -*slope).collect();
        if self.expected.is_none() {
            let adjoint = R::solve(surface, self.point(), theta, &second.theta)?;
            for (slope, along) in slopes.iter_mut().zip(along(surface, theta, &adjoint).inputs) {
                *slope += along;
            }
        }
        let pairs = second.theta.iter().zip(&second.source);
        let pull: Vec<R> = pairs.map(|(one, two)| -(*one + *two)).collect();
        self.stage.add_pull(&scene, &pull, &mut slopes)?;
        let sigma = z[self.stage.poi].sqrt();
        let scale = R::constant(0.5) / sigma;
        Ok((sigma, slopes.into_iter().map(|slope| slope * scale).collect()))
    }
}
