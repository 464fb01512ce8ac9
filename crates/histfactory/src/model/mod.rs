//! A workspace and one of its measurements, compiled for evaluation.

mod compile;
mod data;
mod elimination;
mod error;
mod factors;
mod fronts;
pub(crate) mod layout;
pub(crate) mod numbers;
mod parameters;
mod sorted;
mod staterror;
mod structure;
mod yields;

use std::sync::Arc;

pub use data::Data;
pub use error::{EvaluationError, ModelError};
pub use structure::{
    BlockStructure, HistosysStructure, NormsysStructure, ShapesysStructure, StaterrorStructure,
};
pub use yields::YieldChange;

use crate::interpolation::Interpolation;
use crate::workspace::Workspace;
use layout::Layout;
use numbers::Numbers;

/// Options for compiling a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// The measurement's name; the first measurement by default.
    pub measurement: Option<String>,
    /// Another parameter of interest than the measurement's; an empty string for none.
    pub poi: Option<String>,
    pub interpolation: Interpolation,
}

/// A statistical model: parameters, the rates as functions of them, and the observed data.
///
/// A clone shares the structure and copies the numbers.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) layout: Arc<Layout>,
    pub(crate) numbers: Numbers,
    pub(crate) observed: Data,
}

/// The term of the likelihood that holds a parameter near its auxiliary measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constraint {
    Free,
    /// The auxiliary measurement is normal around the parameter.
    Normal {
        auxiliary: usize,
        sigma: f64,
    },
    /// The auxiliary measurement is Poisson around the parameter times the factor.
    Poisson {
        auxiliary: usize,
        factor: f64,
    },
}

/// A parameter of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub init: f64,
    pub bounds: [f64; 2],
    /// Fits do not move it.
    pub fixed: bool,
    pub constraint: Constraint,
}

#[cfg(test)]
pub(crate) use fronts::Ordering;

impl Model {
    /// The same with other fronts.
    #[cfg(test)]
    pub(crate) fn ordered(mut self, ordering: Ordering) -> Self {
        let layout = Arc::get_mut(&mut self.layout).expect("a new model does not share its layout");
        elimination::eliminate(layout, ordering);
        self
    }

    /// Compiles a workspace.
    pub fn new(workspace: &Workspace, options: &ModelOptions) -> Result<Self, ModelError> {
        let (layout, numbers, main) = compile::compile(workspace, options)?;
        let observed = Data { values: Vec::new(), bins: layout.bins, constant: 0.0 };
        let mut model = Self { layout: Arc::new(layout), numbers, observed };
        let values = main.iter().chain(&model.numbers.auxiliary).copied().collect();
        model.observed = Data::new(&model, values).map_err(|error| ModelError::Parameter {
            parameter: "auxiliary data".to_owned(),
            what: error.to_string(),
        })?;
        Ok(model)
    }

    pub fn parameter_count(&self) -> usize {
        self.layout.names.len()
    }

    pub fn bin_count(&self) -> usize {
        self.layout.bins
    }

    /// All parameters, in pyhf's order.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = Parameter<'_>> {
        (0..self.parameter_count()).map(|index| self.parameter(index))
    }

    fn parameter(&self, index: usize) -> Parameter<'_> {
        Parameter {
            name: &self.layout.names[index],
            init: self.layout.init[index],
            bounds: self.layout.bounds[index],
            fixed: self.numbers.fixed[index],
            constraint: self.numbers.constraints[index],
        }
    }

    pub fn parameter_names(&self) -> &[String] {
        &self.layout.names
    }

    /// The names of the parameter sets, in pyhf's order (`par_order`), with their parameters.
    pub fn parameter_sets(&self) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
        self.layout.sets.iter().map(|set| (set.name.as_str(), set.parameters.clone()))
    }

    /// The index of a parameter, by its name or by the name of a set with one parameter.
    pub fn index_of(&self, name: &str) -> Result<usize, EvaluationError> {
        let by_name = self.layout.names.iter().position(|known| known == name);
        let by_set = || {
            let set = self.layout.sets.iter().find(|set| set.name == name)?;
            (set.parameters.len() == 1).then_some(set.parameters.start)
        };
        let missing = || EvaluationError::NoSuchParameter { name: name.to_owned() };
        by_name.or_else(by_set).ok_or_else(missing)
    }

    /// Suggested initial values.
    pub fn init(&self) -> &[f64] {
        &self.layout.init
    }

    pub fn bounds(&self) -> &[[f64; 2]] {
        &self.layout.bounds
    }

    pub fn fixed(&self) -> &[bool] {
        &self.numbers.fixed
    }

    /// The index of the parameter of interest.
    pub fn poi(&self) -> Option<usize> {
        self.layout.poi
    }

    pub(crate) fn needed_poi(&self) -> Result<usize, EvaluationError> {
        self.layout.poi.ok_or(EvaluationError::NoPoi)
    }

    /// Channels in the order of the data, with their bins.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = (&str, std::ops::Range<usize>)> {
        self.layout.channels.iter().map(|channel| (channel.name.as_str(), channel.bins.clone()))
    }

    /// All samples, sorted by name.
    pub fn samples(&self) -> &[String] {
        &self.layout.samples
    }

    /// The observed counts, and the auxiliary data of the measurement.
    pub fn observed(&self) -> &Data {
        &self.observed
    }

    pub fn interpolation(&self) -> Interpolation {
        self.layout.options.interpolation
    }

    pub(crate) fn check_parameters(&self, theta: &[f64]) -> Result<(), EvaluationError> {
        let expected = self.parameter_count();
        if theta.len() != expected {
            let got = theta.len();
            return Err(EvaluationError::Length { what: "parameters", got, expected });
        }
        match theta.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(index) => {
                let value = theta[index];
                Err(EvaluationError::NotFinite { what: "parameter", index, value })
            }
        }
    }
}
