//! −log L along the parameter of interest: all fits of one data set so far.

use super::super::InferenceError;
use super::super::notes::{Fitted, Note, of_fit};
use super::super::statistic::{Profile, TestKind};
use crate::fit::{DIFFERENT, Fit};

/// The limit that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Band(usize),
    Observed,
}

impl Target {
    /// The data for its CLs.
    pub(super) fn data(self) -> Fitted {
        match self {
            Self::Band(_) => Fitted::Expected,
            Self::Observed => Fitted::Observed,
        }
    }
}

/// −log L along the parameter of interest.
pub(super) struct Curve<'a> {
    pub(super) profile: Profile<'a>,
    pub(super) data: Fitted,
    /// −log L at the best fit, and the parameter of interest there.
    pub(super) least: f64,
    pub(super) best: f64,
    /// Where [`Model::hypotest`] starts.
    pub(super) anchor: Vec<f64>,
    pub(super) points: Vec<Point>,
}

#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) mu: f64,
    pub(super) fit: Fit,
}

/// Why a value could not be tested.
pub(super) struct Failed {
    pub(super) mu: f64,
    pub(super) data: Fitted,
    pub(super) why: InferenceError,
}

impl Curve<'_> {
    /// Keeps the lower of a fit and the known one; returns whether the known one changed.
    pub(super) fn add(&mut self, mu: f64, fit: Fit) -> bool {
        let Some(point) = self.points.iter_mut().find(|point| point.mu == mu) else {
            self.points.push(Point { mu, fit });
            self.points.sort_by(|a, b| a.mu.total_cmp(&b.mu));
            return false;
        };
        let known = point.fit.nll;
        point.fit = point.fit.clone().or_lower(fit);
        (point.fit.nll - known).abs() > DIFFERENT
    }

    pub(super) fn known(&self, mu: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.mu == mu)
    }

    /// Fits at this value, starting from the nearest fit.
    pub(super) fn fit(&mut self, mu: f64) -> Result<(), Failed> {
        if self.known(mu).is_some() {
            return Ok(());
        }
        let distance = |point: &&Point| (point.mu - mu).abs();
        let nearest = self.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let start = nearest.map_or(&self.anchor, |point| &point.fit.theta).clone();
        self.profile.latest = Some(start);
        let fit = self.profile.at(mu).map_err(|why| Failed { mu, data: self.data, why })?;
        self.add(mu, fit);
        self.lower_best()
    }

    /// Fits at this value from the starts of a test and, if there may be several minima, from the nearest
    /// fit; returns whether the known fit changed.
    pub(super) fn restart(&mut self, mu: f64) -> Result<bool, Failed> {
        let anchor = self.anchor.clone();
        let fit = match self.data {
            Fitted::Observed => {
                self.profile.latest = Some(anchor);
                self.profile.lowest_at(mu)
            }
            Fitted::Expected => self.profile.lowest_from(mu, &anchor, &anchor),
        };
        let fit = fit.map_err(|why| Failed { mu, data: self.data, why })?;
        if fit.may_have_others() || self.points.iter().any(|point| point.fit.may_have_others()) {
            self.fit(mu)?;
        }
        let changed = self.add(mu, fit);
        self.lower_best()?;
        Ok(changed)
    }

    /// A fit with a fixed value cannot be below the best one.
    pub(super) fn lower_best(&mut self) -> Result<(), Failed> {
        let lowest = self.points.iter().min_by(|a, b| a.fit.nll.total_cmp(&b.fit.nll));
        let Some(lowest) = lowest.filter(|point| point.fit.nll < self.least - DIFFERENT) else {
            return Ok(());
        };
        let (mu, start) = (lowest.mu, lowest.fit.theta.clone());
        let fit = self.profile.free_from(&start);
        let fit = fit.map_err(|why| Failed { mu, data: self.data, why })?;
        (self.least, self.best) = (fit.nll, fit.theta[self.profile.poi]);
        Ok(())
    }

    /// The statistic at a value that was fitted, and its slope.
    pub(super) fn q(&self, kind: TestKind, mu: f64) -> [f64; 2] {
        let Some(point) = self.known(mu) else { return [f64::NAN; 2] };
        let t = 2.0 * (point.fit.nll - self.least);
        if kind.one_sided(1.0, mu, self.best) == 0.0 || t <= 0.0 {
            return [0.0; 2];
        }
        [t, 2.0 * point.fit.gradient[self.profile.poi]]
    }

    pub(super) fn notes(&self, mu: f64, notes: &mut Vec<Note>) {
        let Some(point) = self.known(mu) else { return };
        notes.extend(of_fit(&point.fit, self.data, Some(mu), self.profile.poi));
    }
}
