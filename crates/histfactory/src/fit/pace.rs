//! Decides whether a step uses a new matrix or the held one.
//!
//! A step with a held factor and the secants of the steps since costs little more than a gradient. Such steps
//! pay off as long as the remaining gain needs fewer of them than a new matrix is worth.

use crate::kernel::{Information, is_narrow};
use crate::model::Model;

/// Steps with the expected information before the exact Hessian takes over.
const FISHER_STEPS: usize = 2;
/// With a smaller gradient, the expected information is not worth its cost.
const NEAR: f64 = 1e-3;
/// The largest total number of steps with a held expected information.
const MOST_ROUGH: f64 = 30.0;
/// With fewer parameters in the dense part, the exact Hessian is cheaper.
const FEW: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matrix {
    New(Information),
    Held,
}

/// The point of a fit's last new matrix, an exact Hessian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExactHessian {
    /// Nowhere, unless steps with the expected information fail.
    Unneeded,
    /// Close to the minimum, which is then reached with its factor.
    NearMinimum,
    /// At the minimum, for a covariance.
    AtMinimum,
}

#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// The remaining new matrices of the expected information.
    fisher: usize,
    /// Whether the expected information is solved in bins, so that many parameters cost little …
    rough: bool,
    /// … and where a fit needs an exact Hessian.
    exact: ExactHessian,
    /// The number of steps that a new exact matrix is worth.
    worth: f64,
    /// The held matrix, unless the latest step failed.
    held: Option<Information>,
    /// The gradient after the step for which the held matrix was computed, and the steps since.
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

    /// For a fit with a covariance: the exact Hessian at the end serves both.
    pub(super) fn with_covariance(self) -> Self {
        Self { exact: ExactHessian::AtMinimum, ..self }
    }

    /// Whether a fit within its tolerance takes an exact Hessian, once.
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

    /// Whether a fit within its tolerance takes one more step after steps with a held matrix.
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

    /// Records that the latest step failed, so the next one needs a new matrix.
    pub(super) fn release(&mut self) {
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
            // The gradient's largest component fluctuates a little.
            Some(Information::Fisher) if self.steps < 4 => kkt < 4.0 * self.at,
            Some(Information::Fisher) => {
                let rate = (kkt / self.first).powf(1.0 / steps);
                rate < 1.0 && steps + gained(rate) < MOST_ROUGH
            }
            Some(Information::Exact) => {
                let rate = match self.steps {
                    // Full quality at the point where the matrix was computed, half after its step.
                    0 => 2.0 * kkt / self.at,
                    _ => (kkt / self.first).powf(1.0 / steps),
                };
                rate < 1.0 && steps + gained(rate) < self.worth
            }
        }
    }
}
