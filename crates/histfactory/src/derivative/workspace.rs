//! Derivatives in the numbers of a workspace, addressed by name.

use std::sync::Arc;

use super::partials::{Convention, Forward, Partials};
use super::real::{Dual, Real};
use crate::model::layout::Layout;
use crate::model::{Constraint, Data, EvaluationError, Model};

/// How a quantity changes with every number of the workspace.
///
/// Nominal yields, templates, normsys factors and absolute uncertainties are varied one at a time. All other
/// numbers of the workspace stay the same, except as [`Convention`] defines; widths of constraints follow.
/// The function that returns the gradient documents whether the data follow.
#[derive(Debug, Clone)]
pub struct WorkspaceGradient {
    layout: Arc<Layout>,
    pub convention: Convention,
    nominal: Vec<f64>,
    hi: Vec<f64>,
    lo: Vec<f64>,
    normsys_hi: Vec<f64>,
    normsys_lo: Vec<f64>,
    uncertainty: Vec<f64>,
    data: Vec<f64>,
}

/// The data that follow the numbers of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Following {
    /// None: they were measured.
    #[default]
    Nothing,
    /// The auxiliary counts of shapesys, which a workspace defines through its uncertainties.
    Auxiliary,
}

/// Derivatives in a model's constraints, before they are propagated to the yields.
pub(crate) struct Loose<R> {
    partials: Partials<R>,
    convention: Convention,
}

impl<R: Real> Loose<R> {
    pub(crate) fn of_nll(model: &Model, theta: &[R], data: &[R], convention: Convention) -> Self {
        Self { partials: Partials::of_nll(model, theta, data, convention), convention }
    }

    /// Adds the auxiliary counts that follow τ: each changes by `share` of τ's change.
    pub(crate) fn following(mut self, model: &Model, share: impl Fn(usize) -> f64) -> Self {
        let layout = &*model.layout;
        for (index, bin) in layout.shapesys.iter().enumerate() {
            let Constraint::Poisson { auxiliary, .. } = model.numbers.constraints[bin.parameter]
            else {
                continue;
            };
            let moved = self.partials.data[layout.bins + auxiliary] * R::from(share(index));
            self.partials.tau[index] = self.partials.tau[index] + moved;
        }
        self
    }

    /// Propagates σ and τ to yields and uncertainties.
    pub(crate) fn settle(mut self, model: &Model, pick: impl Fn(R) -> f64) -> WorkspaceGradient {
        let (layout, numbers) = (&*model.layout, &model.numbers);
        let mut uncertainty = vec![R::from(0.0); numbers.uncertainty.len()];
        let nominal = &mut self.partials.nominal;
        for (index, bin) in layout.staterrors.iter().enumerate() {
            let carriers = &layout.carriers[bin.carriers.clone()];
            let sum: f64 =
                carriers.iter().map(|carrier| numbers.nominal[carrier.yield_index]).sum();
            let Constraint::Normal { sigma, .. } = numbers.constraints[bin.parameter] else {
                continue;
            };
            let squares: f64 = carriers
                .iter()
                .map(|carrier| numbers.uncertainty[carrier.uncertainty].powi(2))
                .sum();
            if bin.width_given || sum <= 0.0 || squares == 0.0 {
                continue;
            }
            for carrier in carriers {
                let slope = self.partials.sigma[index];
                let of_yield = slope * R::from(-sigma / sum);
                nominal[carrier.yield_index] = nominal[carrier.yield_index] + of_yield;
                let delta = numbers.uncertainty[carrier.uncertainty];
                let of_delta = slope * R::from(delta / (sigma * sum * sum));
                uncertainty[carrier.uncertainty] = uncertainty[carrier.uncertainty] + of_delta;
            }
        }
        for (index, bin) in layout.shapesys.iter().enumerate() {
            let (value, delta) =
                (numbers.nominal[bin.yield_index], numbers.uncertainty[bin.uncertainty]);
            if !(value > 0.0 && delta > 0.0) {
                continue;
            }
            let slope = self.partials.tau[index];
            let squared = delta * delta;
            nominal[bin.yield_index] =
                nominal[bin.yield_index] + slope * R::from(2.0 * value / squared);
            let of_delta = slope * R::from(-2.0 * value * value / (squared * delta));
            uncertainty[bin.uncertainty] = uncertainty[bin.uncertainty] + of_delta;
        }
        let picked = |values: &[R]| values.iter().map(|value| pick(*value)).collect();
        let partials = &self.partials;
        WorkspaceGradient {
            layout: Arc::clone(&model.layout),
            convention: self.convention,
            nominal: picked(&partials.nominal),
            hi: picked(&partials.hi),
            lo: picked(&partials.lo),
            normsys_hi: picked(&partials.normsys_hi),
            normsys_lo: picked(&partials.normsys_lo),
            uncertainty: picked(&uncertainty),
            data: picked(&partials.data),
        }
    }

    /// Twice the difference of two gradients, plus Σ_b u_b ∂ν_b at a point. A test statistic on expected data
    /// has a gradient of this form.
    pub(crate) fn twice_minus(mut self, other: &Self) -> Self {
        let pairs = [
            (&mut self.partials.nominal, &other.partials.nominal),
            (&mut self.partials.hi, &other.partials.hi),
            (&mut self.partials.lo, &other.partials.lo),
            (&mut self.partials.normsys_hi, &other.partials.normsys_hi),
            (&mut self.partials.normsys_lo, &other.partials.normsys_lo),
            (&mut self.partials.sigma, &other.partials.sigma),
            (&mut self.partials.tau, &other.partials.tau),
            (&mut self.partials.data, &other.partials.data),
        ];
        for (ours, theirs) in pairs {
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                *ours = (*ours - *theirs) * R::from(2.0);
            }
        }
        self
    }

    /// Adds Σ_b u_b ∂ν_b, where u is the derivative in the counts: the counts are the rates at `theta`.
    pub(crate) fn with_expected_counts(mut self, model: &Model, theta: &[R]) -> Self {
        let forward = Forward::new(model, theta);
        let weights: Vec<R> = self.partials.data[..model.layout.bins].to_vec();
        self.partials.add_rates(model, theta, &forward, &weights, self.convention);
        self
    }
}

/// The share of τ's change by which an observed auxiliary count changes.
pub(crate) fn observed_share(model: &Model) -> impl Fn(usize) -> f64 + '_ {
    |index| if model.layout.shapesys[index].auxiliary_given { 0.0 } else { 1.0 }
}

impl Model {
    /// Derivatives of −log L in every number of the workspace and of the data, at fixed parameters.
    pub fn workspace_gradient(
        &self,
        theta: &[f64],
        data: &Data,
        convention: Convention,
        following: Following,
    ) -> Result<WorkspaceGradient, EvaluationError> {
        self.nll(theta, data)?;
        let loose = Loose::of_nll(self, theta, &data.values, convention);
        let loose = match following {
            Following::Nothing => loose,
            Following::Auxiliary => loose.following(self, observed_share(self)),
        };
        Ok(loose.settle(self, |value| value))
    }

    /// The rate of change of [`Model::workspace_gradient`] along a direction of the parameters:
    /// second derivatives in a parameter and a number of the workspace, times the direction.
    pub fn workspace_gradient_along(
        &self,
        theta: &[f64],
        direction: &[f64],
        data: &Data,
        convention: Convention,
        following: Following,
    ) -> Result<WorkspaceGradient, EvaluationError> {
        self.nll(theta, data)?;
        self.check_parameters(direction)?;
        let pairs = theta.iter().zip(direction);
        let theta: Vec<Dual> = pairs.map(|(&value, &rate)| Dual { value, rate }).collect();
        let values: Vec<Dual> = data.values.iter().map(|value| Dual::from(*value)).collect();
        let loose = Loose::of_nll(self, &theta, &values, convention);
        let loose = match following {
            Following::Nothing => loose,
            Following::Auxiliary => loose.following(self, observed_share(self)),
        };
        Ok(loose.settle(self, |value| value.rate))
    }
}

impl WorkspaceGradient {
    /// In all nominal yields: channel by channel, sample by sample (both sorted), bin by bin.
    pub fn yields(&self) -> &[f64] {
        &self.nominal
    }

    /// In the nominal yields of a sample.
    pub fn nominal(&self, channel: &str, sample: &str) -> Result<&[f64], EvaluationError> {
        let block = &self.layout.blocks[self.layout.block_index(channel, sample)?];
        Ok(&self.nominal[block.yields..block.yields + block.bin_count()])
    }

    /// In the high and low templates of a histosys.
    pub fn histosys(
        &self,
        channel: &str,
        sample: &str,
        name: &str,
    ) -> Result<[Vec<f64>; 2], EvaluationError> {
        let index = self.layout.block_index(channel, sample)?;
        let entry = self.layout.histosys_entry(index, name)?;
        let block = &self.layout.blocks[index];
        let of_bins = |values: &[f64]| {
            let template = |bin| block.templates + bin * block.stride() + entry;
            (0..block.bin_count()).map(|bin| values[template(bin)]).collect()
        };
        Ok([of_bins(&self.hi), of_bins(&self.lo)])
    }

    /// In the high and low factors of a normsys.
    pub fn normsys(
        &self,
        channel: &str,
        sample: &str,
        name: &str,
    ) -> Result<[f64; 2], EvaluationError> {
        let index = self.layout.block_index(channel, sample)?;
        let entry = self.layout.normsys_entry(index, name)?;
        Ok([self.normsys_hi[entry], self.normsys_lo[entry]])
    }

    /// In the absolute uncertainties of a shapesys or staterror.
    pub fn uncertainties(
        &self,
        channel: &str,
        sample: &str,
        name: &str,
    ) -> Result<Vec<f64>, EvaluationError> {
        let block = &self.layout.blocks[self.layout.block_index(channel, sample)?];
        (0..block.bin_count())
            .map(|bin| self.layout.uncertainty_index(name, block.yields + bin))
            .map(|index| Ok(self.uncertainty[index?]))
            .collect()
    }

    /// In the counts, then the auxiliary data, as if these followed nothing.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Whether all components are finite.
    pub fn is_finite(&self) -> bool {
        self.parts().iter().all(|part| part.iter().all(|value| value.is_finite()))
    }

    /// The largest absolute component, data aside.
    pub fn largest(&self) -> f64 {
        let parts = self.parts();
        let without_data = parts[..6].iter().flat_map(|part| part.iter());
        without_data.fold(0.0, |largest, value| largest.max(value.abs()))
    }

    fn parts(&self) -> [&Vec<f64>; 7] {
        [
            &self.nominal,
            &self.hi,
            &self.lo,
            &self.normsys_hi,
            &self.normsys_lo,
            &self.uncertainty,
            &self.data,
        ]
    }

    fn parts_mut(&mut self) -> [&mut Vec<f64>; 7] {
        [
            &mut self.nominal,
            &mut self.hi,
            &mut self.lo,
            &mut self.normsys_hi,
            &mut self.normsys_lo,
            &mut self.uncertainty,
            &mut self.data,
        ]
    }

    /// Adds a multiple of another gradient of the same model.
    pub fn add_scaled(&mut self, scale: f64, other: &Self) {
        for (ours, theirs) in self.parts_mut().into_iter().zip(other.parts()) {
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                *ours += scale * theirs;
            }
        }
    }

    #[must_use]
    pub fn scaled(mut self, scale: f64) -> Self {
        for part in self.parts_mut() {
            for value in part {
                *value *= scale;
            }
        }
        self
    }
}
