//! Errors of workspaces that cannot become a model, and of points or data sets that do not fit one.

use crate::workspace::WorkspaceError;

/// An error in a workspace that cannot become a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(
        "measurement `{measurement}`: the model has no parameter `{poi}` (its parameter of interest)"
    )]
    NoSuchPoi { measurement: String, poi: String },
    #[error("the model has no parameters")]
    NoParameters,
    #[error("channel `{channel}`, sample `{sample}`, modifier `{modifier}`: {what}")]
    Modifier { channel: String, sample: String, modifier: String, what: String },
    #[error("parameter `{parameter}`: {what}")]
    Parameter { parameter: String, what: String },
    #[error("channel `{channel}`: {what}")]
    Channel { channel: String, what: String },
}

/// Parameters, data or yields that do not belong to the model, or for which it has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    #[error("{got} {what} given, the model has {expected}")]
    Length { what: &'static str, got: usize, expected: usize },
    #[error("{what} {index} is {value}")]
    NotFinite { what: &'static str, index: usize, value: f64 },
    #[error("count {index} is {value}; counts are not negative")]
    NegativeCount { index: usize, value: f64 },
    #[error("channel `{channel}`, bin {bin}: the expected rate is {rate}")]
    BadRate { channel: String, bin: usize, rate: f64 },
    #[error("parameter `{parameter}` is {value}: its constraint has no density there")]
    BadConstraint { parameter: String, value: f64 },
    #[error("the model has no parameter of interest")]
    NoPoi,
    #[error("there is no parameter `{name}`")]
    NoSuchParameter { name: String },
    #[error("there is no {what} `{name}`")]
    NoSuchPlace { what: &'static str, name: String },
    #[error(
        "channel `{channel}`, sample `{sample}`: {got} numbers given, the channel has {expected} bins"
    )]
    Bins { channel: String, sample: String, got: usize, expected: usize },
    #[error("`{name}`: {what}")]
    Named { name: String, what: String },
    #[error("an input is named twice: {what}")]
    Twice { what: String },
    #[error("`parameters` cannot be an input of a quantity that is profiled over them")]
    Profiled,
}
