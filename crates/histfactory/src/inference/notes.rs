//! Circumstances that affect a result but do not show in its number.

use std::fmt;

use super::InferenceError;
use crate::fit::{DIFFERENT, Fit, Side};
use crate::model::Model;

/// The fitted data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fitted {
    /// The given data.
    Observed,
    /// The expected data of the alternative hypothesis.
    Expected,
}

/// A circumstance that a reader of the result should know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// −log L has several minima; the result uses the lowest one that was found.
    SeveralMinima {
        data: Fitted,
        /// The tested value of the parameter of interest, if it was fixed.
        mu: Option<f64>,
        /// −log L of the lowest minimum and of the others, in ascending order.
        nll: Vec<f64>,
    },
    /// The best fit has the parameter of interest at its upper bound: a larger signal would fit better.
    AtUpperBound { bound: f64 },
    /// The bound was raised until the best fit lay inside it.
    BoundExtended { from: f64, to: f64 },
    /// Bins without a count whose rate is zero at the minimum, counted over all channels.
    AtBorder { data: Fitted, mu: Option<f64>, bins: Vec<usize> },
    /// Without the signal these bins would have a negative rate at the best fit.
    NegativeBackground { bins: Vec<usize> },
    /// Neither the data nor the constraints determine a combination of parameters: how far each moves
    /// along it, the largest by one.
    FlatDirection { moves: Vec<(String, f64)> },
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Observed => "the given data",
            Self::Expected => "the expected data",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |mu: &Option<f64>| match mu {
            Some(mu) => format!(" at a signal strength of {mu}"),
            None => String::new(),
        };
        match self {
            Self::SeveralMinima { data, mu, nll } => {
                let above: Vec<String> =
                    nll[1..].iter().map(|other| format!("{:.2e}", other - nll[0])).collect();
                let at = at(mu);
                write!(
                    f,
                    "−log L of {data} has several minima{at}: {} and {} above it",
                    nll[0],
                    above.join(", ")
                )
            }
            Self::AtUpperBound { bound } => {
                write!(
                    f,
                    "the best fit is at the upper bound of the parameter of interest, {bound}"
                )
            }
            Self::BoundExtended { from, to } => {
                write!(
                    f,
                    "the upper bound of the parameter of interest was raised from {from} to {to}"
                )
            }
            Self::AtBorder { data, mu, bins } => {
                write!(
                    f,
                    "the fit to {data}{} has a rate of zero in the empty bins {bins:?}",
                    at(mu)
                )
            }
            Self::NegativeBackground { bins } => {
                write!(f, "the background is negative in the bins {bins:?} at the best fit")
            }
            Self::FlatDirection { moves } => {
                let moves: Vec<String> =
                    moves.iter().map(|(name, share)| format!("{share:+.3} {name}")).collect();
                write!(f, "the data do not determine the combination {}", moves.join(" "))
            }
        }
    }
}

/// Notes about a fit; `poi` is the parameter of interest, if it was free.
pub(crate) fn of_fit(fit: &Fit, data: Fitted, mu: Option<f64>, poi: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    let higher = fit.other_minima.iter().copied().filter(|other| *other > fit.nll + DIFFERENT);
    let nll: Vec<f64> = [fit.nll].into_iter().chain(higher).collect();
    if nll.len() > 1 {
        notes.push(Note::SeveralMinima { data, mu, nll });
    }
    if mu.is_none() && fit.at_bound.contains(&(poi, Side::Upper)) {
        notes.push(Note::AtUpperBound { bound: fit.theta[poi] });
    }
    if !fit.at_border.is_empty() {
        notes.push(Note::AtBorder { data, mu, bins: fit.at_border.clone() });
    }
    notes
}

/// Bins whose rate would be negative without the signal.
pub(crate) fn negative_background(
    model: &Model,
    free: &Fit,
    poi: usize,
) -> Result<Option<Note>, InferenceError> {
    let mut background = free.theta.clone();
    background[poi] = 0.0;
    let rates = model.expected_main(&background)?;
    let bins: Vec<usize> = (0..rates.len()).filter(|bin| rates[*bin] < 0.0).collect();
    Ok((!bins.is_empty()).then_some(Note::NegativeBackground { bins }))
}

impl Model {
    /// Circumstances of a fit that its reader should know: other minima, the parameter of interest at its
    /// upper bound, empty bins at a rate of zero, a negative background, an undetermined combination of
    /// parameters.
    pub fn notes_of_fit(&self, fit: &Fit) -> Result<Vec<Note>, InferenceError> {
        let free_poi = self.poi().filter(|poi| fit.free[*poi]);
        let fixed = self.poi().filter(|poi| !fit.free[*poi]).map(|poi| fit.theta[poi]);
        let mut notes = of_fit(fit, Fitted::Observed, fixed, free_poi.unwrap_or(usize::MAX));
        if let Some(poi) = self.poi() {
            notes.extend(negative_background(self, fit, poi)?);
        }
        if let Some(flat) = &fit.flat {
            let name =
                |(index, share): &(usize, f64)| (self.parameter_names()[*index].clone(), *share);
            notes.push(Note::FlatDirection { moves: flat.parameters.iter().map(name).collect() });
        }
        Ok(notes)
    }
}
