//! Further starts for the fits of toys to models whose −log L may have several minima.
//!
//! A large signal can replace a background whose normalisation is free, and a weak one can be best at either
//! end of its range. The minima are then far apart, and no start near the toy's own point leads from one to
//! the other. The expected data at the toys' point and the fits to the observed data decide, once for all
//! toys of a call, whether a model needs more starts.

use crate::fit::{Fit, FitOptions, Fitter, Search};
use crate::inference::{InferenceError, TestKind};
use crate::model::{Constraint, Data, Model};

/// Toys may prefer an end of a parameter's range if −log L of the expected data at that end is less than this
/// above the minimum: four standard deviations.
const MOST_RISE: f64 = 8.0;
/// If a descent ends higher than this, no lower minimum is searched.
const MOST_SEARCHED: f64 = 4.0 * MOST_RISE;
/// If −log L rises by more than `MOST_RISE` to an end, or by more than `FAR_RISE` on a part of the way, and
/// leads back from there, the end is out of reach without a fit.
const FAR_RISE: f64 = 20.0;
const PARTS: [(f64, f64); 5] = [
    (1.0, MOST_RISE),
    (0.25, FAR_RISE),
    (0.125, FAR_RISE),
    (0.0625, FAR_RISE),
    (0.03125, FAR_RISE),
];
/// Parameters without a constraint whose ranges are looked at, beside the parameter of interest.
const MOST_LOOSE: usize = 8;
/// A fit at such an end is continued if its −log L is at most this much above the best fit's.
const MOST_ABOVE: f64 = 4.0;

pub(super) struct Starts {
    /// Options of the fits with the parameter of interest free.
    pub(super) free: FitOptions,
    fixed: FitOptions,
    /// The range of the parameter of interest in the free fits.
    pub(super) range: [f64; 2],
    /// Starts of the fits with the tested value; empty if there is one minimum.
    pub(super) points: Vec<Vec<f64>>,
    /// Parameters and ends of their ranges from which the free fit is repeated.
    pub(super) ends: Vec<(usize, f64)>,
}

impl Starts {
    /// For toys drawn at `theta`, given fits to the observed data.
    pub(super) fn new(
        model: &Model,
        theta: &[f64],
        mu: f64,
        kind: TestKind,
        search: Search,
        minima: &[&Fit],
    ) -> Result<Self, InferenceError> {
        let poi = model.needed_poi()?;
        let fixed = FitOptions::default().searching(search);
        let [mut low, mut high] = model.bounds()[poi];
        let mut free = fixed.clone();
        if kind == TestKind::QTilde {
            [low, high] = [low.max(0.0), high.max(0.0)];
            free = free.bounding(poi, [low, high]);
        }
        let range = [low, high];
        let mut starts = Self { free, fixed, range, points: Vec::new(), ends: Vec::new() };
        if search == Search::Descent {
            return Ok(starts);
        }
        let expected = Data::new(model, model.expected_data(theta)?)?;
        let mut fitter = Fitter::new(model, &expected)?;
        let nll = model.nll(theta, &expected)?;
        // The expected data have their minimum where they come from.
        let descent = starts.fixed.clone().from(theta).searching(Search::Descent);
        let mut best = fitter.fit(&descent)?;
        fitter.is_toy = true;
        let mut ends = Vec::new();
        let mut at_start = Vec::new();
        for parameter in loose(model, poi) {
            let [low, high] =
                if parameter == poi { [low, high] } else { model.bounds()[parameter] };
            for end in [low, high] {
                if end == theta[parameter] {
                    at_start.push((parameter, end));
                } else if !PARTS.iter().any(|(part, least)| {
                    let to = theta[parameter] + part * (end - theta[parameter]);
                    let rise = fitter.leads_back(&mut best, parameter, to, &starts.fixed);
                    rise.is_some_and(|rise| rise > *least)
                }) {
                    ends.push((parameter, end));
                }
            }
        }
        let mut fit_at = |parameter: usize, value: f64| {
            let options = descent.clone().fixing(parameter, value);
            let found = fitter.fit(&options).ok().filter(Fit::converged)?;
            if found.nll - nll > MOST_SEARCHED {
                return Some(found);
            }
            let options = starts.fixed.clone().fixing(parameter, value).from(&found.theta);
            fitter.fit(&options).ok().filter(Fit::converged)
        };
        let mut has_several = minima.iter().any(|fit| fit.may_have_others());
        has_several |= fit_at(poi, mu).is_some_and(|fit| fit.may_have_others());
        for (parameter, end) in ends {
            if let Some(fit) = fit_at(parameter, end) {
                has_several |= parameter == poi && fit.may_have_others();
                if fit.nll - nll < MOST_RISE {
                    starts.ends.push((parameter, end));
                }
            }
        }
        if has_several {
            starts.points.push(model.init().to_vec());
            starts.points.extend(minima.iter().map(|fit| fit.theta.clone()));
        }
        if has_several || !starts.ends.is_empty() {
            starts.ends.extend(at_start);
        }
        Ok(starts)
    }

    /// The fit that starts from the best one at an end of the range.
    pub(super) fn fit_from_end(
        &self,
        fitter: &mut Fitter<'_>,
        best: &mut Fit,
        (parameter, end): (usize, f64),
    ) -> Option<Fit> {
        if best.theta[parameter] == end
            || fitter.leads_back(best, parameter, end, &self.free).is_some()
        {
            return None;
        }
        let options = self.free.clone().fixing(parameter, end).from(&best.theta);
        let there = fitter.fit_toy(&options).ok().filter(Fit::converged)?;
        if there.nll > best.nll + MOST_ABOVE {
            return None;
        }
        fitter.fit_toy(&self.free.clone().from(&there.theta)).ok().filter(Fit::converged)
    }
}

/// The parameter of interest and others that no measurement constrains, unless there are many.
fn loose(model: &Model, poi: usize) -> Vec<usize> {
    let is_loose = |at: &usize| {
        *at != poi
            && !model.fixed()[*at]
            && matches!(model.numbers.constraints[*at], Constraint::Free)
    };
    let others: Vec<usize> = (0..model.parameter_count()).filter(is_loose).collect();
    let others = if others.len() > MOST_LOOSE { Vec::new() } else { others };
    [poi].into_iter().chain(others).collect()
}
