//! Upper limits: the value of the parameter of interest at which CLs crosses a level.
//!
//! A band of the expected limit lies where √q_A(μ) reaches a number that the level determines, so all bands
//! are values of one inverse function. Each fit gives √q_A and, since −log L is stationary in the other
//! parameters at a minimum, its slope ∂q_A/∂μ = 2 ∂NLL/∂μ: cubics between all fits so far interpolate the
//! inverse function. Newton steps on ln CLs within a bracket find the observed limit. Fits start where the
//! nearest one ended. At the answer they are repeated from the starts that [`Model::hypotest`] uses, and the
//! lower minimum is used.

mod curve;
mod search;

use super::InferenceError;
use super::hypotest::{Alternative, BANDS};
use super::notes::{Fitted, Note, negative_background, of_fit};
use super::statistic::{TestKind, TestOptions};
use crate::fit::Search;
use crate::model::{Data, Model};
use curve::{Curve, Target};
use search::{CLOSE, Limits};

/// Options of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitOptions {
    pub kind: TestKind,
    /// One minus the confidence level.
    pub level: f64,
    /// The tolerance, relative to the limit.
    pub tolerance: f64,
    /// The largest value that is tested.
    pub highest: f64,
    /// The search for the lowest of several minima.
    pub search: Search,
    /// Whether to raise the upper bound of the parameter of interest if the best fit is at it.
    pub extend_bound: bool,
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self {
            kind: TestKind::QTilde,
            level: 0.05,
            tolerance: 1e-8,
            highest: 1e9,
            search: Search::default(),
            extend_bound: false,
        }
    }
}

/// An upper limit on the parameter of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct UpperLimit {
    /// Infinite where CLs stays above the level, NaN where a fit failed: see `missing`.
    pub observed: f64,
    /// At T = 2, 1, 0, −1, −2: ascending, the median in the middle; infinite or NaN as in `observed`.
    pub expected: [f64; 5],
    pub level: f64,
    /// Every tested value with its observed and expected CLs, in ascending order.
    pub tested: Vec<Tested>,
    /// The limits that are not finite, with the reason of each.
    pub missing: Vec<MissingLimit>,
    /// The number of fits.
    pub fits: usize,
    pub notes: Vec<Note>,
}

/// A value that was tested on the way to a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    pub mu: f64,
    /// `None` if only the expected data were fitted.
    pub cls: Option<f64>,
    pub expected: [f64; 5],
}

/// A limit without a finite value.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingLimit {
    /// The band in standard deviations, −2 to 2; `None` for the observed limit.
    pub band: Option<f64>,
    pub why: WhyNoLimit,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyNoLimit {
    /// CLs approaches a value above the level.
    #[error("CLs of {data} stays above the level: it is {cls:.3} at {mu}")]
    LevelsOff { mu: f64, data: Fitted, cls: f64 },
    /// A fit failed.
    #[error("the fit to {data} at {mu} failed: {why}")]
    FitFailed { mu: f64, data: Fitted, why: String },
}

impl Model {
    /// The upper limit on the parameter of interest, observed and expected.
    ///
    /// ```
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let limit = model.upper_limit(model.observed(), &Default::default())?;
    /// assert!((limit.observed - 1.0115).abs() < 1e-3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upper_limit(
        &self,
        data: &Data,
        options: &LimitOptions,
    ) -> Result<UpperLimit, InferenceError> {
        let &LimitOptions { kind, level, tolerance, highest, search, extend_bound } = options;
        if !(level > 0.0 && level < 1.0) {
            let what = "the level";
            return Err(InferenceError::OutOfRange { what, value: level, low: 0.0, high: 1.0 });
        }
        let test = TestOptions { search, extend_bound };
        let mut profile = kind.profile(self, data, &test)?;
        let (free, alternative) = Alternative::with_best_fit(self, &mut profile, 0.0)?;
        let poi = profile.poi;
        let mut notes = profile.take_notes();
        notes.extend(of_fit(&free, Fitted::Observed, None, poi));
        notes.extend(of_fit(&alternative.point, Fitted::Observed, Some(0.0), poi));
        notes.extend(negative_background(self, &free, poi)?);
        let mu_hat = free.theta[poi];
        let outwards = if mu_hat > 0.0 { 0.0 } else { free.gradient[poi] };
        let observed = Curve {
            profile,
            data: Fitted::Observed,
            least: free.nll,
            best: mu_hat,
            anchor: free.theta,
            points: Vec::new(),
        };
        let asimov = Curve {
            profile: kind.profile(self, &alternative.data, &test)?,
            data: Fitted::Expected,
            least: alternative.nll,
            best: 0.0,
            anchor: alternative.point.theta.clone(),
            points: Vec::new(),
        };
        let width = self.width_on_expected(&alternative, poi);
        let drawn_to = mu_hat - outwards * width.map_or(0.0, |width| width * width);
        let mut limits =
            Limits { kind, level, tolerance, highest, width, drawn_to, asimov, observed };
        let mut expected = [f64::NAN; 5];
        let mut missing = Vec::new();
        let mut settle = |band: Option<usize>, found: Result<f64, WhyNoLimit>| match found {
            Ok(limit) => limit,
            Err(why) => {
                let value = match why {
                    WhyNoLimit::LevelsOff { .. } => f64::INFINITY,
                    WhyNoLimit::FitFailed { .. } => f64::NAN,
                };
                missing.push(MissingLimit { band: band.map(|band| -BANDS[band]), why });
                value
            }
        };
        let first = width.map_or(mu_hat.abs().max(0.1), |width| width * limits.root_of(2));
        expected[2] = settle(Some(2), limits.find(Target::Band(2), first));
        let mut scale = if expected[2].is_finite() { expected[2] } else { first };
        for band in [4, 0, 3, 1] {
            let [this, median] = [limits.root_of(band), limits.root_of(2)];
            let first = scale * this / median;
            expected[band] = settle(Some(band), limits.find(Target::Band(band), first));
        }
        if mu_hat > 0.0 {
            scale += mu_hat;
        }
        let limit = settle(None, limits.find(Target::Observed, scale));
        if !limit.is_finite() && expected.iter().all(|limit| !limit.is_finite()) {
            return Err(limits.nothing(&missing));
        }
        for mu in expected.into_iter().chain([limit]).filter(|mu| mu.is_finite()) {
            let nearest = |curve: &Curve<'_>| {
                let points = curve.points.iter().map(|point| point.mu);
                points.min_by(|a, b| (a - mu).abs().total_cmp(&(b - mu).abs()))
            };
            for curve in [&limits.asimov, &limits.observed] {
                if let Some(at) = nearest(curve).filter(|at| (at - mu).abs() <= 2.0 * CLOSE * mu) {
                    curve.notes(at, &mut notes);
                }
            }
        }
        let tested = limits.tested();
        let fits = limits.observed.profile.fits + limits.asimov.profile.fits;
        Ok(UpperLimit { observed: limit, expected, level, tested, missing, fits, notes })
    }

    /// The width of the parameter of interest on the expected data.
    fn width_on_expected(&self, alternative: &Alternative, poi: usize) -> Option<f64> {
        let mut unit = vec![0.0; self.parameter_count()];
        unit[poi] = 1.0;
        let mut fit = alternative.point.clone();
        fit.free[poi] = true;
        let solved = self.solve(&fit.theta, &alternative.data, &fit, &unit).ok()?;
        Some(solved[poi].sqrt()).filter(|width| *width > 0.0 && width.is_finite())
    }
}
