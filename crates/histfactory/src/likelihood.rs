//! The likelihood of a data set: value and gradient.
//!
//! log L = Σ_b [n ln ν − ν − lnΓ(n+1)] + Σ ln N(a|θ,σ) + Σ ln Pois(a|γτ), all constants kept, counts real.
//! Functions return −log L; pyhf's `twice_nll` is twice that.

use crate::kernel::evaluate::{self, Slopes};
use crate::kernel::{Curvature, Scratch};
use crate::model::{Data, EvaluationError, Model};

/// Evaluates a model on a data set repeatedly without allocating.
///
/// ```
/// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../tests/data/two_bins.json"))?;
/// # let model = histfactory::Model::new(&workspace, &Default::default())?;
/// let mut evaluator = model.evaluator(model.observed());
/// let nll = evaluator.nll(model.init())?;
/// let (again, gradient) = evaluator.nll_and_gradient(model.init())?;
/// assert_eq!(nll, again);
/// assert_eq!(gradient.len(), model.parameter_count());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator<'a> {
    pub(crate) model: &'a Model,
    pub(crate) data: &'a Data,
    /// Replaces the counts of `data` while a fit keeps away from the boundary of positive rates.
    pub(crate) softened: Option<Vec<f64>>,
    pub(crate) scratch: Scratch,
    /// Allocated when a Hessian is first computed.
    pub(crate) curvature: Option<Box<Curvature>>,
}

impl Model {
    /// An evaluator of this model on `data`.
    pub fn evaluator<'a>(&'a self, data: &'a Data) -> Evaluator<'a> {
        let scratch = Scratch::new(&self.layout);
        Evaluator { model: self, data, softened: None, scratch, curvature: None }
    }

    /// −log L.
    pub fn nll(&self, theta: &[f64], data: &Data) -> Result<f64, EvaluationError> {
        self.evaluator(data).nll(theta)
    }

    /// −log L and its gradient in the parameters.
    pub fn nll_and_gradient(
        &self,
        theta: &[f64],
        data: &Data,
    ) -> Result<(f64, Vec<f64>), EvaluationError> {
        let mut evaluator = self.evaluator(data);
        let (nll, gradient) = evaluator.nll_and_gradient(theta)?;
        Ok((nll, gradient.to_vec()))
    }

    /// The expected counts of all bins.
    pub fn expected_main(&self, theta: &[f64]) -> Result<Vec<f64>, EvaluationError> {
        self.check_parameters(theta)?;
        let mut scratch = Scratch::new(&self.layout);
        evaluate::rates(&self.layout, &self.numbers, theta, &mut scratch);
        scratch.rate.truncate(self.layout.bins);
        Ok(scratch.rate)
    }
}

impl Evaluator<'_> {
    /// −log L. Infinite if a bin with counts has a rate of zero; an error if −log L has no value.
    pub fn nll(&mut self, theta: &[f64]) -> Result<f64, EvaluationError> {
        self.check(theta)?;
        let nll = self.raw_nll(theta);
        self.checked(nll)
    }

    /// −log L and its gradient in the parameters; also an error if −log L is infinite.
    pub fn nll_and_gradient(&mut self, theta: &[f64]) -> Result<(f64, &[f64]), EvaluationError> {
        self.check(theta)?;
        let nll = self.raw_gradient(theta);
        if nll.is_finite() { Ok((nll, self.gradient())) } else { Err(self.reason()) }
    }

    /// The gradient of the latest evaluation.
    pub(crate) fn gradient(&self) -> &[f64] {
        &self.scratch.gradient[..self.model.parameter_count()]
    }

    /// −log L, or NaN where it has no value.
    pub(crate) fn raw_nll(&mut self, theta: &[f64]) -> f64 {
        let Model { layout, numbers, .. } = self.model;
        let data = self.softened.as_deref().unwrap_or(&self.data.values);
        evaluate::value(layout, numbers, data, theta, &mut self.scratch) + self.data.constant
    }

    pub(crate) fn raw_gradient(&mut self, theta: &[f64]) -> f64 {
        self.raw_gradient_with(theta, Slopes::Near)
    }

    /// The gradient with the slope of the far side for every parameter with a kink.
    pub(crate) fn far_gradient(&mut self, theta: &[f64]) -> &[f64] {
        self.raw_gradient_with(theta, Slopes::Far);
        self.gradient()
    }

    /// The gradient with the slopes that interpolations have at −α; the rates are those at α. It costs half an
    /// evaluation where the latest one was at `theta`.
    pub(crate) fn mirrored_gradient(&mut self, theta: &[f64]) -> &[f64] {
        if !self.scratch.has_slopes || self.scratch.theta[..theta.len()] != *theta {
            self.raw_gradient(theta);
        }
        let Model { layout, numbers, .. } = self.model;
        let data = self.softened.as_deref().unwrap_or(&self.data.values);
        evaluate::mirrored_gradient(layout, numbers, data, &mut self.scratch);
        self.gradient()
    }

    fn raw_gradient_with(&mut self, theta: &[f64], slopes: Slopes) -> f64 {
        let Model { layout, numbers, .. } = self.model;
        let data = self.softened.as_deref().unwrap_or(&self.data.values);
        evaluate::value_and_gradient(layout, numbers, data, theta, slopes, &mut self.scratch)
            + self.data.constant
    }

    /// Adds, for each parameter, the sizes of the terms whose difference is the constraints' part of the
    /// gradient.
    pub(crate) fn add_constraint_sizes(&self, theta: &[f64], sizes: &mut [f64]) {
        let auxiliary = self.data.auxiliary();
        for term in &self.model.numbers.normal {
            let stiffness = term.inverse_sigma * term.inverse_sigma;
            let size = theta[term.parameter].abs().max(auxiliary[term.auxiliary].abs());
            sizes[term.parameter] += size * stiffness;
        }
        for term in &self.model.numbers.poisson {
            let gamma = theta[term.parameter].abs().max(f64::MIN_POSITIVE);
            sizes[term.parameter] += term.factor + auxiliary[term.auxiliary] / gamma;
        }
    }

    pub(crate) fn check(&self, theta: &[f64]) -> Result<(), EvaluationError> {
        let expected = self.model.layout.bins + self.model.layout.auxiliary;
        let got = self.data.values.len();
        if got != expected {
            return Err(EvaluationError::Length { what: "data", got, expected });
        }
        self.model.check_parameters(theta)
    }

    fn checked(&self, nll: f64) -> Result<f64, EvaluationError> {
        if nll.is_nan() { Err(self.reason()) } else { Ok(nll) }
    }

    /// The cause of a missing or infinite value.
    fn reason(&self) -> EvaluationError {
        let layout = &self.model.layout;
        for channel in &layout.channels {
            for bin in channel.bins.clone() {
                let rate = self.scratch.rate[bin];
                let empty = rate == 0.0 && self.data.values[bin] > 0.0;
                if empty || !(rate >= 0.0 && rate.is_finite()) {
                    let bin = bin - channel.bins.start;
                    let channel = channel.name.clone();
                    return EvaluationError::BadRate { channel, bin, rate };
                }
            }
        }
        let bad = self
            .model
            .numbers
            .poisson
            .iter()
            .find(|term| !(self.scratch.theta[term.parameter] > 0.0));
        let parameter = bad.map_or(0, |term| term.parameter);
        EvaluationError::BadConstraint {
            parameter: layout.names[parameter].clone(),
            value: self.scratch.theta[parameter],
        }
    }
}
