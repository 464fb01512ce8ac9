//! Profile likelihoods along a parameter.

use super::InferenceError;
use super::statistic::Profile;
use crate::fit::{Fit, FitError, Search};
use crate::model::{Data, EvaluationError, Model};

/// A point of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanPoint {
    pub value: f64,
    pub nll: f64,
    /// 2[NLL − NLL at the free fit].
    pub t: f64,
    /// All parameters there.
    pub theta: Vec<f64>,
    /// If the fit did not converge, its numbers are those of the best point seen.
    pub converged: bool,
}

/// The profile likelihood along a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// The fit with the parameter free; no point lies below it.
    pub best: Fit,
    pub points: Vec<ScanPoint>,
}

impl Model {
    /// The profile likelihood at each of `values` of a parameter.
    pub fn scan(
        &self,
        data: &Data,
        parameter: usize,
        values: &[f64],
    ) -> Result<Vec<ScanPoint>, InferenceError> {
        let scan = self.scan_with(data, parameter, values, Search::default(), &mut || {})?;
        Ok(scan.points)
    }

    /// The same with another search for the lowest of several minima; calls `done` after each value.
    pub fn scan_with(
        &self,
        data: &Data,
        parameter: usize,
        values: &[f64],
        search: Search,
        done: &mut dyn FnMut(),
    ) -> Result<Scan, InferenceError> {
        if parameter >= self.parameter_count() {
            let name = parameter.to_string();
            return Err(EvaluationError::NoSuchParameter { name }.into());
        }
        let mut profile = Profile::for_parameter(self, data, parameter)?.searching(search);
        let mut free = profile.free()?;
        // From the best fit outwards, so that each fit starts near its end.
        let mut order: Vec<usize> = (0..values.len()).collect();
        let best = free.theta[parameter];
        order.sort_by(|a, b| (values[*a] - best).abs().total_cmp(&(values[*b] - best).abs()));
        let anchor = free.theta.clone();
        let mut fits: Vec<(usize, Fit)> = Vec::with_capacity(values.len());
        let mut nearest = [anchor.clone(), anchor.clone()];
        for index in order {
            let side = usize::from(values[index] > best);
            let fit = match profile.lowest_between(values[index], &nearest[side], &anchor) {
                Err(InferenceError::Fit(FitError::NotConverged { .. })) => {
                    profile.unconverged(values[index], &nearest[side])?
                }
                fit => fit?,
            };
            if fit.converged() {
                nearest[side].clone_from(&fit.theta);
                // The best fit includes every point of the scan.
                free = profile.lowered(free, &fit)?;
            }
            fits.push((index, fit));
            done();
        }
        if fits.iter().any(|(_, fit)| fit.may_have_others()) {
            sweep_back(&mut profile, values, &mut fits);
            for (_, fit) in fits.iter().filter(|(_, fit)| fit.converged()) {
                free = profile.lowered(free, fit)?;
            }
        }
        fits.sort_by_key(|(index, _)| *index);
        let point = |(index, fit): (usize, Fit)| ScanPoint {
            value: values[index],
            nll: fit.nll,
            t: (2.0 * (fit.nll - free.nll)).max(0.0),
            converged: fit.converged(),
            theta: fit.theta,
        };
        Ok(Scan { points: fits.into_iter().map(point).collect(), best: free.clone() })
    }
}

/// Follows the minima of the far values back to the near ones, and keeps the lower one everywhere.
fn sweep_back(profile: &mut Profile<'_>, values: &[f64], fits: &mut [(usize, Fit)]) {
    fits.sort_by(|(a, _), (b, _)| values[*a].total_cmp(&values[*b]));
    let count = fits.len();
    let there = (1..count).map(|at| (at - 1, at));
    let back = (1..count).rev().map(|at| (at, at - 1));
    for (from, to) in there.chain(back) {
        profile.latest = Some(fits[from].1.theta.clone());
        if let Ok(fit) = profile.at(values[fits[to].0]) {
            let known = &mut fits[to].1;
            *known = if known.converged() { known.clone().or_lower(fit) } else { fit };
        }
    }
}
