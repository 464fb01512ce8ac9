//! The fitted parameters, in units of their constraints.

use histfactory::{Fit, Model};

use crate::error::Error;
use crate::plot::Pull;

/// The pulls of all constrained parameters that the fit could move, in the model's order.
pub(crate) fn pulls(model: &Model, fit: &Fit) -> Result<Vec<Pull>, Error> {
    if fit.covariance.is_none() {
        return Ok(Vec::new());
    }
    let names = model.parameter_names();
    let row = |pull: histfactory::inference::Pull| Pull {
        name: names[pull.parameter].clone(),
        shift: pull.pull,
        width: pull.constraint,
    };
    Ok(model.pulls(model.observed(), fit)?.into_iter().map(row).collect())
}
