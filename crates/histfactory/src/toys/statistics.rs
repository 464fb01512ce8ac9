//! Test statistics of toys, and tests with their distributions.

use super::ToyOptions;
use super::starts::Starts;
use crate::fit::{DIFFERENT, Fit, FitError, FitOptions, Fitter, Search};
use crate::inference::{InferenceError, TestKind, TestOptions};
use crate::model::{Constraint, Data, Model};

/// A test of a hypothesis with distributions from toys.
#[derive(Debug, Clone, PartialEq)]
pub struct ToyTest {
    pub observed: f64,
    /// Of toys with the tested value, and with the value of the alternative.
    pub tested: Vec<f64>,
    pub alternative: Vec<f64>,
    /// Toys whose fits did not converge; they are in neither list.
    pub failed: u64,
    pub clsb: f64,
    pub clb: f64,
    pub cls: f64,
}

impl Model {
    /// Tests a value of the parameter of interest with toys drawn at the fits to the data with that
    /// value and with that of the alternative (zero, or one for discovery).
    pub fn toy_test(
        &self,
        data: &Data,
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<ToyTest, InferenceError> {
        self.toy_test_with(data, mu, kind, toys, Search::default(), done)
    }

    /// The same with another search for the lowest of several minima.
    pub fn toy_test_with(
        &self,
        data: &Data,
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
        search: Search,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<ToyTest, InferenceError> {
        let mu = kind.tested(mu);
        let options = TestOptions { search, ..TestOptions::default() };
        let observed = self.test_statistic_with(data, kind, mu, &options)?;
        let mut profile = kind.profile(self, data, &options)?.near(&observed.free.theta);
        let alternative = profile.lowest_at(kind.alternative())?;
        let minima = [&observed.free, &observed.conditional, &alternative];
        let distribution = |theta: &[f64], seed: u64| {
            let toys = ToyOptions { seed, ..*toys };
            let starts = Starts::new(self, theta, mu, kind, search, &minima)?;
            self.statistics_from(theta, mu, kind, &toys, search, &starts, done)
        };
        let tested = distribution(&observed.conditional.theta, toys.seed)?;
        let other = distribution(&alternative.theta, toys.seed ^ 0x5DEE_CE66_D1CE_4E5B)?;
        let failed = [&tested, &other].map(|values| values.iter().filter(|q| q.is_none()).count());
        let tested: Vec<f64> = tested.into_iter().flatten().collect();
        let other: Vec<f64> = other.into_iter().flatten().collect();
        let above = |values: &[f64]| {
            let above = values.iter().filter(|value| **value >= observed.value).count();
            fraction(above, values.len())
        };
        let (tail, rest) = (above(&tested), above(&other));
        let cls = match kind {
            TestKind::Q0 => tail,
            TestKind::Q | TestKind::QTilde | TestKind::T if rest > 0.0 => tail / rest,
            TestKind::Q | TestKind::QTilde | TestKind::T => 0.0,
        };
        Ok(ToyTest {
            observed: observed.value,
            failed: (failed[0] + failed[1]) as u64,
            clsb: tail,
            clb: rest,
            cls,
            tested,
            alternative: other,
        })
    }

    /// The test statistic of each toy drawn at `theta`; `None` where a fit did not converge.
    pub fn toy_statistics(
        &self,
        theta: &[f64],
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Option<f64>>, InferenceError> {
        self.toy_statistics_with(theta, mu, kind, toys, Search::default(), done)
    }

    /// The same with another search for the lowest of several minima.
    pub fn toy_statistics_with(
        &self,
        theta: &[f64],
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
        search: Search,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Option<f64>>, InferenceError> {
        let mut starts = Starts::new(self, theta, mu, kind, search, &[])?;
        if !starts.points.is_empty() {
            let options = TestOptions { search, ..TestOptions::default() };
            let observed = self.test_statistic_with(self.observed(), kind, mu, &options).ok();
            starts.points.extend(observed.map(|test| test.conditional.theta));
        }
        self.statistics_from(theta, mu, kind, toys, search, &starts, done)
    }

    #[expect(clippy::too_many_arguments, reason = "what, of which toys, and how")]
    fn statistics_from(
        &self,
        theta: &[f64],
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
        search: Search,
        starts: &Starts,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Option<f64>>, InferenceError> {
        let poi = self.needed_poi()?;
        let free = starts.free.clone().from(theta);
        let fixed = FitOptions::default().searching(search).fixing(poi, mu);
        let is_between = starts.range[0] < mu && mu < starts.range[1];
        let is_free = matches!(self.numbers.constraints[poi], Constraint::Free);
        let is_searched = search == Search::Mirrored;
        let examined = (is_between && is_free && is_searched).then_some(poi);
        let each = |fitter: &mut Fitter<'_>, _: u64, best: Result<Fit, FitError>| {
            let mut best = best.ok()?.require().ok()?;
            // Computed before the other fit, while the factor is that of the best one.
            for &end in &starts.ends {
                let other = starts.fit_from_end(fitter, &mut best, end);
                best = other.into_iter().fold(best, Fit::or_lower);
            }
            let mut conditional =
                fitter.fit_toy(&fixed.clone().from(&best.theta)).ok()?.require().ok()?;
            best.doubtful |= examined.is_some_and(|poi| best.is_doubted_by(&conditional, poi));
            let several = conditional.may_have_others() || best.may_have_others();
            let doubtful = conditional.doubtful || best.doubtful;
            if several || doubtful || !starts.points.is_empty() {
                // As in a test of observed data: other starts, and each fit knows of the other.
                let init = (doubtful && starts.points.is_empty()).then(|| self.init());
                let points = starts.points.iter().map(Vec::as_slice).chain(init);
                for start in [theta].into_iter().chain(points) {
                    conditional = lower(fitter, conditional, &fixed.clone().from(start));
                }
                best = lower(fitter, best, &free.clone().from(&conditional.theta));
            } else if conditional.nll < best.nll - DIFFERENT {
                best =
                    fitter.fit_toy(&free.clone().from(&conditional.theta)).ok()?.require().ok()?;
            }
            let t = (2.0 * (conditional.nll - best.nll)).max(0.0);
            Some(kind.one_sided(t, mu, best.theta[poi]))
        };
        Ok(self.for_toys(theta, toys, &free, examined, done, each)?)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of toys")]
fn fraction(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The lower one of two fits to the same toy.
fn lower(fitter: &mut Fitter<'_>, fit: Fit, options: &FitOptions) -> Fit {
    let other = fitter.fit_toy(options).ok().filter(Fit::converged);
    other.into_iter().fold(fit, Fit::or_lower)
}
