//! Minima where the slope jumps.
//!
//! With code0 and code1, −log L has a kink where a parameter is zero, and is smooth on either side. A step
//! therefore stays on its side: zero is a bound. At zero the slopes of both sides decide. If one leads
//! downhill, the fit continues there. If both rise, zero is the minimum in this parameter, which is then held
//! as by a bound. If neither side has a slope, as on a model's own expected data, there is effectively no
//! kink and nothing is held.

use super::Fitter;
use super::state::State;
use crate::model::Model;
use crate::model::layout::Layout;

/// Zero seen from the right: derivatives at zero itself are those from the left.
const RIGHT: f64 = f64::MIN_POSITIVE;

/// A parameter whose slope may jump at zero.
#[derive(Debug, Clone)]
pub(super) struct Kink {
    pub(super) parameter: usize,
    /// The parameter's own bounds; those of the fit's state cover one side.
    whole: [f64; 2],
    pub(super) holds: bool,
}

impl Kink {
    fn is_reached(&self, state: &State) -> bool {
        state.theta[self.parameter].abs() <= RIGHT
    }

    /// The side of zero opposite to a value.
    pub(super) fn far_side(&self, value: f64) -> [f64; 2] {
        let [lower, upper] = self.whole;
        if value > 0.0 { [lower, 0.0] } else { [0.0, upper] }
    }

    fn enter(&self, state: &mut State, [lower, upper]: [f64; 2]) {
        let parameter = self.parameter;
        (state.lower[parameter], state.upper[parameter]) = (lower, upper);
        state.theta[parameter] = state.theta[parameter].clamp(lower, upper);
    }

    /// Chooses the side whose slope leads downhill; otherwise zero holds the parameter, unless there is no
    /// slope on either side.
    fn decide(&mut self, state: &mut State, [left, right]: [f64; 2], tolerance: f64) {
        let [lower, upper] = self.whole;
        let least = left <= tolerance && right >= -tolerance;
        self.holds = least && (left < -tolerance || right > tolerance);
        state.theta[self.parameter] = 0.0;
        let side = if self.holds {
            [0.0, 0.0]
        } else if least {
            self.whole
        } else if -right > left {
            [RIGHT, upper]
        } else {
            [lower, 0.0]
        };
        self.enter(state, side);
    }
}

impl Model {
    /// Parameters whose interpolation has a kink at zero.
    fn kinked(&self) -> Vec<usize> {
        let Layout { options, normsys_parameter, histosys_parameters, names, .. } = &*self.layout;
        let mut kinked: Vec<u32> = Vec::new();
        if options.interpolation.normsys.has_kink() {
            kinked.extend(normsys_parameter);
        }
        if options.interpolation.histosys.has_kink() {
            kinked.extend(histosys_parameters);
        }
        kinked.sort_unstable();
        kinked.dedup();
        let padding = names.len();
        kinked.into_iter().map(|index| index as usize).filter(|index| *index < padding).collect()
    }
}

impl State {
    pub(super) fn find_kinks(&mut self, model: &Model) {
        for parameter in model.kinked() {
            let whole = [self.lower[parameter], self.upper[parameter]];
            if self.free[parameter] && whole[0] < 0.0 && whole[1] > 0.0 {
                self.kinks.push(Kink { parameter, whole, holds: false });
            } else if self.free[parameter] && whole[0] == 0.0 && whole[1] > 0.0 {
                // Zero is a bound here, so the slope that counts is that of the inside.
                self.lower[parameter] = RIGHT;
                self.theta[parameter] = self.theta[parameter].max(RIGHT);
            }
        }
    }

    /// Restores the bounds and exact zeros; returns the parameters that kinks hold.
    pub(super) fn leave_kinks(&mut self) -> Vec<usize> {
        for value in self.theta.iter_mut().filter(|value| **value == RIGHT) {
            *value = 0.0;
        }
        for lower in self.lower.iter_mut().filter(|lower| **lower == RIGHT) {
            *lower = 0.0;
        }
        for kink in &self.kinks {
            [self.lower[kink.parameter], self.upper[kink.parameter]] = kink.whole;
        }
        self.kinks.iter().filter(|kink| kink.holds).map(|kink| kink.parameter).collect()
    }
}

impl Fitter<'_> {
    /// Gives each parameter with a kink the side to which the next step is restricted.
    pub(super) fn choose_sides(&mut self, state: &mut State, tolerance: f64) {
        let mut kinks = std::mem::take(&mut state.kinks);
        let mut right = Vec::new();
        if kinks.iter().any(|kink| kink.is_reached(state)) {
            self.evaluate_at(RIGHT, &kinks, state);
            right.clone_from(&state.gradient);
            self.evaluate_at(0.0, &kinks, state);
        }
        for kink in &mut kinks {
            let [lower, upper] = kink.whole;
            kink.holds = false;
            if state.theta[kink.parameter] == 0.0 {
                let slopes = [state.gradient[kink.parameter], right[kink.parameter]];
                kink.decide(state, slopes, tolerance);
            } else if state.theta[kink.parameter] < 0.0 {
                kink.enter(state, [lower, 0.0]);
            } else {
                kink.enter(state, [RIGHT, upper]);
            }
        }
        if !right.is_empty() {
            self.evaluate(state);
        }
        state.kinks = kinks;
    }

    /// Evaluates with all parameters that have reached their kinks at this zero.
    fn evaluate_at(&mut self, zero: f64, kinks: &[Kink], state: &mut State) {
        for kink in kinks {
            if kink.is_reached(state) {
                state.theta[kink.parameter] = zero;
            }
        }
        self.evaluate(state);
    }
}
