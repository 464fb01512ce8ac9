//! A quantity at one point of the inputs, with its fits done, ready to be differentiated.

use super::Quantity;
use super::discovery::Discovery;
use super::follow::Level;
use super::input::{Slot, Slots};
use super::limit::Limit;
use super::number::{Along, Number};
use super::surface::Surface;
use super::width::Width;
use crate::inference::InferenceError;
use crate::model::Model;

/// A quantity and its fits.
pub(super) enum Found<'a> {
    Nll { model: &'a Model, theta: Vec<f64>, value: f64 },
    Q0(Discovery<'a>),
    Significance { of: Discovery<'a>, smooth: f64 },
    Width(Width<'a>),
    Limit(Limit<'a>),
}

impl<'a> Found<'a> {
    pub(super) fn new(
        quantity: Quantity,
        model: &'a Model,
        slots: &Slots,
        x: &[f64],
    ) -> Result<Self, InferenceError> {
        Ok(match quantity {
            Quantity::Nll => {
                let theta = slots.parameters(x).unwrap_or(model.init()).to_vec();
                let value = model.nll(&theta, model.observed())?;
                Self::Nll { model, theta, value }
            }
            Quantity::Q0 { dataset } => Self::Q0(Discovery::new(model, dataset)?),
            Quantity::Significance { dataset, smooth } => {
                Self::Significance { of: Discovery::new(model, dataset)?, smooth }
            }
            Quantity::Width { dataset } => Self::Width(Width::new(model, dataset)?),
            Quantity::UpperLimit { dataset, level } => {
                Self::Limit(Limit::new(model, dataset, level)?)
            }
        })
    }

    pub(super) fn value(&self) -> f64 {
        match self {
            Self::Nll { value, .. } => *value,
            Self::Q0(of) => of.q0,
            Self::Significance { of, smooth } => (of.q0 + smooth).sqrt(),
            Self::Width(of) => of.sigma,
            Self::Limit(of) => of.mu,
        }
    }

    pub(super) fn gradient(&self, slots: &'a Slots, x: &[f64]) -> Result<Vec<f64>, InferenceError> {
        match self {
            Self::Limit(of) => Ok(of.gradient(slots, x)?.1),
            Self::Nll { .. } | Self::Q0(_) | Self::Significance { .. } | Self::Width(_) => {
                self.slopes(slots, x)
            }
        }
    }

    pub(super) fn gradient_along(
        &self,
        slots: &'a Slots,
        x: &[Along<f64>],
    ) -> Result<Vec<Along<f64>>, InferenceError> {
        match self {
            Self::Limit(of) => Ok(of.gradient_along(slots, x)?.1),
            Self::Nll { .. } | Self::Q0(_) | Self::Significance { .. } | Self::Width(_) => {
                self.slopes(slots, x)
            }
        }
    }

    /// The slopes of every quantity except a limit, whose own motion must be known first.
    fn slopes<R: Level>(&self, slots: &'a Slots, x: &[R]) -> Result<Vec<R>, InferenceError> {
        match self {
            Self::Nll { model, theta, .. } => Ok(nll(model, theta, slots, x)),
            Self::Q0(of) => Ok(of.slopes(slots, x)?.1),
            Self::Significance { of, smooth } => {
                let (q0, slopes) = of.slopes(slots, x)?;
                if of.q0 + smooth == 0.0 {
                    return Ok(slopes);
                }
                let scale = R::constant(0.5) / (q0 + R::constant(*smooth)).sqrt();
                Ok(slopes.into_iter().map(|slope| slope * scale).collect())
            }
            Self::Width(of) => Ok(of.slopes(slots, x)?.1),
            Self::Limit(_) => unreachable!("a limit is differentiated on its own"),
        }
    }
}

fn nll<R: Number>(model: &Model, theta: &[f64], slots: &Slots, x: &[R]) -> Vec<R> {
    let mut theta: Vec<R> = theta.iter().map(|value| R::constant(*value)).collect();
    for (slot, x) in slots.slots.iter().zip(x) {
        if let Slot::Parameter(index) = *slot {
            theta[index] = *x;
        }
    }
    Surface::observed(model, slots, x).slopes_with(&theta, true).inputs
}
