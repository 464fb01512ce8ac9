//! Intervals from the profile likelihood, as MINOS makes them.

use super::InferenceError;
use super::root::brent;
use super::statistic::Profile;
use crate::fit::{Fit, FitOptions};
use crate::model::{Data, Model};

/// An end of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// Where the profile likelihood has risen by half a unit times the square of the deviations.
    Crossing(f64),
    /// It does not rise that far before the parameter's bound.
    Bound(f64),
}

impl End {
    pub fn value(self) -> f64 {
        match self {
            Self::Crossing(value) | Self::Bound(value) => value,
        }
    }
}

/// An estimate with an interval of its own shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub parameter: usize,
    pub estimate: f64,
    pub lower: End,
    pub upper: End,
    /// From the curvature alone, for comparison.
    pub sigma: f64,
    /// The number of standard deviations asked for.
    pub deviations: f64,
}

impl Model {
    /// The interval of a parameter in which the profile likelihood stays below `deviations`² / 2
    /// above its minimum.
    pub fn interval(
        &self,
        data: &Data,
        parameter: usize,
        deviations: f64,
    ) -> Result<Interval, InferenceError> {
        let options = FitOptions::default().with_covariance();
        let fit = Profile::of(self, data, parameter)?.fitter.fit(&options)?.require()?;
        let covariance = fit.covariance.as_ref();
        let unknown = || InferenceError::NoUncertainty {
            parameter: self.parameter_names()[parameter].clone(),
        };
        let mut sigma = covariance.ok_or_else(unknown)?.sigma(parameter);
        if !(sigma > 0.0) {
            // Held by a bound: the curvature in the parameter alone sets the scale.
            let curvature = self.hessian(&fit.theta, data)?.get(parameter, parameter);
            sigma = 1.0 / curvature.max(1e-12).sqrt();
        }
        let lower = self.end(data, parameter, &fit, -sigma, deviations)?;
        let upper = self.end(data, parameter, &fit, sigma, deviations)?;
        Ok(Interval { parameter, estimate: fit.theta[parameter], lower, upper, sigma, deviations })
    }

    fn end(
        &self,
        data: &Data,
        parameter: usize,
        fit: &Fit,
        step: f64,
        deviations: f64,
    ) -> Result<End, InferenceError> {
        let best = fit.theta[parameter];
        let [low, high] = self.bounds()[parameter];
        let bound = if step < 0.0 { low } else { high };
        if best == bound {
            return Ok(End::Bound(bound));
        }
        let mut profile = Profile::of(self, data, parameter)?.near(&fit.theta);
        // √t is nearly a straight line: its root is found in few fits.
        let mut rise = |value: f64| -> Result<f64, InferenceError> {
            let t = 2.0 * (profile.at(value)?.nll - fit.nll);
            Ok(t.max(0.0).sqrt() - deviations)
        };
        let (mut inner, mut of_inner) = (best, -deviations);
        let mut outer = best + deviations * step;
        loop {
            let clipped = if step < 0.0 { outer.max(bound) } else { outer.min(bound) };
            let of_outer = rise(clipped)?;
            if of_outer >= 0.0 {
                let root = brent(&mut rise, (inner, of_inner), (clipped, of_outer), 1e-9)?;
                return Ok(End::Crossing(root));
            }
            if clipped == bound {
                return Ok(End::Bound(bound));
            }
            (inner, of_inner) = (clipped, of_outer);
            outer = clipped + deviations * step;
        }
    }
}
