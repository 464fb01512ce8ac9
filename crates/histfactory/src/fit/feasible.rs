//! A start at which the likelihood is finite.
//!
//! Rates can be negative at the start of a fit. Then the model's own initial values are tried. If these fail
//! too, a walk raises the bad rates to a small positive value with the least change of the parameters in
//! units of their constraints.

use super::Fitter;
use super::result::FitError;
use super::state::State;
use crate::kernel::Information;

const MOST_STEPS: usize = 60;

impl Fitter<'_> {
    pub(super) fn feasible_start(&mut self, state: &mut State) -> Result<(), FitError> {
        if self.evaluate(state) {
            return Ok(());
        }
        let wanted = state.theta.clone();
        let init = self.evaluator.model.init();
        for part in [1.0, 0.75, 0.5, 0.25] {
            for i in 0..wanted.len() {
                if state.free[i] {
                    let mixed = part * init[i] + (1.0 - part) * wanted[i];
                    state.theta[i] = mixed.clamp(state.lower[i], state.upper[i]);
                }
            }
            if self.evaluate(state) {
                return Ok(());
            }
        }
        state.theta.copy_from_slice(&wanted);
        for _ in 0..MOST_STEPS {
            if self.evaluate(state) {
                return Ok(());
            }
            if !self.lift(state) {
                break;
            }
        }
        let theta = std::mem::take(&mut state.theta);
        match self.evaluator.nll(&theta) {
            Err(why) => Err(FitError::NoStart { why }),
            Ok(_) => Err(FitError::Infinite),
        }
    }

    /// One step towards positive rates; false if nothing moves.
    fn lift(&mut self, state: &mut State) -> bool {
        let layout = &self.evaluator.model.layout;
        // This factor belongs to no minimum.
        self.exact = None;
        self.factored.fill(false);
        self.evaluator.collect(&mut self.curvature, Information::Fisher);
        let mut pulls = vec![0.0; layout.bins];
        let mut slope = vec![0.0; state.theta.len()];
        for bin in 0..layout.bins {
            let (rate, n) = (self.evaluator.scratch.rate[bin], self.evaluator.data.values[bin]);
            let floor = 0.1 * n.max(0.1);
            if !(rate < floor) {
                self.curvature.v[bin] = 0.0;
                continue;
            }
            // Weighted so that constrained parameters move least.
            let v = 1e3 / (floor * floor);
            self.curvature.v[bin] = v;
            let pull = v * (rate - floor);
            pulls[bin] = pull;
            for local in layout.elimination.local_of_bin[bin].clone() {
                let parameter = layout.elimination.local[local] as usize;
                slope[parameter] += pull * self.curvature.slope[local];
            }
        }
        for (bin, front, row) in self.curvature.rows(layout).filter(|(bin, ..)| pulls[*bin] != 0.0)
        {
            for (&parameter, value) in front.parameters.iter().zip(row) {
                slope[parameter as usize] += pulls[bin] * value;
            }
        }
        let mut p: Vec<f64> = slope.iter().map(|slope| -slope).collect();
        state.moving.copy_from_slice(&state.free);
        if !self.system.factorise(layout, &self.curvature, &state.moving, 1e-6) {
            return false;
        }
        self.system.solve(layout, &self.curvature, &state.moving, &mut p);
        let mut moved = false;
        for i in 0..p.len() {
            if state.free[i] && p[i].is_finite() {
                let to = (state.theta[i] + p[i]).clamp(state.lower[i], state.upper[i]);
                moved |= to != state.theta[i];
                state.theta[i] = to;
            }
        }
        moved
    }
}
