//! Profile likelihood ratios.

use super::InferenceError;
use crate::fit::{DIFFERENT, Fit, FitOptions, Fitter};
use crate::model::{Data, Model};

/// Which test statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TestKind {
    /// q_μ within the model's own bounds of the parameter of interest, for upper limits.
    Q,
    /// q̃_μ: the same with the parameter of interest not below zero.
    #[default]
    QTilde,
    /// t_μ, two-sided.
    T,
    /// q₀, for discovery: tests μ = 0 against an excess.
    Q0,
}

/// A test statistic with the two fits it compares.
#[derive(Debug, Clone, PartialEq)]
pub struct TestStatistic {
    pub kind: TestKind,
    /// The tested value of the parameter of interest.
    pub mu: f64,
    pub value: f64,
    /// 2[NLL(μ) − NLL(μ̂)] before one-sidedness sets it to zero.
    pub t: f64,
    pub mu_hat: f64,
    pub free: Fit,
    pub conditional: Fit,
}

/// Repeated fits of one model and data set as the parameter of interest is varied, each started
/// where the nearest one ended.
#[derive(Debug, Clone)]
pub struct Profile<'a> {
    pub(super) model: &'a Model,
    pub(super) poi: usize,
    pub(super) fitter: Fitter<'a>,
    options: FitOptions,
    pub(super) latest: Option<Vec<f64>>,
}

impl<'a> Profile<'a> {
    /// Profiles of the parameter of interest.
    pub fn new(model: &'a Model, data: &'a Data) -> Result<Self, InferenceError> {
        Self::of(model, data, model.needed_poi()?)
    }

    /// Profiles of another parameter.
    pub fn of(model: &'a Model, data: &'a Data, parameter: usize) -> Result<Self, InferenceError> {
        let fitter = Fitter::new(model, data)?;
        let options = FitOptions::default();
        Ok(Self { model, poi: parameter, fitter, options, latest: None })
    }

    /// With the parameter not below zero.
    #[must_use]
    pub fn not_negative(mut self) -> Self {
        let [low, high] = self.model.bounds()[self.poi];
        self.options = self.options.bounding(self.poi, [low.max(0.0), high.max(0.0)]);
        self
    }

    /// With fits that start here.
    pub(crate) fn near(mut self, theta: &[f64]) -> Self {
        self.latest = Some(theta.to_vec());
        self
    }

    /// The fit with the parameter free.
    pub fn free(&mut self) -> Result<Fit, InferenceError> {
        let fit = self.fitter.fit(&self.options)?.require()?;
        self.latest = Some(fit.theta.clone());
        Ok(fit)
    }

    /// The fit with the parameter at a value.
    pub fn at(&mut self, value: f64) -> Result<Fit, InferenceError> {
        let mut options = self.options.clone().fixing(self.poi, value);
        options.start.clone_from(&self.latest);
        let mut fit = self.fitter.fit(&options);
        let good = fit.as_ref().is_ok_and(Fit::converged);
        if !good && options.start.take().is_some() {
            fit = self.fitter.fit(&options);
        }
        let fit = fit?.require()?;
        self.latest = Some(fit.theta.clone());
        Ok(fit)
    }

    /// The same, from the model's own start too, and the lower one of the two. −log L of odd models has
    /// several minima, and the nearest one may be the wrong one to stand for a hypothesis.
    pub(crate) fn lowest_at(&mut self, value: f64) -> Result<Fit, InferenceError> {
        if self.latest.is_none() {
            return self.at(value);
        }
        let near = self.at(value);
        self.latest = None;
        let far = self.at(value);
        let fit = match (near, far) {
            (Ok(near), Ok(far)) if far.nll < near.nll - DIFFERENT => far,
            (Ok(near), _) => near,
            (Err(_), far) => far?,
        };
        self.latest = Some(fit.theta.clone());
        Ok(fit)
    }
}

impl TestKind {
    /// The value of the parameter of interest that is tested: discovery tests zero whatever is asked.
    pub(crate) fn tested(self, mu: f64) -> f64 {
        if self == Self::Q0 { 0.0 } else { mu }
    }

    /// The value that is the alternative to it.
    pub(crate) fn alternative(self) -> f64 {
        if self == Self::Q0 { 1.0 } else { 0.0 }
    }

    /// The statistic of 2[NLL(μ) − NLL(μ̂)] and μ̂.
    pub(crate) fn one_sided(self, t: f64, mu: f64, mu_hat: f64) -> f64 {
        match self {
            Self::Q | Self::QTilde if mu_hat > mu => 0.0,
            Self::Q0 if mu_hat < 0.0 => 0.0,
            Self::Q | Self::QTilde | Self::T | Self::Q0 => t,
        }
    }

    pub(crate) fn profile<'a>(
        self,
        model: &'a Model,
        data: &'a Data,
    ) -> Result<Profile<'a>, InferenceError> {
        let profile = Profile::new(model, data)?;
        Ok(match self {
            Self::QTilde => profile.not_negative(),
            Self::Q | Self::T | Self::Q0 => profile,
        })
    }
}

impl Model {
    /// The test statistic of a value of the parameter of interest. For q₀ the value is zero.
    pub fn test_statistic(
        &self,
        data: &Data,
        kind: TestKind,
        mu: f64,
    ) -> Result<TestStatistic, InferenceError> {
        let mu = kind.tested(mu);
        let mut profile = kind.profile(self, data)?;
        let free = profile.free()?;
        let conditional = profile.lowest_at(mu)?;
        let t = (2.0 * (conditional.nll - free.nll)).max(0.0);
        let mu_hat = free.theta[profile.poi];
        let value = kind.one_sided(t, mu, mu_hat);
        Ok(TestStatistic { kind, mu, value, t, mu_hat, free, conditional })
    }

    /// q₀ of a data set.
    ///
    /// ```
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let asimov = model.asimov(model.init())?;
    /// let q0 = model.q0(&asimov)?;
    /// assert!(q0.value > 0.0 && (q0.mu_hat - 1.0).abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn q0(&self, data: &Data) -> Result<TestStatistic, InferenceError> {
        self.test_statistic(data, TestKind::Q0, 0.0)
    }
}
