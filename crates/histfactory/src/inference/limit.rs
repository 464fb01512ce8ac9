//! Upper limits: the value of the parameter of interest at which CLs crosses a level.

use super::InferenceError;
use super::hypotest::{Alternative, BANDS, PValues, position};
use super::root::brent;
use super::statistic::TestKind;
use crate::model::{Data, Model};

/// How a limit is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitOptions {
    pub kind: TestKind,
    /// One minus the confidence level.
    pub level: f64,
    /// Relative, of the limit.
    pub tolerance: f64,
    /// The search ends here.
    pub highest: f64,
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self { kind: TestKind::QTilde, level: 0.05, tolerance: 1e-8, highest: 1e9 }
    }
}

/// An upper limit on the parameter of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct UpperLimit {
    pub observed: f64,
    /// At T = 2, 1, 0, −1, −2: ascending, the median in the middle.
    pub expected: [f64; 5],
    pub level: f64,
    /// Every tested value with its observed and expected CLs, in ascending order.
    pub tested: Vec<Tested>,
}

/// A value that was tested on the way to a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    pub mu: f64,
    pub cls: f64,
    pub expected: [f64; 5],
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
        let &LimitOptions { kind, level, tolerance, highest } = options;
        if !(level > 0.0 && level < 1.0) {
            let what = "the level";
            return Err(InferenceError::OutOfRange { what, value: level, low: 0.0, high: 1.0 });
        }
        let mut observed = kind.profile(self, data)?;
        let free = observed.free()?;
        let mu_hat = free.theta[observed.poi];
        let alternative = Alternative::new(self, &mut observed, 0.0)?;
        observed.latest = Some(free.theta.clone());
        let mut asimov = kind.profile(self, &alternative.data)?.near(&alternative.point.theta);
        let mut tested: Vec<Tested> = Vec::new();
        // ln(CLs/level) for the data (`None`) or for a band.
        let mut excess = |mu: f64, band: Option<usize>| -> Result<f64, InferenceError> {
            if let Some(known) = tested.iter().find(|known| known.mu == mu) {
                return Ok(excess_of(known, band, level));
            }
            let q_asimov = kind.one_sided(alternative.t(&asimov.at(mu)?), mu, 0.0);
            let t = (2.0 * (observed.at(mu)?.nll - free.nll)).max(0.0);
            let place = position(kind, kind.one_sided(t, mu, mu_hat), q_asimov);
            let root = q_asimov.sqrt();
            let known = Tested {
                mu,
                cls: PValues::new(kind, place, root).cls,
                expected: BANDS.map(|band| PValues::new(kind, band, root).cls),
            };
            let excess = excess_of(&known, band, level);
            tested.push(known);
            Ok(excess)
        };
        let mut find = |band: Option<usize>, guess: f64| -> Result<f64, InferenceError> {
            let (mut low, mut of_low) = (0.0, -level.ln());
            let mut high = guess;
            loop {
                let of_high = excess(high, band)?;
                if of_high <= 0.0 {
                    let ends = ((low, of_low), (high, of_high));
                    return brent(|mu| excess(mu, band), ends.0, ends.1, tolerance);
                }
                (low, of_low) = (high, of_high);
                high *= 1.7;
                if high > highest {
                    return Err(InferenceError::NoLimit { highest, level });
                }
            }
        };
        let spread = mu_hat.abs().max(0.1);
        let median = find(Some(2), spread)?;
        let mut expected = [0.0; 5];
        let guesses = [0.55, 0.75, 1.0, 1.45, 2.0];
        for band in [1, 0, 3, 4] {
            expected[band] = find(Some(band), median * guesses[band])?;
        }
        expected[2] = median;
        let limit = find(None, median)?;
        tested.sort_by(|a, b| a.mu.total_cmp(&b.mu));
        Ok(UpperLimit { observed: limit, expected, level, tested })
    }
}

fn excess_of(known: &Tested, band: Option<usize>, level: f64) -> f64 {
    let cls = band.map_or(known.cls, |band| known.expected[band]);
    (cls.max(1e-300) / level).ln()
}
