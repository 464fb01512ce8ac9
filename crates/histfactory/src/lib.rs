//! HistFactory models: workspaces in pyhf's format, and inference on them.
//!
//! A [`Workspace`] is read, compiled into a [`Model`], and evaluated, differentiated and fitted. Parameters
//! and data have pyhf's layout, all constants of the likelihood are kept, and functions return −log L (pyhf's
//! `twice_nll` is twice that).
//!
//! ```
//! use histfactory::inference::{Dataset, TestKind};
//! use histfactory::{FitOptions, Model, ModelOptions, Workspace};
//!
//! # let json = include_bytes!("../tests/data/two_bins.json");
//! let workspace = Workspace::from_slice(json)?;
//! let model = Model::new(&workspace, &ModelOptions::default())?;
//! let data = model.observed();
//!
//! // A fit carries its diagnostics.
//! let fit = model.fit(data, &FitOptions::default().with_covariance())?;
//! assert!(fit.converged() && fit.kkt < 1e-9);
//! let sigma = fit.covariance.as_ref().map(|covariance| covariance.sigma(0));
//! assert!(sigma.is_some());
//!
//! // CLs at μ = 1, and the value that is excluded at 95 %.
//! let test = model.hypotest(data, 1.0, TestKind::QTilde)?;
//! assert!((test.observed.cls - 0.0525).abs() < 1e-4);
//! let limit = model.upper_limit(data, &Default::default())?;
//! assert!(limit.observed > 1.0);
//!
//! // The expected significance, and its derivative in each yield.
//! let found = model.significance_with_gradient(Dataset::Asimov { mu: 1.0 }, Default::default())?;
//! let gradient = found.gradient.ok_or("requested")?;
//! assert!(gradient.error < 1e-8);
//! assert!(gradient.q0.nominal("singlechannel", "signal")?.iter().all(|slope| *slope > 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | for | look at |
//! |---|---|
//! | reading, patching, pruning, combining | [`workspace`] |
//! | parameters, data, other yields | [`model`] |
//! | values and gradients without allocating | [`Evaluator`] |
//! | Hessians, derivatives in every number of a workspace | [`derivative`] |
//! | fits, covariance | [`fit`] |
//! | tests, CLs, limits, intervals, rankings, significance | [`inference`] |
//! | a number to train on, as a function of yields | [`objective`] |
//! | pseudo-experiments, batches | [`toys`] |
//! | models to try things on | [`synthetic`] |
//!
//! No workspace makes this crate panic. A missing value is an error with its place and reason; the few
//! results that can be NaN or infinite document that and carry the reason.

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
mod many;
pub mod model;
pub mod objective;
pub mod special;
pub mod synthetic;
pub mod toys;
pub mod workspace;

pub use fit::{Fit, FitError, FitOptions};
pub use interpolation::Interpolation;
pub use likelihood::Evaluator;
pub use model::{Data, EvaluationError, Model, ModelError, ModelOptions};
pub use workspace::Workspace;
