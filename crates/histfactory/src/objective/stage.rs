//! The data of an objective, and the fits to them.

use super::follow::{Level, Point};
use super::input::Slots;
use super::number::Along;
use super::surface::{Slopes, Surface};
use crate::fit::{DIFFERENT, Fit};
use crate::inference::{Dataset, InferenceError, Profile};
use crate::model::{Data, EvaluationError, Model};

/// A model with its data.
pub(super) struct Stage<'a> {
    pub(super) model: &'a Model,
    pub(super) poi: usize,
    pub(super) data: Data,
    pub(super) ground: Ground,
    /// The lowest −log L.
    least: f64,
    /// Whether the best fit only considers signals of at least zero.
    not_negative: bool,
}

/// The origin of the data.
pub(super) enum Ground {
    /// Measured, with the best fit to them.
    Observed { free: Point },
    /// Expected at a fixed point.
    Asimov { theta: Vec<f64> },
    /// Expected at a fit to the observed data.
    Profiled { at: Point },
}

/// The slopes of 2[NLL(μ) − NLL(best)] in the inputs and in μ.
pub(super) struct TestSlopes<R> {
    pub(super) inputs: Vec<R>,
    pub(super) in_mu: R,
}

/// The likelihood of a stage, and the points that follow the inputs.
pub(super) struct Scene<'a, R> {
    pub(super) surface: Surface<'a, R>,
    pub(super) best: Vec<R>,
    /// The surface of the observed data, if the expected data follow from them.
    pub(super) observed: Option<Surface<'a, R>>,
}

fn profile<'a>(
    model: &'a Model,
    data: &'a Data,
    not_negative: bool,
) -> Result<Profile<'a>, InferenceError> {
    let profile = Profile::new(model, data)?;
    Ok(if not_negative { profile.not_negative() } else { profile })
}

impl<'a> Stage<'a> {
    /// `not_negative`: the best fit only considers signals of at least zero.
    pub(super) fn new(
        model: &'a Model,
        dataset: Dataset,
        not_negative: bool,
    ) -> Result<Self, InferenceError> {
        let poi = model.needed_poi()?;
        match dataset {
            Dataset::Observed => {
                let data = model.observed().clone();
                let free = profile(model, &data, not_negative)?.free()?;
                let least = free.nll;
                let ground = Ground::Observed { free: Point::new(free, &data) };
                Ok(Self { model, poi, data, ground, least, not_negative })
            }
            Dataset::Asimov { mu } => {
                let mut theta = model.init().to_vec();
                theta[poi] = mu;
                Self::expecting(model, poi, &theta.clone(), Ground::Asimov { theta })
            }
            Dataset::ProfiledAsimov { mu } => {
                let observed = model.observed();
                let at = profile(model, observed, false)?.lowest_at(mu)?;
                let at = Point::new(at, observed);
                Self::expecting(model, poi, &at.theta.clone(), Ground::Profiled { at })
            }
        }
    }

    fn expecting(
        model: &'a Model,
        poi: usize,
        theta: &[f64],
        ground: Ground,
    ) -> Result<Self, InferenceError> {
        let data = model.asimov(theta)?;
        let least = model.nll(theta, &data)?;
        if !least.is_finite() {
            let what = "the likelihood of expected data";
            return Err(EvaluationError::NotFinite { what, index: 0, value: least }.into());
        }
        Ok(Self { model, poi, data, ground, least, not_negative: false })
    }

    /// The parameters with the lowest −log L.
    pub(super) fn best(&self) -> &[f64] {
        match &self.ground {
            Ground::Observed { free } => &free.theta,
            Ground::Asimov { theta } => theta,
            Ground::Profiled { at } => &at.theta,
        }
    }

    /// The lowest fit that a test with this value of the parameter of interest finds. If it is below the best
    /// fit to observed data, the best fit is repeated.
    pub(super) fn at(&mut self, mu: f64, start: Option<&[f64]>) -> Result<Fit, InferenceError> {
        let mut profile = Profile::new(self.model, &self.data)?;
        let best = self.best();
        let fit = match (&self.ground, start) {
            (Ground::Observed { .. }, None) => profile.lowest_between(mu, best, best)?,
            (Ground::Observed { .. }, Some(start)) => profile.lowest_from(mu, start, best)?,
            (Ground::Asimov { .. } | Ground::Profiled { .. }, start) => {
                profile.lowest_from(mu, start.unwrap_or(best), best)?
            }
        };
        self.lower(&fit)?;
        Ok(fit)
    }

    fn lower(&mut self, fit: &Fit) -> Result<(), InferenceError> {
        let is_lower = fit.nll < self.least - DIFFERENT;
        if let Ground::Observed { free } = &mut self.ground
            && is_lower
        {
            let mut profile = profile(self.model, &self.data, self.not_negative)?;
            let lower = profile.free_from(&fit.theta)?;
            self.least = lower.nll;
            *free = Point::new(lower, &self.data);
        }
        Ok(())
    }

    /// 2[NLL(μ) − NLL(best)].
    pub(super) fn t(&self, fit: &Fit) -> f64 {
        (2.0 * (fit.nll - self.least)).max(0.0)
    }

    pub(super) fn scene<R: Level>(
        &self,
        slots: &'a Slots,
        x: &[R],
    ) -> Result<Scene<'a, R>, InferenceError> {
        let surface = Surface::observed(self.model, slots, x);
        Ok(match &self.ground {
            Ground::Observed { free } => {
                let best = R::follow(&surface, free, None)?;
                Scene { surface, best, observed: None }
            }
            Ground::Asimov { theta } => {
                let best: Vec<R> = theta.iter().map(|value| R::constant(*value)).collect();
                Scene { surface: surface.expecting(best.clone()), best, observed: None }
            }
            Ground::Profiled { at } => {
                let best = R::follow(&surface, at, None)?;
                let observed = surface.map(|value| value);
                let surface = surface.expecting(best.clone());
                Scene { surface, best, observed: Some(observed) }
            }
        })
    }

    /// Slopes of the test statistic of a value that moves.
    pub(super) fn test<R: Level>(
        &self,
        scene: &Scene<'_, R>,
        conditional: &Point,
        mu: R,
    ) -> Result<TestSlopes<R>, InferenceError> {
        let theta = R::follow(&scene.surface, conditional, Some((self.poi, mu)))?;
        let tested = scene.surface.slopes(&theta);
        let best = scene.surface.slopes(&scene.best);
        let twice = |one: &[R], two: &[R]| -> Vec<R> {
            one.iter().zip(two).map(|(one, two)| (*one - *two).scaled(2.0)).collect()
        };
        let mut inputs = twice(&tested.inputs, &best.inputs);
        let pull = twice(&tested.source, &best.source);
        self.add_pull(scene, &pull, &mut inputs)?;
        Ok(TestSlopes { inputs, in_mu: tested.theta[self.poi].scaled(2.0) })
    }

    /// Adds the effect of slopes in the point of the expected data, if that point was fitted.
    pub(super) fn add_pull<R: Level>(
        &self,
        scene: &Scene<'_, R>,
        pull: &[R],
        inputs: &mut [R],
    ) -> Result<(), InferenceError> {
        let (Ground::Profiled { at }, Some(observed)) = (&self.ground, &scene.observed) else {
            return Ok(());
        };
        let adjoint = R::solve(observed, at, &scene.best, pull)?;
        for (slope, along) in inputs.iter_mut().zip(along(observed, &scene.best, &adjoint).inputs) {
            *slope = *slope - along;
        }
        Ok(())
    }
}

/// The rates of all slopes along a direction of the parameters.
pub(super) fn along<R: Level>(surface: &Surface<'_, R>, theta: &[R], direction: &[R]) -> Slopes<R> {
    let slopes = surface.map(Along::still).slopes(&Along::zip(theta, direction));
    let rates = |slopes: Vec<Along<R>>| slopes.into_iter().map(|slope| slope.rate).collect();
    Slopes {
        theta: rates(slopes.theta),
        inputs: rates(slopes.inputs),
        source: rates(slopes.source),
    }
}

/// Applied twice: second derivatives of all slopes along a direction.
pub(super) fn along_twice<R: Level>(
    surface: &Surface<'_, R>,
    theta: &[R],
    direction: &[R],
) -> Slopes<R> {
    let pairs = theta.iter().zip(direction);
    let moving: Vec<Along<Along<R>>> = pairs
        .map(|(&at, &rate)| Along { at: Along { at, rate }, rate: Along::still(rate) })
        .collect();
    let slopes = surface.map(|value| Along::still(Along::still(value))).slopes(&moving);
    let rates =
        |slopes: Vec<Along<Along<R>>>| slopes.into_iter().map(|slope| slope.rate.rate).collect();
    Slopes {
        theta: rates(slopes.theta),
        inputs: rates(slopes.inputs),
        source: rates(slopes.source),
    }
}
