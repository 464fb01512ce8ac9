//! Which matrix a step is taken with: a new one, or the one that is held.
//!
//! A step with a held factor and the secants of the steps since costs little more than a gradient. It
//! pays as long as what is left to gain needs fewer such steps than a new matrix is worth.

use crate::kernel::{Information, is_narrow};
use crate::model::Model;

/// Steps with the expected information before the exact Hessian takes over.
const FISHER_STEPS: usize = 2;
/// A gradient from which on the expected information is not worth its while.
const NEAR: f64 = 1e-3;
/// Steps with a held expected information in all.
const MOST_ROUGH: f64 = 30.0;
/// Parameters of the dense part below which the exact Hessian is the cheaper way.
const FEW: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matrix {
    New(Information),
    Held,
}

/// Where a fit takes its last new matrix, an exact Hessian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExactHessian {
    /// Nowhere, unless steps with the expected information go badly.
    Unneeded,
    /// Close to the minimum, which is then reached with its factor.
    NearMinimum,
    /// At the minimum, for a covariance.
    AtMinimum,
}

#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// New matrices of the expected information still to come.
    fisher: usize,
    /// Whether the expected information is solved in bins, many parameters at little cost …
    rough: bool,
    /// … and where a fit needs an exact Hessian.
    exact: ExactHessian,
    /// How many steps a new exact matrix is worth.
    worth: f64,
    /// What is held, unless the latest step did not go well.
    held: Option<Information>,
    /// The gradient where the held matrix was made, after its own step, and steps since.
    at: f64,
    first: f64,
    steps: usize,
}

impl Pace {
    pub(super) fn new(model: &Model, started: bool) -> Self {
        let globals = model.layout.elimination.global.len();
        Self {
            fisher: if started { 1 } else { FISHER_STEPS },
            rough: globals >= FEW && is_narrow(&model.layout, &model.numbers),
            exact: ExactHessian::NearMinimum,
            worth: if globals >= 2 * FEW { 6.0 } else { 3.0 },
            held: None,
            at: f64::INFINITY,
            first: f64::INFINITY,
            steps: 0,
        }
    }

    /// For a fit with a covariance: the exact Hessian at its end serves both.
    pub(super) fn with_covariance(self) -> Self {
        Self { exact: ExactHessian::AtMinimum, ..self }
    }

    /// Whether a fit that is within its tolerance takes an exact Hessian, once.
    pub(super) fn ends_exactly(&mut self) -> bool {
        let ends = self.exact == ExactHessian::AtMinimum && self.held == Some(Information::Fisher);
        if ends {
            self.held = None;
        }
        ends
    }

    /// For one fit of very many, perhaps after a first step.
    pub(super) fn of_toy(model: &Model, begun: bool) -> Self {
        let ordinary = Self::new(model, true);
        let fisher = usize::from(!begun) + usize::from(ordinary.rough);
        Self { exact: ExactHessian::Unneeded, fisher, ..ordinary }
    }

    /// Whether a fit that is within its tolerance after steps with a held matrix takes one more.
    pub(super) fn polishes(&mut self) -> bool {
        let polishes =
            self.held.is_some() && self.steps > 0 && self.exact != ExactHessian::Unneeded;
        if polishes {
            self.held = None;
        }
        polishes
    }

    pub(super) fn next(&mut self, kkt: f64, tolerance: f64) -> Matrix {
        if self.held.is_some() {
            if self.steps == 0 {
                self.first = kkt;
            }
            if self.fisher == 0 && self.holds(kkt, tolerance) {
                self.steps += 1;
                return Matrix::Held;
            }
        }
        (self.at, self.steps) = (kkt, 0);
        let information = if self.fisher > 0 && kkt > NEAR {
            self.fisher -= 1;
            Information::Fisher
        } else {
            self.fisher = 0;
            Information::Exact
        };
        self.held = Some(information);
        Matrix::New(information)
    }

    /// The latest step did not go well: the next one needs a new matrix.
    pub(super) fn stumble(&mut self) {
        self.held = None;
    }

    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    fn holds(&self, kkt: f64, tolerance: f64) -> bool {
        let steps = self.steps as f64;
        let gained = |rate: f64| (tolerance / kkt).ln() / rate.ln();
        match self.held {
            None => false,
            Some(Information::Fisher) if !self.rough => false,
            Some(Information::Fisher)
                if self.exact == ExactHessian::NearMinimum && kkt < 10.0 * NEAR =>
            {
                false
            }
            // The gradient's largest component goes up and down a little.
            Some(Information::Fisher) if self.steps < 4 => kkt < 4.0 * self.at,
            Some(Information::Fisher) => {
                let rate = (kkt / self.first).powf(1.0 / steps);
                rate < 1.0 && steps + gained(rate) < MOST_ROUGH
            }
            Some(Information::Exact) => {
                let rate = match self.steps {
                    // As good as the matrix was where it was made, half as good after its step.
                    0 => 2.0 * kkt / self.at,
                    _ => (kkt / self.first).powf(1.0 / steps),
                };
                rate < 1.0 && steps + gained(rate) < self.worth
            }
        }
    }
}
