//! The upper limit on the parameter of interest, and its derivatives.
//!
//! The limit μ solves C(μ, x) = ln CLs = ln level, so dμ = −C_x dx / C_μ. On expected background the median
//! limit has √q(μ) = Φ⁻¹(1 − level/2). On observed data C depends on q and on q_A of the background fitted to
//! them. Each is a difference of two fits, to whose own motion it is stationary.

use super::follow::{Level, Point};
use super::input::Slots;
use super::number::{Along, Number};
use super::stage::Stage;
use crate::fit::Fit;
use crate::inference::{Dataset, InferenceError};
use crate::model::Model;
use crate::special::{normal_quantile, normal_tail};

const MOST_STEPS: usize = 80;
const HIGHEST: f64 = 1e9;

pub(super) struct Limit<'a> {
    /// The data that CLs depends on: those of q_A, and those of q if data were observed.
    asimov: Stage<'a>,
    observed: Option<Stage<'a>>,
    points: Vec<Point>,
    q: Vec<f64>,
    pub(super) mu: f64,
}

/// A tested value.
struct Trial {
    mu: f64,
    fits: Vec<Fit>,
    q: Vec<f64>,
    /// A function that grows with μ and is zero at the limit.
    excess: f64,
    slope: f64,
}

impl<'a> Limit<'a> {
    pub(super) fn new(
        model: &'a Model,
        dataset: Dataset,
        level: f64,
    ) -> Result<Self, InferenceError> {
        let out_of_range =
            |what, value, low, high| Err(InferenceError::OutOfRange { what, value, low, high });
        if !(level > 0.0 && level < 1.0) {
            return out_of_range("the level", level, 0.0, 1.0);
        }
        let (asimov, observed) = match dataset {
            Dataset::Observed => {
                let background = Dataset::ProfiledAsimov { mu: 0.0 };
                let observed = Stage::new(model, Dataset::Observed, true)?;
                (Stage::new(model, background, true)?, Some(observed))
            }
            Dataset::Asimov { mu } | Dataset::ProfiledAsimov { mu } if mu != 0.0 => {
                let what = "the signal in the data of an expected limit";
                return out_of_range(what, mu, 0.0, 0.0);
            }
            Dataset::Asimov { .. } | Dataset::ProfiledAsimov { .. } => {
                (Stage::new(model, dataset, true)?, None)
            }
        };
        let mut limit = Self { asimov, observed, points: Vec::new(), q: Vec::new(), mu: f64::NAN };
        let found = limit.search(level)?;
        let stages = limit.stages().map(|stage| stage.data.clone()).collect::<Vec<_>>();
        limit.points =
            found.fits.into_iter().zip(&stages).map(|(fit, data)| Point::new(fit, data)).collect();
        (limit.mu, limit.q) = (found.mu, found.q);
        Ok(limit)
    }

    fn stages(&self) -> impl Iterator<Item = &Stage<'a>> {
        [&self.asimov].into_iter().chain(&self.observed)
    }

    fn attempt(
        &mut self,
        mu: f64,
        level: f64,
        before: Option<&Trial>,
    ) -> Result<Trial, InferenceError> {
        let mut fits = Vec::new();
        let mut q = Vec::new();
        let mut slopes = Vec::new();
        let stages = [&mut self.asimov].into_iter().chain(&mut self.observed);
        for (index, stage) in stages.enumerate() {
            let start = before.map(|trial| trial.fits[index].theta.as_slice());
            let fit = stage.at(mu, start)?;
            let above = stage.best()[stage.poi] > mu;
            q.push(if above { 0.0 } else { stage.t(&fit) });
            slopes.push(if above { 0.0 } else { 2.0 * fit.gradient[stage.poi] });
            fits.push(fit);
        }
        let (excess, slope) = match *q.as_slice() {
            [expected] => {
                let root = expected.sqrt();
                (root - normal_quantile(0.5 * level), slopes[0] / (2.0 * root))
            }
            [asimov, observed] => {
                let [of_asimov, of_observed] = exclusion(asimov, observed.max(1e-300));
                let excess = level.ln() - ln_cls(asimov, observed);
                (excess, -(of_asimov * slopes[0] + of_observed * slopes[1]))
            }
            _ => (f64::NAN, f64::NAN),
        };
        Ok(Trial { mu, fits, q, excess, slope })
    }

    /// Newton steps inside a shrinking bracket.
    fn search(&mut self, level: f64) -> Result<Trial, InferenceError> {
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut mu = self.first_guess(level);
        let mut before: Option<Trial> = None;
        for _ in 0..MOST_STEPS {
            let trial = self.attempt(mu, level, before.as_ref())?;
            if trial.excess < 0.0 {
                low = mu;
            } else {
                high = mu;
            }
            let step = -trial.excess / trial.slope;
            let closed = high.is_finite() && high - low <= 4.0 * f64::EPSILON * high;
            if closed || step.abs() <= 4.0 * f64::EPSILON * mu {
                return Ok(trial);
            }
            let next = mu + step;
            let close = step.abs() <= 1e-11 * mu;
            mu = match (next > low && next < high, high.is_finite()) {
                (true, _) => next.min(4.0 * mu),
                // The bracket has closed up to rounding.
                (false, _) if close => return Ok(trial),
                (false, true) => f64::midpoint(low, high),
                (false, false) => 2.0 * mu,
            };
            if mu > HIGHEST {
                break;
            }
            before = Some(trial);
        }
        Err(InferenceError::NoLimit { highest: HIGHEST, level })
    }

    /// The first estimate, from the curvature at the background.
    fn first_guess(&self, level: f64) -> f64 {
        let (model, poi) = (self.asimov.model, self.asimov.poi);
        let point = Point::expected(model, self.asimov.best().to_vec(), &self.asimov.data);
        let mut unit = vec![0.0; model.parameter_count()];
        unit[poi] = 1.0;
        let square = point.solve(model, &unit).map_or(0.0, |solution| solution[poi]);
        let guess = normal_quantile(0.5 * level) * square.max(0.0).sqrt();
        let above = self.stages().map(|stage| stage.best()[poi]).fold(0.0, f64::max);
        if guess > 0.0 && guess.is_finite() { above + guess } else { above + 1.0 }
    }

    fn slopes<R: Level>(&self, slots: &'a Slots, x: &[R], mu: R) -> Result<Vec<R>, InferenceError> {
        let mut tests = Vec::new();
        for (stage, point) in self.stages().zip(&self.points) {
            let scene = stage.scene(slots, x)?;
            tests.push(stage.test(&scene, point, mu)?);
        }
        let shares = if tests.len() == 1 {
            vec![R::constant(1.0)]
        } else {
            let moved: Vec<R> = x.iter().copied().chain([mu]).collect();
            let value = |index: usize| {
                let test = &tests[index];
                let slopes: Vec<R> = test.inputs.iter().copied().chain([test.in_mu]).collect();
                R::combined(self.q[index], &slopes, &moved)
            };
            exclusion(value(0), value(1)).to_vec()
        };
        let of_mu = tests
            .iter()
            .zip(&shares)
            .fold(R::constant(0.0), |sum, (test, share)| sum + *share * test.in_mu);
        let slope = |index: usize| {
            let of_input = tests
                .iter()
                .zip(&shares)
                .fold(R::constant(0.0), |sum, (test, share)| sum + *share * test.inputs[index]);
            -of_input / of_mu
        };
        Ok((0..x.len()).map(slope).collect())
    }

    pub(super) fn gradient(
        &self,
        slots: &'a Slots,
        x: &[f64],
    ) -> Result<(f64, Vec<f64>), InferenceError> {
        Ok((self.mu, self.slopes(slots, x, self.mu)?))
    }

    pub(super) fn gradient_along(
        &self,
        slots: &'a Slots,
        x: &[Along<f64>],
    ) -> Result<(Along<f64>, Vec<Along<f64>>), InferenceError> {
        let values: Vec<f64> = x.iter().map(|x| x.at).collect();
        let first: Vec<Along<f64>> =
            self.slopes(slots, &values, self.mu)?.into_iter().map(Along::still).collect();
        let mu = Along::combined(self.mu, &first, x);
        Ok((mu, self.slopes(slots, x, mu)?))
    }
}

/// Derivatives of ln CLs in q_A and in q.
fn exclusion<R: Number>(asimov: R, observed: R) -> [R; 2] {
    let (root, asimov_root) = (observed.sqrt(), asimov.sqrt());
    let half = R::constant(0.5);
    if root.value() <= asimov_root.value() {
        // T = √q − √q_A.
        let of_other = (root - asimov_root).hazard();
        return [-of_other * half / asimov_root, (of_other - root.hazard()) * half / root];
    }
    // T = (q − q_A)/2√q_A.
    let place = (observed - asimov) * half / asimov_root;
    let tested = (place + asimov_root).hazard();
    let of_place = place.hazard() - tested;
    let place_slope = -(observed / asimov + R::constant(1.0)) * half;
    let of_root = of_place * place_slope - tested;
    [of_root * half / asimov_root, of_place * half / asimov_root]
}

fn ln_cls(asimov: f64, observed: f64) -> f64 {
    let (root, asimov_root) = (observed.sqrt(), asimov.sqrt());
    let place = if root <= asimov_root || asimov == 0.0 {
        root - asimov_root
    } else {
        (observed - asimov) / (2.0 * asimov_root)
    };
    normal_tail(place + asimov_root).max(1e-300).ln() - normal_tail(place).max(1e-300).ln()
}
