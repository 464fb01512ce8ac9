//! Fits, tests and significances of many rows on all cores.
//!
//! Each row has the result of the function for one row, to the last bit, whatever the number of threads. A
//! row that fails has its own error and does not affect the others.

use rayon::prelude::*;

use crate::fit::{Fit, FitError, FitOptions};
use crate::inference::{Dataset, Hypotest, InferenceError, Significance, TestKind, TestOptions};
use crate::model::{Data, Model, YieldChange};

impl Model {
    /// Fits each data set, as [`Model::fit`] does.
    pub fn fit_many(&self, data: &[Data], options: &FitOptions) -> Vec<Result<Fit, FitError>> {
        data.par_iter().map(|data| self.fit(data, options)).collect()
    }

    /// Tests one value of the parameter of interest on each data set, as [`Model::hypotest_with`] does.
    pub fn hypotest_many(
        &self,
        data: &[Data],
        mu: f64,
        kind: TestKind,
        options: &TestOptions,
    ) -> Vec<Result<Hypotest, InferenceError>> {
        data.par_iter().map(|data| self.hypotest_with(data, mu, kind, options)).collect()
    }

    /// The discovery significance of this model with each row of changed yields, as from
    /// [`Model::with_yields`] and [`Model::significance_with`].
    pub fn significance_many(
        &self,
        rows: &[Vec<YieldChange>],
        dataset: Dataset,
        options: &TestOptions,
    ) -> Vec<Result<Significance, InferenceError>> {
        let row = |changes: &Vec<YieldChange>| {
            self.with_yields(changes)?.significance_with(dataset, options)
        };
        rows.par_iter().map(row).collect()
    }
}
