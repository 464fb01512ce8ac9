//! −log L as a function of parameters and inputs, with its slopes in both, for moving numbers.
//!
//! ν_b = Σ P·G_b·T_b over blocks: P the scalar factors, G the per-bin factors, T = ν⁰ + x·S + y·A.
//! Constraints depend on the inputs through σ (staterror) and τ (shapesys). Data depend on them through τ
//! again or, if they are expected data, through everything. Terms that depend only on data are left out by
//! default: they cancel in every difference of two fits.

mod adjoint;
mod forward;

use adjoint::Adjoint;
use forward::Forward;

use super::input::{Slot, Slots};
use super::number::Number;
use crate::model::{Constraint, Model};

/// −log L over parameters and inputs.
pub(super) struct Surface<'a, R> {
    pub(super) model: &'a Model,
    pub(super) slots: &'a Slots,
    nominal: Vec<R>,
    odd: Vec<R>,
    even: Vec<R>,
    uncertainty: Vec<R>,
    terms: Vec<Term<R>>,
    counts: Vec<R>,
    auxiliary: Vec<R>,
    /// The point that generated the expected data.
    expected: Option<Vec<R>>,
}

/// The constraint of a parameter.
#[derive(Clone, Copy)]
enum Term<R> {
    Free,
    Normal {
        auxiliary: usize,
        sigma: R,
    },
    /// `auxiliary_follows`: the observed count is the factor itself.
    Poisson {
        auxiliary: usize,
        factor: R,
        auxiliary_follows: bool,
    },
}

/// Slopes of −log L.
pub(super) struct Slopes<R> {
    pub(super) theta: Vec<R>,
    pub(super) inputs: Vec<R>,
    /// In the point that generated the expected data.
    pub(super) source: Vec<R>,
}

fn all<R: Number>(values: &[f64]) -> Vec<R> {
    values.iter().map(|value| R::constant(*value)).collect()
}

impl<'a, R: Number> Surface<'a, R> {
    /// The surface of the model's observed data. The model already has the inputs' values; `x` has their
    /// motion.
    pub(super) fn observed(model: &'a Model, slots: &'a Slots, x: &[R]) -> Self {
        let numbers = &model.numbers;
        let [odd, even] = numbers.templates(&model.layout);
        let mut surface = Self {
            model,
            slots,
            nominal: all(&numbers.nominal),
            odd: all(&odd),
            even: all(&even),
            uncertainty: all(&numbers.uncertainty),
            terms: Vec::new(),
            counts: all(model.observed.main()),
            auxiliary: all(model.observed.auxiliary()),
            expected: None,
        };
        surface.place(x);
        surface.terms = surface.constraints();
        surface.follow_factors();
        surface
    }

    /// Puts the inputs in their places.
    fn place(&mut self, x: &[R]) {
        // Only the motion is set: templates are stored as sums and differences.
        let moved = |at: usize| x[at] - R::constant(x[at].value());
        for (at, slot) in self.slots.slots.iter().enumerate() {
            match *slot {
                Slot::Parameter(_) => {}
                Slot::Nominal(index) => self.nominal[index] = x[at],
                Slot::High(index) => {
                    self.odd[index] += moved(at).scaled(0.5);
                    self.even[index] += moved(at).scaled(0.0625);
                }
                Slot::Low(index) => {
                    self.odd[index] += moved(at).scaled(-0.5);
                    self.even[index] += moved(at).scaled(0.0625);
                }
                Slot::Uncertainty(index) => self.uncertainty[index] = x[at],
                Slot::Count(index) => self.counts[index] = x[at],
            }
        }
        for &(at, template) in &self.slots.templates {
            self.even[template] += moved(at).scaled(-0.125);
        }
        for &(at, template) in &self.slots.riding {
            if let Some((index, half)) = side(template) {
                self.odd[index] += moved(at).scaled(half);
                self.even[index] += moved(at).scaled(0.0625);
            }
        }
    }

    fn constraints(&self) -> Vec<Term<R>> {
        let (layout, numbers) = (&*self.model.layout, &self.model.numbers);
        let mut terms: Vec<Term<R>> = numbers
            .constraints
            .iter()
            .map(|constraint| match *constraint {
                Constraint::Free => Term::Free,
                Constraint::Normal { auxiliary, sigma } => {
                    Term::Normal { auxiliary, sigma: R::constant(sigma) }
                }
                Constraint::Poisson { auxiliary, factor } => Term::Poisson {
                    auxiliary,
                    factor: R::constant(factor),
                    auxiliary_follows: false,
                },
            })
            .collect();
        for (index, bin) in layout.staterrors.iter().enumerate() {
            if let (Some([sum, squares]), Term::Normal { sigma, .. }) =
                (self.width(index), &mut terms[bin.parameter])
            {
                *sigma = squares.sqrt() / sum;
            }
        }
        for bin in &layout.shapesys {
            let (value, delta) = (self.nominal[bin.yield_index], self.uncertainty[bin.uncertainty]);
            let measured = value.value() > 0.0 && delta.value() > 0.0;
            if let Term::Poisson { factor, auxiliary_follows, .. } = &mut terms[bin.parameter] {
                if measured && !bin.factor_given {
                    *factor = (value / delta).square();
                }
                *auxiliary_follows = measured && !bin.auxiliary_given;
            }
        }
        terms
    }

    /// Σν⁰ and Σδ² of a staterror's bin, if its width follows from these.
    fn width(&self, index: usize) -> Option<[R; 2]> {
        let bin = &self.model.layout.staterrors[index];
        let carriers = &self.model.layout.carriers[bin.carriers.clone()];
        let (mut sum, mut squares) = (R::constant(0.0), R::constant(0.0));
        for carrier in carriers {
            sum += self.nominal[carrier.yield_index];
            squares += self.uncertainty[carrier.uncertainty].square();
        }
        let follows = !bin.width_given && sum.value() > 0.0 && squares.value() > 0.0;
        follows.then_some([sum, squares])
    }

    fn follow_factors(&mut self) {
        for bin in &self.model.layout.shapesys {
            if let Term::Poisson { auxiliary, auxiliary_follows: true, .. } =
                self.terms[bin.parameter]
            {
                let ratio = self.nominal[bin.yield_index] / self.uncertainty[bin.uncertainty];
                self.auxiliary[auxiliary] = ratio.square();
            }
        }
    }

    /// The same with the data expected at a point.
    pub(super) fn expecting(mut self, theta: Vec<R>) -> Self {
        self.counts = Forward::new(&self, &theta).rate;
        for (parameter, term) in self.terms.iter().enumerate() {
            match *term {
                Term::Free => {}
                Term::Normal { auxiliary, .. } => self.auxiliary[auxiliary] = theta[parameter],
                Term::Poisson { auxiliary, factor, .. } => {
                    self.auxiliary[auxiliary] = theta[parameter] * factor;
                }
            }
        }
        self.expected = Some(theta);
        self
    }

    /// The same with another number type.
    pub(super) fn map<S: Number>(&self, convert: impl Fn(R) -> S) -> Surface<'a, S> {
        let map = |values: &[R]| values.iter().map(|value| convert(*value)).collect::<Vec<S>>();
        let term = |term: &Term<R>| match *term {
            Term::Free => Term::Free,
            Term::Normal { auxiliary, sigma } => Term::Normal { auxiliary, sigma: convert(sigma) },
            Term::Poisson { auxiliary, factor, auxiliary_follows } => {
                Term::Poisson { auxiliary, factor: convert(factor), auxiliary_follows }
            }
        };
        Surface {
            model: self.model,
            slots: self.slots,
            nominal: map(&self.nominal),
            odd: map(&self.odd),
            even: map(&self.even),
            uncertainty: map(&self.uncertainty),
            terms: self.terms.iter().map(term).collect(),
            counts: map(&self.counts),
            auxiliary: map(&self.auxiliary),
            expected: self.expected.as_ref().map(|theta| map(theta)),
        }
    }

    pub(super) fn slopes(&self, theta: &[R]) -> Slopes<R> {
        self.slopes_with(theta, false)
    }

    /// Includes the terms that depend only on data.
    pub(super) fn slopes_with(&self, theta: &[R], constants: bool) -> Slopes<R> {
        let forward = Forward::new(self, theta);
        let one = R::constant(1.0);
        let pairs = || forward.rate.iter().zip(&self.counts);
        // If the expected count is zero, the data follow the rate, and the bin contributes nothing.
        let nothing = if self.expected.is_some() { R::constant(0.0) } else { one };
        let weights: Vec<R> = pairs()
            .map(|(rate, n)| match n.value() {
                0.0 if rate.value() == 0.0 => nothing,
                0.0 => one,
                _ => one - *n / *rate,
            })
            .collect();
        let mut adjoint = Adjoint::zero(self);
        adjoint.pull(self, theta, &forward, &weights, true);
        for (bin, (rate, n)) in pairs().enumerate() {
            if rate.value() > 0.0 {
                adjoint.counts[bin] = -rate.ln();
            }
            if constants {
                adjoint.counts[bin] += (*n + one).polygamma(0);
            }
        }
        self.constrain(theta, &mut adjoint, constants);
        let source = self.carry_data(&mut adjoint);
        self.settle(&mut adjoint);
        Slopes { inputs: self.pick(&adjoint), theta: adjoint.theta, source }
    }

    fn constrain(&self, theta: &[R], adjoint: &mut Adjoint<R>, constants: bool) {
        for (parameter, term) in self.terms.iter().enumerate() {
            let value = theta[parameter];
            match *term {
                Term::Free => {}
                Term::Normal { auxiliary, sigma } => {
                    let distance = (self.auxiliary[auxiliary] - value) / sigma;
                    let slope = distance / sigma;
                    adjoint.theta[parameter] += -slope;
                    adjoint.auxiliary[auxiliary] = slope;
                    adjoint.width[parameter] = (R::constant(1.0) - distance.square()) / sigma;
                }
                Term::Poisson { auxiliary, factor, .. } => {
                    let n = self.auxiliary[auxiliary];
                    adjoint.theta[parameter] += factor - n / value;
                    adjoint.width[parameter] = value - n / factor;
                    let mut slope = -(value * factor).ln();
                    if constants {
                        slope += (n + R::constant(1.0)).polygamma(0);
                    }
                    adjoint.auxiliary[auxiliary] = slope;
                }
            }
        }
    }

    /// Propagates the slopes in the data to the quantities that the data depend on.
    fn carry_data(&self, adjoint: &mut Adjoint<R>) -> Vec<R> {
        let Some(at) = &self.expected else {
            for (parameter, term) in self.terms.iter().enumerate() {
                if let Term::Poisson { auxiliary, auxiliary_follows: true, .. } = *term {
                    adjoint.following[parameter] += adjoint.auxiliary[auxiliary];
                }
            }
            return Vec::new();
        };
        let forward = Forward::new(self, at);
        let weights = std::mem::take(&mut adjoint.counts);
        let of_theta = std::mem::replace(&mut adjoint.theta, vec![R::constant(0.0); at.len()]);
        adjoint.pull(self, at, &forward, &weights, true);
        let mut source = std::mem::replace(&mut adjoint.theta, of_theta);
        for (parameter, term) in self.terms.iter().enumerate() {
            match *term {
                Term::Free => {}
                Term::Normal { auxiliary, .. } => {
                    source[parameter] += adjoint.auxiliary[auxiliary];
                }
                Term::Poisson { auxiliary, factor, .. } => {
                    source[parameter] += adjoint.auxiliary[auxiliary] * factor;
                    adjoint.width[parameter] += adjoint.auxiliary[auxiliary] * at[parameter];
                }
            }
        }
        source
    }

    /// Propagates widths and factors to yields and uncertainties.
    fn settle(&self, adjoint: &mut Adjoint<R>) {
        let layout = &*self.model.layout;
        for (index, bin) in layout.staterrors.iter().enumerate() {
            let (Some([sum, squares]), Term::Normal { sigma, .. }) =
                (self.width(index), self.terms[bin.parameter])
            else {
                continue;
            };
            let slope = adjoint.width[bin.parameter] * sigma;
            for carrier in &layout.carriers[bin.carriers.clone()] {
                adjoint.nominal[carrier.yield_index] += -slope / sum;
                let delta = self.uncertainty[carrier.uncertainty];
                adjoint.uncertainty[carrier.uncertainty] += slope * delta / squares;
            }
        }
        for bin in &layout.shapesys {
            let (value, delta) = (self.nominal[bin.yield_index], self.uncertainty[bin.uncertainty]);
            if !(value.value() > 0.0 && delta.value() > 0.0) {
                continue;
            }
            let mut slope = adjoint.following[bin.parameter];
            if !bin.factor_given {
                slope += adjoint.width[bin.parameter];
            }
            let tau = (value / delta).square().scaled(2.0) * slope;
            adjoint.nominal[bin.yield_index] += tau / value;
            adjoint.uncertainty[bin.uncertainty] += -tau / delta;
        }
    }

    fn pick(&self, adjoint: &Adjoint<R>) -> Vec<R> {
        let half = |index: usize| adjoint.odd[index].scaled(0.5);
        let even = |index: usize| adjoint.even[index].scaled(0.0625);
        let slope = |slot: &Slot| match *slot {
            Slot::Parameter(index) => adjoint.theta[index],
            Slot::Nominal(index) => adjoint.nominal[index],
            Slot::High(index) => even(index) + half(index),
            Slot::Low(index) => even(index) - half(index),
            Slot::Uncertainty(index) => adjoint.uncertainty[index],
            Slot::Count(index) if self.expected.is_none() => adjoint.counts[index],
            Slot::Count(_) => R::constant(0.0),
        };
        let mut slopes: Vec<R> = self.slots.slots.iter().map(slope).collect();
        for &(at, template) in &self.slots.templates {
            slopes[at] += adjoint.even[template].scaled(-0.125);
        }
        for &(at, template) in &self.slots.riding {
            if let Some((index, sign)) = side(template) {
                slopes[at] += even(index) + adjoint.odd[index].scaled(sign);
            }
        }
        slopes
    }
}

/// A template, and the effect of its change on half the difference of the two.
fn side(slot: Slot) -> Option<(usize, f64)> {
    match slot {
        Slot::High(index) => Some((index, 0.5)),
        Slot::Low(index) => Some((index, -0.5)),
        Slot::Parameter(_) | Slot::Nominal(_) | Slot::Uncertainty(_) | Slot::Count(_) => None,
    }
}
