//! Derivatives of −log L in every number of the workspace, at fixed parameters.
//!
//! With w_b = ∂NLL/∂ν_b and F = P·G_b, for a block: in a nominal yield w F (1 − Σ_h y_h/8), where the sum
//! covers the templates that do not move along; in a high or low template w F (±x/2 + y/16); in a normsys
//! factor Σ_b w G T · ∂P. Constraints depend on yields and uncertainties through σ (staterror) and τ
//! (shapesys), and on the auxiliary data.

use super::real::Real;
use crate::interpolation::{exponential, polynomial_at, polynomial_slopes};
use crate::model::layout::Block;
use crate::model::{Constraint, Model};
use crate::special::digamma;

/// The other numbers that change when a nominal yield changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Convention {
    /// None: the high and low templates of histosys stay as they are in the workspace, as when one number of
    /// the JSON is edited.
    #[default]
    TemplatesFixed,
    /// The templates move along: their differences to the nominal yields stay the same.
    TemplatesRide,
}

/// Rates and the quantities they are computed from.
pub(super) struct Forward<R> {
    pub(super) factor: Vec<R>,
    pub(super) product: Vec<R>,
    pub(super) shape: Vec<R>,
    pub(super) gamma: Vec<R>,
    pub(super) rate: Vec<R>,
    x: Vec<R>,
    y: Vec<R>,
}

impl<R: Real> Forward<R> {
    pub(super) fn new(model: &Model, theta: &[R]) -> Self {
        let (layout, numbers) = (&*model.layout, &model.numbers);
        let interpolation = layout.options.interpolation;
        let mut x = vec![R::from(0.0); theta.len() + 1];
        let mut y = x.clone();
        for &parameter in &layout.histosys_parameters {
            let parameter = parameter as usize;
            let alpha = theta[parameter];
            let basis = interpolation.histosys.basis(alpha.value());
            x[parameter] = alpha.map(basis.x[0], basis.x[1]);
            y[parameter] = alpha.map(basis.y[0], basis.y[1]);
        }
        let mut factor = vec![R::from(1.0); layout.normsys_parameter.len()];
        for (entry, &parameter) in layout.normsys_parameter.iter().enumerate() {
            let Some(&alpha) = theta.get(parameter as usize) else { continue };
            factor[entry] = normsys(model, entry, alpha);
        }
        let mut product = Vec::with_capacity(layout.blocks.len());
        let mut shape: Vec<R> = numbers.nominal.iter().map(|value| R::from(*value)).collect();
        let mut gamma = vec![R::from(1.0); layout.yields];
        let mut rate = vec![R::from(0.0); layout.bins];
        for block in &layout.blocks {
            let free = layout.free_factors[block.free_factors.clone()].iter();
            let mut whole =
                free.fold(R::from(1.0), |product, &owner| product * theta[owner as usize]);
            for value in &factor[block.normsys.clone()] {
                whole = whole * *value;
            }
            for bin in 0..block.bin_count() {
                let place = block.yields + bin;
                let owners = &layout.histosys_parameter[block.histosys.clone()];
                for ([odd, even], &owner) in block.templates_in_stream(bin).zip(owners) {
                    let owner = owner as usize;
                    shape[place] = shape[place]
                        + x[owner] * R::from(numbers.stream[odd])
                        + y[owner] * R::from(numbers.stream[even]);
                }
                for which in 0..block.gamma_count {
                    let owner = gamma_owner(model, block, which, bin);
                    gamma[place] = gamma[place] * theta[owner];
                }
                let here = block.bins.start + bin;
                rate[here] = rate[here] + whole * gamma[place] * shape[place];
            }
            product.push(whole);
        }
        Self { factor, product, shape, gamma, rate, x, y }
    }

    /// w_b = 1 − n_b/ν_b.
    pub(super) fn weights(&self, data: &[R]) -> Vec<R> {
        let pairs = self.rate.iter().zip(data);
        pairs
            .map(|(rate, n)| {
                let empty = n.value() == 0.0 && rate.value() == 0.0;
                if empty { R::from(1.0) } else { R::from(1.0) - *n / *rate }
            })
            .collect()
    }
}

fn gamma_owner(model: &Model, block: &Block, which: usize, bin: usize) -> usize {
    model.layout.gamma_parameter[block.gammas + which * block.bin_count() + bin] as usize
}

fn normsys<R: Real>(model: &Model, entry: usize, alpha: R) -> R {
    let numbers = &model.numbers;
    let value = alpha.value();
    if model.layout.options.interpolation.normsys.is_polynomial(value) {
        let [at, slope, _] = polynomial_at(&numbers.coefficients(&model.layout, entry), value);
        alpha.map(1.0 + at, slope)
    } else {
        let [at, slope, _] = exponential(value, numbers.ln_hi[entry], numbers.ln_lo[entry]);
        alpha.map(at, slope)
    }
}

/// Derivatives of a normsys factor in its high and its low side.
fn normsys_sides<R: Real>(model: &Model, entry: usize, alpha: R, factor: R) -> [R; 2] {
    let numbers = &model.numbers;
    let (hi, lo) = (numbers.normsys_hi[entry], numbers.normsys_lo[entry]);
    if model.layout.options.interpolation.normsys.is_polynomial(alpha.value()) {
        polynomial_slopes(numbers.ln_hi[entry], numbers.ln_lo[entry]).map(|coefficients| {
            let [at, slope, _] = polynomial_at(&coefficients, alpha.value());
            alpha.map(at, slope)
        })
    } else if alpha.value() > 0.0 {
        [alpha * factor / R::from(hi), R::from(0.0)]
    } else {
        [R::from(0.0), -alpha * factor / R::from(lo)]
    }
}

/// Derivatives in the numbers of a workspace and of its data, in the model's own order.
#[derive(Debug, Clone)]
pub(super) struct Partials<R> {
    pub(super) nominal: Vec<R>,
    pub(super) hi: Vec<R>,
    pub(super) lo: Vec<R>,
    pub(super) normsys_hi: Vec<R>,
    pub(super) normsys_lo: Vec<R>,
    /// In σ of each staterror bin and τ of each shapesys bin.
    pub(super) sigma: Vec<R>,
    pub(super) tau: Vec<R>,
    /// Counts, then auxiliary data.
    pub(super) data: Vec<R>,
}

impl<R: Real> Partials<R> {
    pub(super) fn zero(model: &Model) -> Self {
        let zeros = |count: usize| vec![R::from(0.0); count];
        let (layout, numbers) = (&*model.layout, &model.numbers);
        Self {
            nominal: zeros(layout.yields),
            hi: zeros(numbers.hi.len()),
            lo: zeros(numbers.hi.len()),
            normsys_hi: zeros(layout.normsys_parameter.len()),
            normsys_lo: zeros(layout.normsys_parameter.len()),
            sigma: zeros(layout.staterrors.len()),
            tau: zeros(layout.shapesys.len()),
            data: zeros(layout.bins + layout.auxiliary),
        }
    }

    /// All derivatives of −log L at fixed data.
    pub(super) fn of_nll(model: &Model, theta: &[R], data: &[R], convention: Convention) -> Self {
        let forward = Forward::new(model, theta);
        let weights = forward.weights(data);
        let mut partials = Self::zero(model);
        partials.add_rates(model, theta, &forward, &weights, convention);
        partials.add_constraints(model, theta, data);
        for (bin, (rate, n)) in forward.rate.iter().zip(data).enumerate() {
            partials.data[bin] = in_count(*n, *rate);
        }
        partials
    }

    /// Σ_b w_b ∂ν_b.
    pub(super) fn add_rates(
        &mut self,
        model: &Model,
        theta: &[R],
        forward: &Forward<R>,
        weights: &[R],
        convention: Convention,
    ) {
        let layout = &*model.layout;
        for (index, block) in layout.blocks.iter().enumerate() {
            let owners = &layout.histosys_parameter
                [block.histosys.start..block.histosys.start + block.histosys_used];
            let mut kept = R::from(1.0);
            if convention == Convention::TemplatesFixed {
                for &owner in owners {
                    kept = kept - forward.y[owner as usize] * R::from(0.125);
                }
            }
            let mut pull = R::from(0.0);
            for bin in 0..block.bin_count() {
                let place = block.yields + bin;
                let weight = weights[block.bins.start + bin] * forward.gamma[place];
                pull = pull + weight * forward.shape[place];
                let scale = weight * forward.product[index];
                self.nominal[place] = self.nominal[place] + scale * kept;
                for (entry, &owner) in owners.iter().enumerate() {
                    let template = block.templates + bin * block.stride() + entry;
                    let half = forward.x[owner as usize] * R::from(0.5);
                    let even = forward.y[owner as usize] * R::from(0.0625);
                    self.hi[template] = self.hi[template] + scale * (even + half);
                    self.lo[template] = self.lo[template] + scale * (even - half);
                }
            }
            self.add_normsys(model, theta, forward, block, pull);
        }
    }

    fn add_normsys(
        &mut self,
        model: &Model,
        theta: &[R],
        forward: &Forward<R>,
        block: &Block,
        pull: R,
    ) {
        let layout = &*model.layout;
        let entries = block.normsys.clone();
        let free = layout.free_factors[block.free_factors.clone()].iter();
        let free = free.fold(R::from(1.0), |product, &owner| product * theta[owner as usize]);
        // Products of the factors before and after each factor avoid a quotient that could be 0/0.
        let mut after = vec![R::from(1.0); block.normsys.len() + 1];
        for (at, entry) in entries.clone().enumerate().rev() {
            after[at] = after[at + 1] * forward.factor[entry];
        }
        let mut before = free;
        for (at, entry) in entries.enumerate() {
            let alpha = theta[layout.normsys_parameter[entry] as usize];
            let [hi, lo] = normsys_sides(model, entry, alpha, forward.factor[entry]);
            let rest = pull * before * after[at + 1];
            self.normsys_hi[entry] = self.normsys_hi[entry] + rest * hi;
            self.normsys_lo[entry] = self.normsys_lo[entry] + rest * lo;
            before = before * forward.factor[entry];
        }
    }

    fn add_constraints(&mut self, model: &Model, theta: &[R], data: &[R]) {
        let (layout, numbers) = (&*model.layout, &model.numbers);
        for (parameter, constraint) in numbers.constraints.iter().enumerate() {
            let value = theta[parameter];
            match *constraint {
                Constraint::Free => {}
                Constraint::Normal { auxiliary, sigma } => {
                    let place = layout.bins + auxiliary;
                    let distance = data[place] - value;
                    self.data[place] = self.data[place] + distance * R::from(1.0 / (sigma * sigma));
                }
                Constraint::Poisson { auxiliary, factor } => {
                    let place = layout.bins + auxiliary;
                    let rate = value * R::from(factor);
                    self.data[place] = self.data[place] + in_count(data[place], rate);
                }
            }
        }
        for (index, bin) in layout.staterrors.iter().enumerate() {
            if let Constraint::Normal { auxiliary, sigma } = numbers.constraints[bin.parameter] {
                let distance = data[layout.bins + auxiliary] - theta[bin.parameter];
                let inverse = 1.0 / sigma;
                self.sigma[index] =
                    R::from(inverse) - distance * distance * R::from(inverse * inverse * inverse);
            }
        }
        for (index, bin) in layout.shapesys.iter().enumerate() {
            if bin.factor_given {
                continue;
            }
            if let Constraint::Poisson { auxiliary, factor } = numbers.constraints[bin.parameter] {
                let n = data[layout.bins + auxiliary];
                self.tau[index] = theta[bin.parameter] - n * R::from(1.0 / factor);
            }
        }
    }
}

/// The derivative of −ln Pois(n|ν) in n: ψ(n+1) − ln ν, and zero if the rate is zero, because such a bin
/// cannot have counts.
fn in_count<R: Real>(n: R, rate: R) -> R {
    if rate.value() > 0.0 {
        // The derivative of ψ is never needed: data do not change along a direction.
        n.map(digamma(n.value() + 1.0), 0.0) - rate.ln()
    } else {
        R::from(0.0)
    }
}
