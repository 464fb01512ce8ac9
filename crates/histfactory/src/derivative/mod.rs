//! Derivatives of the likelihood and of what is made of it, derived by hand.

mod hessian;

pub use hessian::Matrix;
