//! The gradient in all nominal yields and that in the parameters, in one evaluation.

use super::Convention;
use crate::likelihood::Evaluator;
use crate::model::{Constraint, EvaluationError};

impl Evaluator<'_> {
    /// −log L, its gradient in the parameters, and in `yields` its gradient in all nominal yields
    /// (in the order of [`WorkspaceGradient::yields`](super::WorkspaceGradient::yields)) at fixed
    /// data.
    pub fn nll_and_yield_gradient(
        &mut self,
        theta: &[f64],
        convention: Convention,
        yields: &mut Vec<f64>,
    ) -> Result<(f64, &[f64]), EvaluationError> {
        let (nll, _) = self.nll_and_gradient(theta)?;
        self.yield_gradient(convention, yields);
        Ok((nll, self.gradient()))
    }

    fn yield_gradient(&self, convention: Convention, yields: &mut Vec<f64>) {
        let (layout, numbers) = (&*self.model.layout, &self.model.numbers);
        let scratch = &self.scratch;
        yields.clear();
        for (block, product) in layout.blocks.iter().zip(&scratch.product) {
            let mut scale = *product;
            if convention == Convention::TemplatesFixed {
                let owners = &layout.histosys_parameter[block.histosys.clone()];
                let lost: f64 =
                    owners.iter().map(|owner| scratch.basis[*owner as usize].0[2]).sum();
                scale *= 1.0 - 0.125 * lost;
            }
            let gammas = &scratch.gamma[block.shapes..block.shapes + block.bin_count()];
            let weights = &scratch.weight[block.bins.clone()];
            yields.extend(gammas.iter().zip(weights).map(|(gamma, weight)| scale * gamma * weight));
        }
        let auxiliary = &self.data.values[layout.bins..];
        for bin in &layout.staterrors {
            let Constraint::Normal { auxiliary: place, sigma } = numbers.constraints[bin.parameter]
            else {
                continue;
            };
            let carriers = &layout.carriers[bin.carriers.clone()];
            let sum: f64 =
                carriers.iter().map(|carrier| numbers.nominal[carrier.yield_index]).sum();
            let constrained =
                carriers.iter().any(|carrier| numbers.uncertainty[carrier.uncertainty] != 0.0);
            if bin.width_given || sum <= 0.0 || !constrained {
                continue;
            }
            let distance = (auxiliary[place] - scratch.theta[bin.parameter]) / sigma;
            let slope = (distance * distance - 1.0) / sum;
            for carrier in carriers {
                yields[carrier.yield_index] += slope;
            }
        }
        for bin in &layout.shapesys {
            let Constraint::Poisson { auxiliary: place, factor } =
                numbers.constraints[bin.parameter]
            else {
                continue;
            };
            let (value, delta) =
                (numbers.nominal[bin.yield_index], numbers.uncertainty[bin.uncertainty]);
            if !bin.factor_given && value > 0.0 && delta > 0.0 {
                let slope = scratch.theta[bin.parameter] - auxiliary[place] / factor;
                yields[bin.yield_index] += slope * 2.0 * value / (delta * delta);
            }
        }
    }
}
