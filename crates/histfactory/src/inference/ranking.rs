//! Pulls of the constrained parameters, and their impacts on the parameter of interest.

use rayon::prelude::*;

use super::InferenceError;
use crate::fit::{Fit, FitOptions, Fitter};
use crate::model::{Constraint, Data, Model};

/// The change of a constrained parameter in a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pull {
    pub parameter: usize,
    /// (θ̂ − auxiliary) in units of the width before the fit.
    pub pull: f64,
    /// The width after the fit in units of that before; NaN where the curvature does not determine it.
    pub constraint: f64,
}

/// The change of the parameter of interest when a parameter is moved by its width and the others are fitted
/// again. A parameter without a constraint only has a width after the fit: its pull and its impact before are
/// NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impact {
    pub parameter: usize,
    pub pull: Pull,
    /// Changes of μ̂ as the parameter goes down and up by its width before the fit …
    pub before: [f64; 2],
    /// … and by its width after the fit.
    pub after: [f64; 2],
}

impl Impact {
    /// The larger change after the fit, by which parameters are ranked.
    pub fn size(&self) -> f64 {
        self.after[0].abs().max(self.after[1].abs())
    }
}

impl Model {
    /// The centre and the width of a constraint; `None` for a parameter without one.
    pub fn constraint_of(&self, data: &Data, parameter: usize) -> Option<(f64, f64)> {
        match *self.numbers.constraints.get(parameter)? {
            Constraint::Free => None,
            Constraint::Normal { auxiliary, sigma } => {
                Some((*data.auxiliary().get(auxiliary)?, sigma))
            }
            Constraint::Poisson { auxiliary, factor } => {
                let count = *data.auxiliary().get(auxiliary)?;
                Some((count / factor, 1.0 / factor.sqrt()))
            }
        }
    }

    /// Pulls of all constrained parameters that were free in a fit with a covariance matrix.
    pub fn pulls(&self, data: &Data, fit: &Fit) -> Result<Vec<Pull>, InferenceError> {
        let unknown = || InferenceError::NoUncertainty { parameter: "every parameter".to_owned() };
        let covariance = fit.covariance.as_ref().ok_or_else(unknown)?;
        let free = (0..self.parameter_count()).filter(|parameter| fit.free[*parameter]);
        Ok(free
            .filter_map(|parameter| {
                let (centre, width) = self.constraint_of(data, parameter)?;
                Some(Pull {
                    parameter,
                    pull: (fit.theta[parameter] - centre) / width,
                    constraint: covariance.sigma(parameter) / width,
                })
            })
            .collect())
    }

    /// Impacts of all free parameters on the parameter of interest, the largest first.
    pub fn ranking(&self, data: &Data) -> Result<Vec<Impact>, InferenceError> {
        self.ranking_with(data, &|| {})
    }

    /// The same, with a callback after each parameter.
    pub fn ranking_with(
        &self,
        data: &Data,
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Impact>, InferenceError> {
        let poi = self.needed_poi()?;
        let fit = self.fit(data, &FitOptions::default().with_covariance())?.require()?;
        let mut pulls = self.pulls(data, &fit)?;
        // Factors without a constraint have no pull, but also have an impact on the parameter of interest.
        let sigma =
            |parameter: usize| fit.covariance.as_ref().map_or(f64::NAN, |c| c.sigma(parameter));
        let free = (0..self.parameter_count()).filter(|&parameter| {
            let has_none = matches!(self.numbers.constraints[parameter], Constraint::Free);
            has_none && fit.free[parameter] && sigma(parameter) > 0.0
        });
        pulls.extend(free.map(|parameter| Pull {
            parameter,
            pull: f64::NAN,
            constraint: f64::NAN,
        }));
        let mut impacts: Vec<Impact> = pulls
            .par_iter()
            .filter(|pull| pull.parameter != poi)
            .map(|pull| {
                let impact = self.impact(data, &fit, poi, *pull);
                done();
                impact
            })
            .collect::<Result<_, _>>()?;
        impacts.sort_by(|a, b| b.size().total_cmp(&a.size()));
        Ok(impacts)
    }

    fn impact(
        &self,
        data: &Data,
        fit: &Fit,
        poi: usize,
        pull: Pull,
    ) -> Result<Impact, InferenceError> {
        let parameter = pull.parameter;
        let width = self.constraint_of(data, parameter).map(|(_, width)| width);
        // A parameter held by a bound or a kink has no width.
        let sigma = fit.covariance.as_ref().map_or(0.0, |covariance| covariance.sigma(parameter));
        let narrowed = if sigma > 0.0 { sigma } else { 0.0 };
        let mut fitter = Fitter::new(self, data)?;
        let [low, high] = self.bounds()[parameter];
        let mut shift = |step: f64| -> Result<f64, InferenceError> {
            let value = (fit.theta[parameter] + step).clamp(low, high);
            let options = FitOptions::default().fixing(parameter, value).from(&fit.theta);
            Ok(fitter.fit(&options)?.require()?.theta[poi] - fit.theta[poi])
        };
        let before = match width {
            Some(width) => [shift(-width)?, shift(width)?],
            None => [f64::NAN; 2],
        };
        let after = [shift(-narrowed)?, shift(narrowed)?];
        Ok(Impact { parameter, pull, before, after })
    }
}
