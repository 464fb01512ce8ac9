//! The result of a fit.

use super::Covariance;
use super::ridges::DIFFERENT;
use crate::model::EvaluationError;

/// A minimum of −log L, with the fit's diagnostics.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub theta: Vec<f64>,
    pub nll: f64,
    /// The gradient of −log L there, in all parameters; at a kink that from the left.
    pub gradient: Vec<f64>,
    /// The largest component of the gradient along which a permitted move leads downhill.
    pub kkt: f64,
    /// The estimated vertical distance to the minimum, ½ gᵀH⁻¹g, with the latest factor and the secants of
    /// the steps since. For a toy it may be a factor of the expected information.
    pub edm: f64,
    pub iterations: usize,
    pub evaluations: usize,
    pub outcome: Outcome,
    /// Parameters that were free to move.
    pub free: Vec<bool>,
    /// Free parameters that ended at a bound that holds them.
    pub at_bound: Vec<(usize, Side)>,
    /// Free parameters that ended at zero because −log L has a kink there (code0, code1) and rises on both
    /// sides. Like those at a bound they have no curvature and no variance.
    pub at_kink: Vec<usize>,
    /// Bins without a count whose rate is zero at the minimum: −log L would fall further if the rate could
    /// become negative. The gradient then includes the condition that rates are not negative.
    pub at_border: Vec<usize>,
    /// −log L of other minima found by the fit, in ascending order.
    pub other_minima: Vec<f64>,
    /// A combination of parameters that the data and the constraints do not determine. Computed with the
    /// covariance.
    pub flat: Option<FlatDirection>,
    /// Whether a parameter may have a minimum on both sides of zero.
    pub(crate) two_sided: bool,
    /// Whether a parameter moved far and no slope showed that the fit would return from elsewhere.
    pub(crate) doubtful: bool,
    /// Only if requested, and if there is one.
    pub covariance: Option<Covariance>,
}

/// A direction along which −log L hardly changes.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatDirection {
    /// The parameters that move along it with the distance of each; the largest distance is one.
    pub parameters: Vec<(usize, f64)>,
    /// The distance over which −log L rises by one half, according to the curvature.
    pub sigma: f64,
}

/// An end of a parameter's range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Lower,
    Upper,
}

/// How a fit ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The projected gradient is below the tolerance.
    Converged,
    /// The projected gradient is as small as rounding allows, which is above the tolerance.
    ConvergedToRounding {
        limit: f64,
    },
    TooManyIterations {
        allowed: usize,
    },
    /// No step lowers −log L any more.
    Stalled {
        damping: f64,
    },
}

impl Outcome {
    /// The reason why a fit did not converge, if it did not.
    pub fn complaint(&self) -> Option<String> {
        match self {
            Self::Converged | Self::ConvergedToRounding { .. } => None,
            Self::TooManyIterations { allowed } => {
                Some(format!("not converged after {allowed} iterations"))
            }
            Self::Stalled { damping } => {
                Some(format!("no step lowers the likelihood any more (damping {damping:.0e})"))
            }
        }
    }
}

impl Fit {
    pub fn converged(&self) -> bool {
        self.outcome.complaint().is_none()
    }

    /// Parameters that were free and that neither a bound nor a kink holds.
    pub(crate) fn moving(&self) -> Vec<bool> {
        let mut moving = self.free.clone();
        let bounds = self.at_bound.iter().map(|(parameter, _)| *parameter);
        for parameter in bounds.chain(self.at_kink.iter().copied()) {
            moving[parameter] = false;
        }
        moving
    }

    /// The fit with the lower minimum; it lists the minima and counts of both.
    pub(crate) fn or_lower(self, other: Self) -> Self {
        let iterations = self.iterations + other.iterations;
        let evaluations = self.evaluations + other.evaluations;
        let (mut lower, higher) =
            if other.nll < self.nll - DIFFERENT { (other, self) } else { (self, other) };
        for nll in higher.other_minima.into_iter().chain([higher.nll]) {
            let is_known = (nll - lower.nll).abs() <= DIFFERENT
                || lower.other_minima.iter().any(|known| (known - nll).abs() <= DIFFERENT);
            if !is_known {
                lower.other_minima.push(nll);
            }
        }
        lower.other_minima.sort_by(f64::total_cmp);
        (lower.iterations, lower.evaluations) = (iterations, evaluations);
        lower.two_sided |= higher.two_sided;
        lower.doubtful |= higher.doubtful;
        lower
    }

    /// Whether other starts may lead to other minima.
    pub(crate) fn may_have_others(&self) -> bool {
        self.two_sided || !self.other_minima.is_empty()
    }

    /// The fit, if it converged.
    pub fn require(self) -> Result<Self, FitError> {
        match self.outcome.complaint() {
            None => Ok(self),
            Some(why) => Err(FitError::NotConverged { why, kkt: self.kkt, nll: self.nll }),
        }
    }
}

/// The reason for a missing fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error("parameter {parameter} has the bounds {low} and {high}")]
    Bounds { parameter: usize, low: f64, high: f64 },
    #[error("no start has a finite likelihood: {why}")]
    NoStart { why: EvaluationError },
    #[error(
        "the likelihood is infinite wherever the fit may go: counts were seen where none can be"
    )]
    Infinite,
    #[error("the fit did not converge: {why} (projected gradient {kkt:.1e}, −log L {nll})")]
    NotConverged { why: String, kkt: f64, nll: f64 },
}
