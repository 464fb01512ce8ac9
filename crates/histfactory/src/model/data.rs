//! A data set: the counts of all bins, then the auxiliary measurements, in pyhf's order.

use super::{Constraint, EvaluationError, Model};
use crate::special::poisson_constant;

/// Observed or hypothetical data: counts, which need not be integers, and auxiliary measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    pub(crate) values: Vec<f64>,
    pub(crate) bins: usize,
    /// Σ −ln Pois(n|n): the part of the likelihood that does not depend on parameters.
    pub(crate) constant: f64,
}

impl Data {
    /// Counts and auxiliary measurements for a model, in one slice.
    pub fn new(model: &Model, values: Vec<f64>) -> Result<Self, EvaluationError> {
        let expected = model.layout.bins + model.layout.auxiliary;
        if values.len() != expected {
            return Err(EvaluationError::Length { what: "data", got: values.len(), expected });
        }
        for (index, &value) in values.iter().enumerate() {
            if !value.is_finite() {
                return Err(EvaluationError::NotFinite { what: "datum", index, value });
            }
        }
        let negative = |index: usize| match values[index] {
            value if value < 0.0 => Err(EvaluationError::NegativeCount { index, value }),
            _ => Ok(()),
        };
        (0..model.layout.bins).try_for_each(negative)?;
        for term in &model.numbers.poisson {
            negative(model.layout.bins + term.auxiliary)?;
        }
        Ok(Self::trusted(model, values))
    }

    /// For values that are known to be valid.
    pub(crate) fn trusted(model: &Model, values: Vec<f64>) -> Self {
        let bins = model.layout.bins;
        let main = values[..bins].iter().copied().map(poisson_constant).sum::<f64>();
        let poisson = |term: &super::numbers::PoissonTerm| values[bins + term.auxiliary];
        let terms = &model.numbers.poisson;
        let auxiliary: f64 = terms.iter().map(|term| poisson_constant(poisson(term))).sum();
        Self { constant: main + auxiliary, values, bins }
    }

    /// Counts of the bins, channel by channel.
    pub fn main(&self) -> &[f64] {
        &self.values[..self.bins]
    }

    /// Auxiliary measurements of the constrained parameters.
    pub fn auxiliary(&self) -> &[f64] {
        &self.values[self.bins..]
    }

    /// Both, in pyhf's order.
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }
}

impl Model {
    /// The expectation for these parameters: the expected counts, then the expected auxiliary measurements.
    pub fn expected_data(&self, theta: &[f64]) -> Result<Vec<f64>, EvaluationError> {
        let mut values = self.expected_main(theta)?;
        values.extend(self.expected_auxiliary(theta)?);
        Ok(values)
    }

    /// The expected auxiliary measurements alone.
    pub fn expected_auxiliary(&self, theta: &[f64]) -> Result<Vec<f64>, EvaluationError> {
        self.check_parameters(theta)?;
        let constraints = theta.iter().zip(&self.numbers.constraints);
        Ok(constraints
            .filter_map(|(value, constraint)| match constraint {
                Constraint::Free => None,
                Constraint::Normal { .. } => Some(*value),
                Constraint::Poisson { factor, .. } => Some(value * factor),
            })
            .collect())
    }

    /// The data set whose best fit is `theta`: the expected data, treated as observed.
    pub fn asimov(&self, theta: &[f64]) -> Result<Data, EvaluationError> {
        Data::new(self, self.expected_data(theta)?)
    }
}
