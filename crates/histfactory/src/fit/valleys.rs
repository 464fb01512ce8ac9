//! Finds lower minima on the other side of zero, where interpolations are smooth.
//!
//! Templates that both lie below the nominal one lower the rate of a bin on both sides of α = 0. If too many
//! events are expected in a bin, for example with a large signal that was not seen, −log L falls from α = 0
//! on both sides, and a fit follows one of them. With several such parameters there are minima for many
//! combinations of signs.
//!
//! One evaluation finds the relevant parameters. The gradient with the slopes that the interpolations have at
//! −α, at unchanged rates, splits the push on α into a part that is the same on both sides of zero and a part
//! that changes its sign there. Only the second part creates a second minimum. A parameter for which that
//! part is a large fraction of the constraint's pull is mirrored. If −log L rises little, the fit is repeated
//! from there, and the lowest minimum is the result.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::Fitter;
use super::newton::Step;
use super::options::{FitOptions, Search};
use super::pace::Pace;
use super::result::Fit;
use crate::model::Constraint;

/// Smaller pulls have no separate minimum on the other side.
const LEAST_PULL: f64 = 0.15;
/// The fraction of the constraint's pull that the symmetric push must have.
const SHARE: f64 = 0.25;
/// The largest rise of −log L from a minimum to its mirror image.
const MOST_RISE: f64 = 1.0;
/// The same for a global search.
const MOST_RISE_GLOBAL: f64 = 10.0;
/// The number of fits from mirror images of one minimum that may fail to find a lower one.
const MOST_FITS: usize = 12;
/// The number of mirror images at which −log L is evaluated.
const MOST_EVALUATED: usize = 64;
/// Steps that decide whether a mirror image has a separate minimum.
const TRIAL_STEPS: usize = 4;
/// The number of times that a lower minimum may be found.
const MOST_ROUNDS: usize = 40;

impl Fitter<'_> {
    /// The lowest minimum that the configured search finds from here.
    pub(super) fn search_minima(&mut self, found: Fit, options: &FitOptions) -> Fit {
        let mut best = found;
        match options.search {
            Search::Descent => return best,
            Search::Mirrored => {}
            Search::Global { starts, seed } => {
                let mut random = Pcg64::seed_from_u64(seed);
                for _ in 0..starts {
                    let start = self.random_start(&best, &mut random);
                    if let Some(other) = self.descend_from(&start, options) {
                        best = best.or_lower(other);
                    }
                }
            }
        }
        for _ in 0..MOST_ROUNDS {
            let before = best.nll;
            best = self.mirror(best, options);
            if !(best.nll < before) {
                best = self.reset(best, options);
            }
            if !(best.nll < before) {
                break;
            }
        }
        best.other_minima.sort_by(f64::total_cmp);
        best
    }

    pub(super) fn descend_from(&mut self, start: &[f64], options: &FitOptions) -> Option<Fit> {
        let options = options.clone().from(start);
        let state = self.begin(&options).ok()?;
        let pace = Pace::new(self.evaluator.model, true);
        let fit = self.descend(state, pace, None, &options);
        Some(fit).filter(Fit::converged)
    }

    /// A lower minimum from a mirror image of this one, or this one.
    fn mirror(&mut self, best: Fit, options: &FitOptions) -> Fit {
        let from = best.nll;
        let mut best = best;
        for parameter in self.two_sided(&mut best, options).into_iter().take(MOST_FITS) {
            let mut start = best.theta.clone();
            start[parameter] = -start[parameter];
            let Some(start) = self.stays(&mut best, start, parameter, options) else { continue };
            best.two_sided = true;
            if let Some(other) = self.descend_from(&start, options) {
                best = best.or_lower(other);
            }
            if best.nll < from {
                break;
            }
        }
        best
    }

    /// Follows a mirror image for a few steps; `None` if they lead back across zero. The steps use the factor
    /// of the minimum, so each costs little more than a gradient. From a minimum without a counterpart the
    /// first step leads back.
    fn stays(
        &mut self,
        best: &mut Fit,
        start: Vec<f64>,
        parameter: usize,
        options: &FitOptions,
    ) -> Option<Vec<f64>> {
        let options = options.clone().from(&start);
        let Ok(mut state) = self.begin(&options) else { return Some(start) };
        self.secants.clear();
        for _ in 0..TRIAL_STEPS {
            let kkt = state.activate();
            if !state.kinks.is_empty() || kkt < options.tolerance {
                break;
            }
            let Some(direction) = self.secant_direction(&state) else { break };
            let Step::Taken { .. } = self.search(&mut state, &direction, kkt) else { break };
            if state.theta[parameter] * start[parameter] <= 0.0 {
                best.evaluations += state.evaluations;
                return None;
            }
            self.learn(&state);
        }
        best.evaluations += state.evaluations;
        Some(state.theta)
    }

    /// Parameters that may have another minimum on the other side, the most promising first.
    fn two_sided(&mut self, best: &mut Fit, options: &FitOptions) -> Vec<usize> {
        best.evaluations += 1;
        let model = self.evaluator.model;
        let mirrored = self.evaluator.mirrored_gradient(&best.theta).to_vec();
        let wide = matches!(options.search, Search::Global { .. });
        let (share, most) = if wide { (0.0, MOST_RISE_GLOBAL) } else { (SHARE, MOST_RISE) };
        let mut pushed: Vec<(f64, usize)> = Vec::new();
        for (parameter, slope) in mirrored.into_iter().enumerate() {
            let value = best.theta[parameter];
            if !best.free[parameter] || value.abs() < LEAST_PULL {
                continue;
            }
            let Constraint::Normal { sigma, .. } = model.numbers.constraints[parameter] else {
                continue;
            };
            let push = 0.5 * (slope - best.gradient[parameter]) * value.signum();
            let pull = value.abs() / (sigma * sigma);
            if push > share * pull {
                pushed.push((push / pull, parameter));
            }
        }
        // Each one costs an evaluation, so only few are tried; their number grows with the model.
        pushed.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        pushed.truncate(MOST_EVALUATED);
        let mut promising: Vec<(f64, usize)> = Vec::new();
        for (_, parameter) in pushed {
            let value = best.theta[parameter];
            let mut point = best.theta.clone();
            point[parameter] =
                (-value).clamp(model.bounds()[parameter][0], model.bounds()[parameter][1]);
            best.evaluations += 1;
            let rise = self.evaluator.raw_nll(&point) - best.nll;
            if rise < most {
                promising.push((rise, parameter));
            }
        }
        promising.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        promising.into_iter().map(|(_, parameter)| parameter).collect()
    }

    /// Parameters drawn from their constraints, twice as wide every other time.
    fn random_start(&self, fit: &Fit, random: &mut Pcg64) -> Vec<f64> {
        let model = self.evaluator.model;
        let scale = if random.random::<bool>() { 1.0 } else { 2.0 };
        let mut normal = || -> f64 {
            let (radius, angle): (f64, f64) = (random.random(), random.random());
            (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        };
        let drawn = model.parameters().enumerate().map(|(index, parameter)| {
            let width = match parameter.constraint {
                Constraint::Free => 0.5,
                Constraint::Normal { sigma, .. } => scale * sigma,
                Constraint::Poisson { factor, .. } => scale / factor.sqrt(),
            };
            let drawn = parameter.init + width * normal();
            let [low, high] = parameter.bounds;
            if fit.free[index] { drawn.clamp(low, high) } else { fit.theta[index] }
        });
        drawn.collect()
    }
}
