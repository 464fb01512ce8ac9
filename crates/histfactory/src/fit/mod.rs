//! Fits: a bounded Newton method with an active set.
//!
//! The first steps use the expected information, which cannot be indefinite. Later steps use the exact
//! Hessian, or the held factor with the secants of the steps since. Where an interpolation has a kink, the
//! fit also looks beyond it. Where templates have the same effect on both sides of zero, it looks at the
//! other side. A fit that did not converge reports the reason; its numbers are then the best ones seen.

mod border;
mod covariance;
mod feasible;
mod flat;
mod inverse;
mod kinks;
mod lanes;
mod narrow;
mod newton;
mod options;
#[cfg(test)]
mod orderings;
mod pace;
mod resets;
mod result;
mod ridges;
mod secants;
mod shared;
mod state;
mod system;
mod valleys;

pub use covariance::Covariance;
pub use newton::Fitter;
pub use options::{FitOptions, Search};
pub use result::{Fit, FitError, FlatDirection, Outcome, Side};
pub(crate) use ridges::DIFFERENT;
pub(crate) use shared::Shared;
pub(crate) use system::System;

use crate::model::{Data, Model};

impl Model {
    /// Minimises −log L over the parameters that are not fixed, within their bounds.
    ///
    /// ```
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let fit = model.fit(model.observed(), &Default::default())?;
    /// assert!(fit.converged() && fit.kkt < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit(&self, data: &Data, options: &FitOptions) -> Result<Fit, FitError> {
        Fitter::new(self, data)?.fit(options)
    }
}
