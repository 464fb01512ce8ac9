//! Reasons for a missing result.

use crate::fit::FitError;
use crate::model::EvaluationError;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error("no value of the parameter of interest up to {highest} has CLs below {level}")]
    NoLimit { highest: f64, level: f64 },
    #[error("no limit was found: {why}")]
    NoLimitFound { why: String },
    #[error("{what} is {value}; it must lie between {low} and {high}")]
    OutOfRange { what: &'static str, value: f64, low: f64, high: f64 },
    #[error("the uncertainty of `{parameter}` is not known: the Hessian has no inverse there")]
    NoUncertainty { parameter: String },
    #[error("the result is not finite: {what}")]
    NotFinite { what: &'static str },
}
