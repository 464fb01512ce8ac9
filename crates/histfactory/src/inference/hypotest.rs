//! Asymptotic p-values and CLs.
//!
//! With q of the data and q_A of the Asimov data set of the other hypothesis, T = √q − √q_A (for q̃ beyond
//! √q_A: (q − q_A)/2√q_A); CL_{s+b} = Φ(−(T + √q_A)), CL_b = Φ(−T). The bands are those of T = 2, 1, 0, −1,
//! −2. The best fit of the Asimov data set is the point that generated it, so four fits are enough instead of
//! five.

use super::InferenceError;
use super::notes::{Fitted, Note, of_fit};
use super::statistic::{Profile, TestKind, TestOptions, TestStatistic};
use crate::fit::Fit;
use crate::model::{Data, Model};
use crate::special::normal_cdf;

/// The standard deviations of the expected bands, in pyhf's order: CLs ascends.
pub const BANDS: [f64; 5] = [2.0, 1.0, 0.0, -1.0, -2.0];

/// p-values of the tested hypothesis and of its alternative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PValues {
    pub clsb: f64,
    pub clb: f64,
    /// Their ratio; for discovery simply the p-value of the tested hypothesis.
    pub cls: f64,
}

/// A hypothesis test.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypotest {
    pub statistic: TestStatistic,
    /// The statistic of the Asimov data set.
    pub asimov: f64,
    pub observed: PValues,
    /// At T = 2, 1, 0, −1, −2.
    pub expected: [PValues; 5],
    pub notes: Vec<Note>,
}

impl PValues {
    /// From T and √q_A.
    pub(super) fn new(kind: TestKind, position: f64, root: f64) -> Self {
        let [tested, other] = [position + root, position].map(|deviations| normal_cdf(-deviations));
        let cls = match kind {
            TestKind::Q0 => tested,
            TestKind::Q | TestKind::QTilde | TestKind::T if other > 0.0 => tested / other,
            // Both tails are below the smallest number, where they decrease together.
            TestKind::Q | TestKind::QTilde | TestKind::T => 0.0,
        };
        Self { clsb: tested, clb: other, cls }
    }
}

/// T.
pub(super) fn position(kind: TestKind, q: f64, q_asimov: f64) -> f64 {
    let (root, asimov) = (q.max(0.0).sqrt(), q_asimov.max(0.0).sqrt());
    match kind {
        TestKind::QTilde if root > asimov && q_asimov > 0.0 => (q - q_asimov) / (2.0 * asimov),
        TestKind::Q | TestKind::QTilde | TestKind::T | TestKind::Q0 => root - asimov,
    }
}

/// The Asimov data set of the alternative hypothesis, with the point that generated it.
pub(super) struct Alternative {
    pub(super) data: Data,
    pub(super) point: Fit,
    pub(super) nll: f64,
}

impl Alternative {
    /// The best fit to the data, and the expected data of the alternative. The two fits share their minima:
    /// if one value of the parameter of interest leads below all of them, all are fitted again.
    pub(super) fn with_best_fit(
        model: &Model,
        profile: &mut Profile<'_>,
        mu: f64,
    ) -> Result<(Fit, Self), InferenceError> {
        let free = profile.free()?;
        let alternative = Self::new(model, profile, mu)?;
        let free = profile.lowered(free, &alternative.point)?;
        profile.latest = Some(free.theta.clone());
        Ok((free, alternative))
    }

    /// Profiled to the data, with the parameter of interest at `mu`.
    pub(super) fn new(
        model: &Model,
        profile: &mut Profile<'_>,
        mu: f64,
    ) -> Result<Self, InferenceError> {
        let point = profile.lowest_at(mu)?;
        let data = model.asimov(&point.theta)?;
        let nll = model.nll(&point.theta, &data)?;
        Ok(Self { data, point, nll })
    }

    /// 2[NLL(μ) − NLL(best)] of a fit to the Asimov data.
    pub(super) fn t(&self, conditional: &Fit) -> f64 {
        (2.0 * (conditional.nll - self.nll)).max(0.0)
    }
}

impl Model {
    /// Tests a value of the parameter of interest with asymptotic distributions.
    ///
    /// ```
    /// use histfactory::inference::TestKind;
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let test = model.hypotest(model.observed(), 1.0, TestKind::QTilde)?;
    /// assert!((test.observed.cls - 0.05251497).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hypotest(
        &self,
        data: &Data,
        mu: f64,
        kind: TestKind,
    ) -> Result<Hypotest, InferenceError> {
        self.hypotest_with(data, mu, kind, &TestOptions::default())
    }

    /// The same with other fit settings.
    pub fn hypotest_with(
        &self,
        data: &Data,
        mu: f64,
        kind: TestKind,
        options: &TestOptions,
    ) -> Result<Hypotest, InferenceError> {
        let mu = kind.tested(mu);
        let other = kind.alternative();
        let mut profile = kind.profile(self, data, options)?;
        let (free, alternative) = Alternative::with_best_fit(self, &mut profile, other)?;
        let statistic = TestStatistic::new(&mut profile, kind, mu, free)?;
        let mut of_asimov = kind.profile(self, &alternative.data, options)?;
        let conditional =
            of_asimov.lowest_from(mu, &alternative.point.theta, &alternative.point.theta)?;
        let asimov = kind.one_sided(alternative.t(&conditional), mu, other);
        let root = asimov.sqrt();
        let t = position(kind, statistic.value, asimov);
        let mut notes = statistic.notes.clone();
        notes.extend(of_fit(&alternative.point, Fitted::Observed, Some(other), profile.poi));
        notes.extend(of_fit(&conditional, Fitted::Expected, Some(mu), profile.poi));
        Ok(Hypotest {
            observed: PValues::new(kind, t, root),
            expected: BANDS.map(|band| PValues::new(kind, band, root)),
            statistic,
            asimov,
            notes,
        })
    }
}
