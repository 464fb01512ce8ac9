//! Intervals from the profile likelihood, as in MINOS.

use super::InferenceError;
use super::root::brent;
use super::statistic::Profile;
use crate::fit::{DIFFERENT, Fit, FitOptions};
use crate::model::{Data, Model};

/// An end of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// The profile likelihood has risen by half a unit times the square of the deviations.
    Crossing(f64),
    /// The profile likelihood does not rise that far before the parameter's bound.
    Bound(f64),
}

impl End {
    pub fn value(self) -> f64 {
        match self {
            Self::Crossing(value) | Self::Bound(value) => value,
        }
    }
}

/// An estimate with an asymmetric interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub parameter: usize,
    pub estimate: f64,
    pub lower: End,
    pub upper: End,
    /// From the curvature alone, for comparison.
    pub sigma: f64,
    /// The requested number of standard deviations.
    pub deviations: f64,
}

/// The result of a search: the value, or parameters with a lower −log L than the best fit.
enum Sought<T> {
    Found(T),
    Lower(Vec<f64>),
}

/// The number of times that a lower minimum may be found.
const MOST_ROUNDS: usize = 8;

impl Model {
    /// The interval of a parameter in which the profile likelihood stays below `deviations`² / 2
    /// above its minimum.
    pub fn interval(
        &self,
        data: &Data,
        parameter: usize,
        deviations: f64,
    ) -> Result<Interval, InferenceError> {
        let mut start = None;
        // An end of the interval may lead to a lower minimum. That point becomes the best fit, and both ends
        // are computed again.
        for _ in 0..MOST_ROUNDS {
            match self.interval_from(data, parameter, deviations, start)? {
                Sought::Found(interval) => return Ok(interval),
                Sought::Lower(theta) => start = Some(theta),
            }
        }
        Err(InferenceError::NotFinite { what: "the interval: every fit led to a lower minimum" })
    }

    fn interval_from(
        &self,
        data: &Data,
        parameter: usize,
        deviations: f64,
        start: Option<Vec<f64>>,
    ) -> Result<Sought<Interval>, InferenceError> {
        let mut options = FitOptions::default().with_covariance();
        options.start = start;
        let fit = Profile::for_parameter(self, data, parameter)?.fitter.fit(&options)?.require()?;
        let covariance = fit.covariance.as_ref();
        let unknown = || InferenceError::NoUncertainty {
            parameter: self.parameter_names()[parameter].clone(),
        };
        let mut sigma = covariance.ok_or_else(unknown)?.sigma(parameter);
        if !(sigma > 0.0) {
            // A bound holds the parameter, so its own curvature sets the scale.
            let curvature = self.hessian(&fit.theta, data)?.get(parameter, parameter);
            sigma = 1.0 / curvature.max(1e-12).sqrt();
        }
        let mut ends = [End::Bound(f64::NAN); 2];
        for (end, step) in ends.iter_mut().zip([-sigma, sigma]) {
            match self.end(data, parameter, &fit, step, deviations)? {
                Sought::Found(found) => *end = found,
                Sought::Lower(theta) => return Ok(Sought::Lower(theta)),
            }
        }
        let [lower, upper] = ends;
        let estimate = fit.theta[parameter];
        Ok(Sought::Found(Interval { parameter, estimate, lower, upper, sigma, deviations }))
    }

    fn end(
        &self,
        data: &Data,
        parameter: usize,
        fit: &Fit,
        step: f64,
        deviations: f64,
    ) -> Result<Sought<End>, InferenceError> {
        let best = fit.theta[parameter];
        let [low, high] = self.bounds()[parameter];
        let bound = if step < 0.0 { low } else { high };
        if best == bound {
            return Ok(Sought::Found(End::Bound(bound)));
        }
        let mut profile = Profile::for_parameter(self, data, parameter)?;
        let mut nearest = fit.theta.clone();
        let mut lower = None;
        // √t is nearly a straight line, so its root is found in few fits.
        let mut rise = |value: f64| -> Result<f64, InferenceError> {
            let found = profile.lowest_between(value, &nearest, &fit.theta)?;
            if found.nll < fit.nll - DIFFERENT {
                lower.get_or_insert_with(|| found.theta.clone());
            }
            let t = 2.0 * (found.nll - fit.nll);
            nearest = found.theta;
            Ok(t.max(0.0).sqrt() - deviations)
        };
        let (mut inner, mut of_inner) = (best, -deviations);
        let mut outer = best + deviations * step;
        let end = loop {
            let clipped = if step < 0.0 { outer.max(bound) } else { outer.min(bound) };
            let of_outer = rise(clipped)?;
            if of_outer >= 0.0 {
                let root = brent(&mut rise, (inner, of_inner), (clipped, of_outer), 1e-9)?;
                break End::Crossing(root);
            }
            if clipped == bound {
                break End::Bound(bound);
            }
            (inner, of_inner) = (clipped, of_outer);
            outer = clipped + deviations * step;
        };
        Ok(lower.map_or(Sought::Found(end), Sought::Lower))
    }
}
