//! Derivatives of the likelihood and of quantities computed from it, derived by hand.

mod hessian;
mod partials;
mod real;
mod workspace;
mod yields;

pub use hessian::Matrix;
pub use partials::Convention;
pub use workspace::{Following, WorkspaceGradient};
pub(crate) use workspace::{Loose, observed_share};
