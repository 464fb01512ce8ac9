//! Profile likelihood ratios.

use super::InferenceError;
use super::notes::{Fitted, Note, negative_background, of_fit};
use crate::fit::{DIFFERENT, Fit, FitError, FitOptions, Fitter, Search, Side};
use crate::model::{Data, Model};

/// The kind of test statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TestKind {
    /// q_μ within the model's own bounds of the parameter of interest, for upper limits.
    Q,
    /// q̃_μ: the same with the parameter of interest at least zero.
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
    /// 2[NLL(μ) − NLL(μ̂)], before a one-sided statistic sets it to zero.
    pub t: f64,
    pub mu_hat: f64,
    pub free: Fit,
    pub conditional: Fit,
    pub notes: Vec<Note>,
}

/// Options of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestOptions {
    /// The search for the lowest of several minima.
    pub search: Search,
    /// Whether to raise the upper bound of the parameter of interest if the best fit is at it.
    pub extend_bound: bool,
}

/// Repeated fits of one model and data set as the parameter of interest is varied, each started
/// where the nearest one ended.
#[derive(Debug, Clone)]
pub struct Profile<'a> {
    pub(super) model: &'a Model,
    pub(super) poi: usize,
    pub(super) fitter: Fitter<'a>,
    options: FitOptions,
    extend_bound: bool,
    notes: Vec<Note>,
    pub(super) latest: Option<Vec<f64>>,
    /// The number of fits.
    pub(super) fits: usize,
}

/// The largest factor by which a bound is raised.
const MOST_EXTENDED: f64 = 1e6;

impl<'a> Profile<'a> {
    /// Profiles of the parameter of interest.
    pub fn new(model: &'a Model, data: &'a Data) -> Result<Self, InferenceError> {
        Self::for_parameter(model, data, model.needed_poi()?)
    }

    /// Profiles of another parameter.
    pub fn for_parameter(
        model: &'a Model,
        data: &'a Data,
        parameter: usize,
    ) -> Result<Self, InferenceError> {
        let fitter = Fitter::new(model, data)?;
        let options = FitOptions::default();
        Ok(Self {
            model,
            poi: parameter,
            fitter,
            options,
            extend_bound: false,
            notes: Vec::new(),
            latest: None,
            fits: 0,
        })
    }

    /// Restricts the parameter to values of at least zero.
    #[must_use]
    pub fn not_negative(mut self) -> Self {
        let [low, high] = self.model.bounds()[self.poi];
        self.options = self.options.bounding(self.poi, [low.max(0.0), high.max(0.0)]);
        self
    }

    pub(super) fn with(mut self, options: &TestOptions) -> Self {
        self.options = self.options.searching(options.search);
        self.extend_bound = options.extend_bound;
        self
    }

    /// Starts fits here.
    pub(crate) fn near(mut self, theta: &[f64]) -> Self {
        self.latest = Some(theta.to_vec());
        self
    }

    pub(crate) fn searching(mut self, search: Search) -> Self {
        self.options = self.options.searching(search);
        self
    }

    fn fit(&mut self, options: &FitOptions) -> Result<Fit, FitError> {
        self.fits += 1;
        self.fitter.fit(options)
    }

    /// The fit with the parameter free.
    pub fn free(&mut self) -> Result<Fit, InferenceError> {
        let fit = self.fit(&self.options.clone())?.require()?;
        self.inside_bound(fit)
    }

    /// The same from another start.
    pub(crate) fn free_from(&mut self, start: &[f64]) -> Result<Fit, InferenceError> {
        let fit = self.fit(&self.options.clone().from(start))?.require()?;
        self.inside_bound(fit)
    }

    /// The best fit, given a fit with a fixed value. If the latter is lower, the best fit is repeated from
    /// there.
    pub(crate) fn lowered(&mut self, free: Fit, conditional: &Fit) -> Result<Fit, InferenceError> {
        if conditional.nll < free.nll - DIFFERENT {
            let lower = self.free_from(&conditional.theta)?;
            return Ok(free.or_lower(lower));
        }
        Ok(free)
    }

    /// Raises the bound that holds the parameter, if requested.
    fn inside_bound(&mut self, mut fit: Fit) -> Result<Fit, InferenceError> {
        let [low, from] = self.model.bounds()[self.poi];
        let low = if self.options.bounds.is_empty() { low } else { low.max(0.0) };
        let mut bound = from;
        while self.extend_bound
            && fit.at_bound.contains(&(self.poi, Side::Upper))
            && bound < MOST_EXTENDED * (1.0 + from.abs())
        {
            bound = 10.0 * bound.abs().max(1.0);
            self.options = self.options.clone().bounding(self.poi, [low, bound]);
            fit = self.fit(&self.options.clone().from(&fit.theta))?.require()?;
        }
        if bound != from {
            self.notes.push(Note::BoundExtended { from, to: bound });
        }
        self.latest = Some(fit.theta.clone());
        Ok(fit)
    }

    /// The notes collected so far.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The fit with the parameter at a value.
    pub fn at(&mut self, value: f64) -> Result<Fit, InferenceError> {
        let mut options = self.options.clone().fixing(self.poi, value);
        options.start.clone_from(&self.latest);
        let mut fit = self.fit(&options);
        let good = fit.as_ref().is_ok_and(Fit::converged);
        if !good && options.start.take().is_some() {
            fit = self.fit(&options);
        }
        let fit = fit?.require()?;
        self.latest = Some(fit.theta.clone());
        Ok(fit)
    }

    /// The fit from a start, even if it did not converge.
    pub(super) fn unconverged(&mut self, value: f64, start: &[f64]) -> Result<Fit, InferenceError> {
        let options = self.options.clone().fixing(self.poi, value).from(start);
        Ok(self.fit(&options)?)
    }

    /// The fit of a hypothesis: the lower one of the fits from the end of the latest fit and from the model's
    /// own start. If −log L has several minima, it also follows a path of values from the latest fit.
    pub(crate) fn lowest_at(&mut self, value: f64) -> Result<Fit, InferenceError> {
        let Some(anchor) = self.latest.clone() else {
            let fit = self.at(value)?;
            if !fit.may_have_others() {
                return Ok(fit);
            }
            let anchor = self.free()?.theta;
            return Ok(self.follow(value, &anchor, fit));
        };
        self.lowest_between(value, &anchor.clone(), &anchor)
    }

    /// The same with a start that differs from the beginning of the path.
    pub(crate) fn lowest_between(
        &mut self,
        value: f64,
        start: &[f64],
        anchor: &[f64],
    ) -> Result<Fit, InferenceError> {
        self.latest = Some(start.to_vec());
        let near = self.at(value);
        self.latest = None;
        let far = self.at(value);
        let fit = match (near, far) {
            (Ok(near), Ok(far)) => near.or_lower(far),
            (Ok(near), Err(_)) => near,
            (Err(_), far) => far?,
        };
        Ok(self.follow(value, anchor, fit))
    }

    /// The same without the model's own start if there is one minimum: the data are expected ones, generated
    /// at the anchor.
    pub(crate) fn lowest_from(
        &mut self,
        value: f64,
        start: &[f64],
        anchor: &[f64],
    ) -> Result<Fit, InferenceError> {
        self.latest = Some(start.to_vec());
        let mut fit = self.at(value)?;
        if fit.may_have_others() {
            self.latest = None;
            if let Ok(far) = self.at(value) {
                fit = fit.or_lower(far);
            }
        }
        Ok(self.follow(value, anchor, fit))
    }

    /// The lower one of a fit and the end of a path of values, if there are several minima.
    fn follow(&mut self, value: f64, anchor: &[f64], found: Fit) -> Fit {
        let mut best = found;
        if best.may_have_others() {
            self.latest = Some(anchor.to_vec());
            let from = anchor[self.poi];
            let search = self.options.search;
            for (part, looks_around) in PATH {
                let is_there = part == 1.0;
                self.options.search = if looks_around { search } else { Search::Descent };
                let fit = self.at(from + part * (value - from));
                self.options.search = search;
                match fit {
                    Ok(fit) if is_there => best = best.or_lower(fit),
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        }
        self.latest = Some(best.theta.clone());
        best
    }
}

/// The values of a path, as fractions of the distance: there, beyond and back. The flag repeats the search
/// for other minima.
const PATH: [(f64, bool); 11] = [
    (0.0625, false),
    (0.125, false),
    (0.25, false),
    (0.5, true),
    (0.7, true),
    (1.0, true),
    (2.0, false),
    (1.4, true),
    (1.0, true),
    (1.1, false),
    (1.0, true),
];

impl TestKind {
    /// The tested value of the parameter of interest; discovery always tests zero.
    pub(crate) fn tested(self, mu: f64) -> f64 {
        if self == Self::Q0 { 0.0 } else { mu }
    }

    /// The value of the alternative hypothesis.
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
        options: &TestOptions,
    ) -> Result<Profile<'a>, InferenceError> {
        let profile = Profile::new(model, data)?.with(options);
        Ok(match self {
            Self::QTilde => profile.not_negative(),
            Self::Q | Self::T | Self::Q0 => profile,
        })
    }
}

impl TestStatistic {
    /// Compares the best fit with the one that has the tested value.
    pub(super) fn new(
        profile: &mut Profile<'_>,
        kind: TestKind,
        mu: f64,
        free: Fit,
    ) -> Result<Self, InferenceError> {
        let conditional = profile.lowest_at(mu)?;
        // If the tested value led to a lower minimum, the best fit is there too.
        let free = profile.lowered(free, &conditional)?;
        let mut notes = profile.take_notes();
        notes.extend(of_fit(&free, Fitted::Observed, None, profile.poi));
        notes.extend(of_fit(&conditional, Fitted::Observed, Some(mu), profile.poi));
        notes.extend(negative_background(profile.model, &free, profile.poi)?);
        let t = (2.0 * (conditional.nll - free.nll)).max(0.0);
        let mu_hat = free.theta[profile.poi];
        let value = kind.one_sided(t, mu, mu_hat);
        Ok(Self { kind, mu, value, t, mu_hat, free, conditional, notes })
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
        self.test_statistic_with(data, kind, mu, &TestOptions::default())
    }

    /// The same with other fit settings.
    pub fn test_statistic_with(
        &self,
        data: &Data,
        kind: TestKind,
        mu: f64,
        options: &TestOptions,
    ) -> Result<TestStatistic, InferenceError> {
        let mut profile = kind.profile(self, data, options)?;
        let free = profile.free()?;
        TestStatistic::new(&mut profile, kind, kind.tested(mu), free)
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
