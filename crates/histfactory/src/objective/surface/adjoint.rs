//! Slopes in all quantities that determine the rates, from slopes in the rates.

use super::Surface;
use super::forward::{Forward, gamma_owner, owners};
use crate::model::layout::Block;
use crate::objective::number::Number;

/// The accumulated slopes in all quantities.
pub(super) struct Adjoint<R> {
    pub(super) theta: Vec<R>,
    pub(super) nominal: Vec<R>,
    pub(super) odd: Vec<R>,
    pub(super) even: Vec<R>,
    pub(super) uncertainty: Vec<R>,
    /// In σ or τ of each parameter's constraint.
    pub(super) width: Vec<R>,
    /// In the auxiliary count that is τ.
    pub(super) following: Vec<R>,
    pub(super) counts: Vec<R>,
    pub(super) auxiliary: Vec<R>,
    pub(super) after: Vec<R>,
}

impl<R: Number> Adjoint<R> {
    pub(super) fn zero(surface: &Surface<'_, R>) -> Self {
        let zeros = |like: usize| vec![R::constant(0.0); like];
        let parameters = surface.model.parameter_count();
        Self {
            theta: zeros(parameters),
            nominal: zeros(surface.nominal.len()),
            odd: zeros(surface.odd.len()),
            even: zeros(surface.even.len()),
            uncertainty: zeros(surface.uncertainty.len()),
            width: zeros(parameters),
            following: zeros(parameters),
            counts: zeros(surface.counts.len()),
            auxiliary: zeros(surface.auxiliary.len()),
            after: Vec::new(),
        }
    }

    /// Adds Σ_b w_b ∂ν_b.
    pub(super) fn pull(
        &mut self,
        surface: &Surface<'_, R>,
        theta: &[R],
        forward: &Forward<R>,
        weights: &[R],
        in_templates: bool,
    ) {
        let model = surface.model;
        for (block, product) in model.layout.blocks.iter().zip(&forward.product) {
            let mut whole = R::constant(0.0);
            let owners = owners(model, block);
            for bin in 0..block.bin_count() {
                let place = block.yields + bin;
                let weight = weights[block.bins.start + bin];
                let weighted = weight * forward.gamma[place];
                whole += weighted * forward.shape[place];
                let scale = weighted * *product;
                self.nominal[place] += scale;
                let start = block.templates + bin * block.stride();
                for (entry, &owner) in owners.iter().enumerate() {
                    let [x, x_slope, y, y_slope] = forward.basis[owner as usize];
                    let (odd, even) = (surface.odd[start + entry], surface.even[start + entry]);
                    self.theta[owner as usize] += scale * (odd * x_slope + even * y_slope);
                    if in_templates {
                        self.odd[start + entry] += scale * x;
                        self.even[start + entry] += scale * y;
                    }
                }
                let without = weight * *product * forward.shape[place];
                for which in 0..block.gamma_count {
                    let mut others = without;
                    for other in (0..block.gamma_count).filter(|other| *other != which) {
                        others = others * theta[gamma_owner(model, block, other, bin)];
                    }
                    self.theta[gamma_owner(model, block, which, bin)] += others;
                }
            }
            self.pull_factors(surface, theta, forward, block, whole);
        }
    }

    /// Slopes in the scalar factors, from products of the factors before and after each one, which avoids a
    /// quotient that could be 0/0.
    pub(super) fn pull_factors(
        &mut self,
        surface: &Surface<'_, R>,
        theta: &[R],
        forward: &Forward<R>,
        block: &Block,
        whole: R,
    ) {
        let layout = &*surface.model.layout;
        let free = &layout.free_factors[block.free_factors.clone()];
        let owned = &layout.normsys_parameter[block.normsys.clone()];
        let factors = &forward.factor[block.normsys.clone()];
        let values = || {
            let free = free.iter().map(|owner| (theta[*owner as usize], R::constant(1.0), *owner));
            free.chain(
                factors.iter().zip(owned).map(|([value, slope], owner)| (*value, *slope, *owner)),
            )
        };
        let count = free.len() + factors.len();
        self.after.clear();
        self.after.resize(count + 1, R::constant(1.0));
        for (at, [value, _]) in factors.iter().enumerate().rev() {
            self.after[free.len() + at] = self.after[free.len() + at + 1] * *value;
        }
        for (at, owner) in free.iter().enumerate().rev() {
            self.after[at] = self.after[at + 1] * theta[*owner as usize];
        }
        let mut before = whole;
        for (at, (value, slope, owner)) in values().enumerate() {
            self.theta[owner as usize] += before * self.after[at + 1] * slope;
            before = before * value;
        }
    }
}
