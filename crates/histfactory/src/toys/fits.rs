//! Fits to many toys, in parallel, with the same result for any number of threads.
//!
//! All start at the same point: their first step is taken together, toys in the lanes of vectors.

use rayon::prelude::*;

use crate::fit::{DIFFERENT, Fit, FitError, FitOptions, Fitter, Search, Shared};
use crate::inference::{InferenceError, TestKind, TestOptions};
use crate::model::{Data, Model};

/// Toys that one thread takes at a time.
const BLOCK: u64 = 16;

/// Which toys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToyOptions {
    pub count: u64,
    pub seed: u64,
}

impl Default for ToyOptions {
    fn default() -> Self {
        Self { count: 1_000, seed: 0 }
    }
}

/// A toy and its fit.
#[derive(Debug, Clone, PartialEq)]
pub struct ToyFit {
    pub number: u64,
    pub fit: Fit,
}

/// A test of a hypothesis with distributions of toys.
#[derive(Debug, Clone, PartialEq)]
pub struct ToyTest {
    pub observed: f64,
    /// Of toys with the tested value, and with that of the alternative.
    pub tested: Vec<f64>,
    pub alternative: Vec<f64>,
    /// Toys whose fits did not converge; they are in neither list.
    pub failed: u64,
    pub clsb: f64,
    pub clb: f64,
    pub cls: f64,
}

impl Model {
    /// Draws toys at `theta` and fits each, started where it was drawn. A toy's fit does not depend on the
    /// others, to the last bit.
    pub fn toy_fits(
        &self,
        theta: &[f64],
        toys: &ToyOptions,
        options: &FitOptions,
    ) -> Result<Vec<Result<ToyFit, FitError>>, FitError> {
        self.toy_fits_with(theta, toys, options, &|_| {})
    }

    /// The same, telling how many toys were done each time some are.
    pub fn toy_fits_with(
        &self,
        theta: &[f64],
        toys: &ToyOptions,
        options: &FitOptions,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Result<ToyFit, FitError>>, FitError> {
        let mut options = options.clone();
        options.start.get_or_insert_with(|| theta.to_vec());
        let each = |_: &mut Fitter<'_>, number: u64, fit: Result<Fit, FitError>| {
            fit.map(|fit| ToyFit { number, fit })
        };
        self.for_toys(theta, toys, &options, done, each)
    }

    /// Fits each toy and does something with the fit; results in the order of the toys.
    ///
    /// The first step of all toys has the same matrix, and is taken for several at a time.
    fn for_toys<T: Send>(
        &self,
        theta: &[f64],
        toys: &ToyOptions,
        options: &FitOptions,
        done: &(dyn Fn(u64) + Sync),
        each: impl Fn(&mut Fitter<'_>, u64, Result<Fit, FitError>) -> T + Sync,
    ) -> Result<Vec<T>, FitError> {
        let expected = self.expected_data(theta)?;
        let asimov = Data::new(self, expected.clone())?;
        let shared = Shared::new(self, &asimov, options);
        let blocks = toys.count.div_ceil(BLOCK);
        let results: Vec<Vec<T>> = (0..blocks)
            .into_par_iter()
            .map_init(
                || None,
                |kept: &mut Option<Fitter<'_>>, block| {
                    let numbers = block * BLOCK..((block + 1) * BLOCK).min(toys.count);
                    let draw = |number| self.draw(&expected, toys.seed, number);
                    let data: Vec<Data> = numbers.clone().map(draw).collect();
                    let first = shared.as_ref().map(|shared| shared.first_steps(&data));
                    let mut first = first.into_iter().flatten();
                    let mut found = Vec::with_capacity(data.len());
                    let mut fitter = match kept.take() {
                        Some(fitter) => fitter,
                        None => Fitter::new(self, &asimov)?,
                    }
                    .on(self, &asimov);
                    for (number, data) in numbers.zip(&data) {
                        fitter.set_data(data)?;
                        let fit = match (&shared, first.next()) {
                            (Some(shared), Some(first)) => fitter.fit_along(shared, first, options),
                            _ => fitter.fit_toy(options),
                        };
                        found.push(each(&mut fitter, number, fit));
                    }
                    *kept = Some(fitter.on(self, &asimov));
                    done(found.len() as u64);
                    Ok::<_, FitError>(found)
                },
            )
            .collect::<Result<_, _>>()?;
        Ok(results.into_iter().flatten().collect())
    }

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
        let distribution = |theta: &[f64], seed: u64| {
            let toys = ToyOptions { seed, ..*toys };
            self.toy_statistics_with(theta, mu, kind, &toys, search, done)
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
        let poi = self.needed_poi()?;
        let mut free = FitOptions::default().searching(search).from(theta);
        if kind == TestKind::QTilde {
            let [low, high] = self.bounds()[poi];
            free = free.bounding(poi, [low.max(0.0), high.max(0.0)]);
        }
        let each = |fitter: &mut Fitter<'_>, _: u64, best: Result<Fit, FitError>| {
            let mut best = best.ok()?.require().ok()?;
            let fixed = FitOptions::default().searching(search).fixing(poi, mu);
            let mut conditional =
                fitter.fit_toy(&fixed.clone().from(&best.theta)).ok()?.require().ok()?;
            if conditional.may_have_others() || best.may_have_others() {
                // As in a test of observed data: another start, and each fit knows of the other.
                let far = fitter.fit_toy(&fixed.from(theta)).ok().filter(Fit::converged);
                conditional = far.into_iter().fold(conditional, Fit::or_lower);
                let near = fitter.fit_toy(&free.clone().from(&conditional.theta));
                best = near.ok().filter(Fit::converged).into_iter().fold(best, Fit::or_lower);
            } else if conditional.nll < best.nll - DIFFERENT {
                best =
                    fitter.fit_toy(&free.clone().from(&conditional.theta)).ok()?.require().ok()?;
            }
            let t = (2.0 * (conditional.nll - best.nll)).max(0.0);
            Some(kind.one_sided(t, mu, best.theta[poi]))
        };
        Ok(self.for_toys(theta, toys, &free, done, each)?)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of toys")]
fn fraction(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
