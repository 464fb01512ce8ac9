//! A quantity as a function of chosen numbers of a model, for training networks.
//!
//! Names are looked up once, when the objective is created; repeated evaluations use a function of one flat
//! vector. PyTorch and JAX both call this function.
//!
//! Gradients are written for numbers that may themselves move (`number.rs`), so the same lines give first
//! derivatives and, along a direction, second ones. Fits run once, on plain numbers; the factor of the
//! Hessian determines how their results follow the inputs (`follow.rs`).

mod discovery;
mod follow;
mod found;
mod input;
mod limit;
mod number;
mod stage;
mod surface;
mod width;

pub use input::{Input, NominalInputs};

use std::ops::Range;

use crate::derivative::Convention;
use crate::inference::{Dataset, InferenceError};
use crate::model::{EvaluationError, Model};
use found::Found;
use input::Slots;
use number::Along;

/// The quantity to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Quantity {
    /// −log L of the observed data; the parameters are the initial values unless they are an input.
    Nll,
    /// q₀, profiled.
    Q0 { dataset: Dataset },
    /// √(q₀ + `smooth`): without smoothing its slope is unbounded as q₀ approaches zero.
    Significance { dataset: Dataset, smooth: f64 },
    /// The uncertainty of the parameter of interest, from the curvature.
    Width { dataset: Dataset },
    /// The upper limit on the parameter of interest at a level of CLs: the median on expected
    /// background, or that on the observed data.
    UpperLimit { dataset: Dataset, level: f64 },
}

/// A quantity as a function of numbers of a model.
///
/// ```
/// use histfactory::inference::Dataset;
/// use histfactory::objective::{Input, Objective, Quantity};
/// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
/// # let model = histfactory::Model::new(&workspace, &Default::default())?;
/// let signal = Input::Nominal { channel: "singlechannel".into(), sample: "signal".into() };
/// let quantity = Quantity::Significance { dataset: Dataset::default(), smooth: 0.0 };
/// let objective = Objective::new(&model, quantity, &[signal], Default::default())?;
/// let mut gradient = vec![0.0; objective.len()];
/// let z = objective.evaluate(&[12.0, 11.0], Some(&mut gradient))?;
/// assert!(z > 1.0 && gradient.iter().all(|slope| *slope > 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Objective {
    model: Model,
    quantity: Quantity,
    slots: Slots,
}

impl Objective {
    /// Looks up the inputs. The convention defines the change of templates that are not inputs when their
    /// nominal yields change.
    pub fn new(
        model: &Model,
        quantity: Quantity,
        inputs: &[Input],
        convention: Convention,
    ) -> Result<Self, EvaluationError> {
        let profiled = !matches!(quantity, Quantity::Nll);
        if profiled {
            model.needed_poi()?;
            if inputs.contains(&Input::Parameters) {
                return Err(EvaluationError::Profiled);
            }
        }
        let slots = Slots::new(model, inputs, convention)?;
        Ok(Self { model: model.clone(), quantity, slots })
    }

    /// The number of inputs.
    pub fn len(&self) -> usize {
        self.slots.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.slots.is_empty()
    }

    /// The range of each input in the flat vector.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.slots.ranges
    }

    /// The present values of the inputs in the model.
    pub fn current(&self) -> Vec<f64> {
        self.slots.current(&self.model)
    }

    pub fn quantity(&self) -> Quantity {
        self.quantity
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The inputs as cells of [`Model::structure`], if all are nominal yields.
    pub fn nominal_inputs(&self) -> Option<NominalInputs> {
        self.slots.nominal()
    }

    /// The value and, if requested, the derivatives in the inputs.
    pub fn evaluate(&self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64, InferenceError> {
        let model = self.slots.changed(&self.model, x)?;
        let found = Found::new(self.quantity, &model, &self.slots, x)?;
        if let Some(gradient) = gradient {
            expect("slopes", gradient.len(), self.len())?;
            gradient.copy_from_slice(&found.gradient(&self.slots, x)?);
        }
        Ok(found.value())
    }

    /// The value, the derivatives, and the rate of change of the derivatives along a direction of the inputs:
    /// the Hessian times the direction.
    pub fn evaluate_along(
        &self,
        x: &[f64],
        direction: &[f64],
        gradient: &mut [f64],
        change: &mut [f64],
    ) -> Result<f64, InferenceError> {
        for (what, got) in
            [("directions", direction.len()), ("slopes", gradient.len()), ("changes", change.len())]
        {
            expect(what, got, self.len())?;
        }
        if let Some(index) = direction.iter().position(|value| !value.is_finite()) {
            let (what, value) = ("direction", direction[index]);
            return Err(EvaluationError::NotFinite { what, index, value }.into());
        }
        let model = self.slots.changed(&self.model, x)?;
        let found = Found::new(self.quantity, &model, &self.slots, x)?;
        let slopes = found.gradient_along(&self.slots, &Along::zip(x, direction))?;
        for (index, slope) in slopes.into_iter().enumerate() {
            (gradient[index], change[index]) = (slope.at, slope.rate);
        }
        Ok(found.value())
    }

    /// The value, the derivatives and all second derivatives, row by row, with one set of fits.
    pub fn evaluate_curvature(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> Result<f64, InferenceError> {
        expect("slopes", gradient.len(), self.len())?;
        expect("second derivatives", hessian.len(), self.len() * self.len())?;
        let model = self.slots.changed(&self.model, x)?;
        let found = Found::new(self.quantity, &model, &self.slots, x)?;
        let mut direction = vec![0.0; self.len()];
        for (index, row) in hessian.chunks_exact_mut(self.len().max(1)).enumerate() {
            direction[index] = 1.0;
            let slopes = found.gradient_along(&self.slots, &Along::zip(x, &direction))?;
            direction[index] = 0.0;
            for ((gradient, change), slope) in gradient.iter_mut().zip(row).zip(slopes) {
                (*gradient, *change) = (slope.at, slope.rate);
            }
        }
        Ok(found.value())
    }
}

fn expect(what: &'static str, got: usize, expected: usize) -> Result<(), EvaluationError> {
    if got == expected { Ok(()) } else { Err(EvaluationError::Length { what, got, expected }) }
}
