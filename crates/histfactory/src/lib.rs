//! HistFactory models: workspaces as pyhf writes them, and inference on them.

#![expect(clippy::doc_markdown, reason = "formulas are written as formulas")]
#![expect(clippy::inline_always, reason = "a kernel is compiled for its processor as a whole")]
#![expect(clippy::needless_range_loop, reason = "lanes and parameters index several arrays")]
#![expect(clippy::float_cmp, reason = "zero, bounds and equal inputs are exact")]
#![expect(clippy::neg_cmp_op_on_partial_ord, reason = "what is not a number fails every test")]

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
pub mod toys;
pub mod workspace;

pub use fit::{Fit, FitError, FitOptions};
pub use interpolation::Interpolation;
pub use likelihood::Evaluator;
pub use model::{Data, EvaluationError, Model, ModelError, ModelOptions};
pub use workspace::Workspace;
