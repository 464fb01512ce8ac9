//! Fits to many toys, in parallel, with the same result for any number of threads.
//!
//! All start at the same point, so their first step is computed together, one toy in each lane of a vector.

use rayon::prelude::*;

use super::Shard;
use crate::fit::{Fit, FitError, FitOptions, Fitter, Shared};
use crate::model::{Data, Model};

/// The number of toys that one thread processes at a time.
const BLOCK: u64 = 16;

/// The toys to fit: `count` of them, from number `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToyOptions {
    pub first: u64,
    pub count: u64,
    pub seed: u64,
}

impl ToyOptions {
    /// Toys `0..count`.
    pub const fn new(count: u64, seed: u64) -> Self {
        Self { first: 0, count, seed }
    }

    /// The toys of one shard; see [`Shard::numbers`].
    #[must_use]
    pub fn in_shard(self, shard: Shard) -> Self {
        let numbers = shard.numbers(self.count);
        Self { first: self.first + numbers.start, count: numbers.end - numbers.start, ..self }
    }
}

impl Default for ToyOptions {
    fn default() -> Self {
        Self::new(1_000, 0)
    }
}

/// A toy and its fit.
#[derive(Debug, Clone, PartialEq)]
pub struct ToyFit {
    pub number: u64,
    pub fit: Fit,
}

impl Model {
    /// Draws toys at `theta` and fits each, starting at `theta`. A toy's fit does not depend on the others,
    /// to the last bit.
    pub fn toy_fits(
        &self,
        theta: &[f64],
        toys: &ToyOptions,
        options: &FitOptions,
    ) -> Result<Vec<Result<ToyFit, FitError>>, FitError> {
        self.toy_fits_with(theta, toys, options, |fit| fit)
    }

    /// The same; `each` is called with every fit on the thread that computed it. A fit takes much memory, so
    /// computations with many toys keep only the parts that they need.
    pub fn toy_fits_with<T: Send>(
        &self,
        theta: &[f64],
        toys: &ToyOptions,
        options: &FitOptions,
        each: impl Fn(Result<ToyFit, FitError>) -> T + Sync,
    ) -> Result<Vec<T>, FitError> {
        let mut options = options.clone();
        options.start.get_or_insert_with(|| theta.to_vec());
        let each = |_: &mut Fitter<'_>, number: u64, fit: Result<Fit, FitError>| {
            each(fit.map(|fit| ToyFit { number, fit }))
        };
        self.for_toys(theta, toys, &options, None, &|_| {}, each)
    }

    /// Fits each toy and processes the fit; results are in the order of the toys. `each` examines the parameter
    /// `examined` at an end of its range.
    ///
    /// The first step of all toys has the same matrix, and is computed for several at a time.
    pub(super) fn for_toys<T: Send>(
        &self,
        theta: &[f64],
        toys: &ToyOptions,
        options: &FitOptions,
        examined: Option<usize>,
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
                    let numbers = toys.first + numbers.start..toys.first + numbers.end;
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
                    fitter.examined = examined;
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
}
