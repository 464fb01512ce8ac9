//! HistFactory models: workspaces as pyhf writes them, and inference on them.

pub mod derivative;
pub mod fit;
pub mod inference;
pub mod interpolation;
mod kernel;
pub mod likelihood;
mod linalg;
pub mod model;
pub mod special;
pub mod synthetic;
pub mod workspace;

pub use fit::{Fit, FitError, FitOptions};
pub use interpolation::Interpolation;
pub use likelihood::Evaluator;
pub use model::{Data, EvaluationError, Model, ModelError, ModelOptions};
pub use workspace::Workspace;
