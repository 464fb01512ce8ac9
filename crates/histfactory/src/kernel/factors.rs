//! The normsys factors η, their relative slopes η′/η, and their part of the gradient.

use super::dispatch::{Simd, vectors, vectors_mut};
use super::quad::{Quad, quads, quads_mut};
use super::scratch::Scratch;
use crate::interpolation::{exponential, polynomial_at};
use crate::model::layout::{Block, LANES, Layout};
use crate::model::numbers::Numbers;

/// Values at `scratch.theta`; relative slopes only for a gradient.
#[inline(always)]
pub(super) fn factors<S: Simd, const GRADIENT: bool>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    scratch: &mut Scratch,
) {
    // A slice of its own: the compiler then knows that no store moves it.
    let theta = scratch.theta.as_slice();
    let results = scratch.relative.chunks_exact_mut(LANES).zip(&layout.factors.slot);
    let entries = layout.factors.owner.iter().zip(&numbers.polynomial);
    let factors = &mut scratch.factor[..];
    let one = simd.splat_f64s(1.0);
    for ((&owner, powers), (relatives, slots)) in entries.zip(results) {
        let alpha = simd.splat_f64s(theta[owner as usize]);
        let [c1, c2, c3, c4, c5, c6] = powers.0.each_ref().map(|power| vectors::<S>(power));
        let mut values = [0.0; LANES];
        let pairs = vectors_mut::<S>(&mut values).iter_mut().zip(vectors_mut::<S>(relatives));
        for (at, (result, relative)) in pairs.enumerate() {
            // Horner's scheme for the value and the slope side by side.
            let mut value = c6[at];
            let mut slope = c6[at];
            for power in [c5, c4, c3, c2, c1] {
                value = simd.mul_add_e_f64s(value, alpha, power[at]);
                if GRADIENT {
                    slope = simd.mul_add_e_f64s(slope, alpha, value);
                }
            }
            value = simd.mul_add_e_f64s(value, alpha, one);
            *result = value;
            if GRADIENT {
                *relative = simd.div_f64s(slope, value);
            }
        }
        for (&slot, value) in slots.iter().zip(values) {
            factors[slot as usize] = value;
        }
    }
    let code = layout.options.interpolation.normsys;
    for (parameter, &alpha) in scratch.theta[..layout.names.len()].iter().enumerate() {
        if code.is_polynomial(alpha) {
            continue;
        }
        for &entry in layout.normsys_of.entries(parameter) {
            let entry = entry as usize;
            let place = layout.factors.place[entry] as usize;
            let [value, slope, _] = exponential(alpha, numbers.ln_hi[entry], numbers.ln_lo[entry]);
            let slot = layout.factors.slot[place / LANES][place % LANES] as usize;
            (scratch.factor[slot], scratch.relative[place]) = (value, slope / value);
        }
    }
}

/// Relative slopes at −α, with the values left as they are.
#[inline(always)]
pub(super) fn mirrored_factors<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    scratch: &mut Scratch,
) {
    let theta = scratch.theta.as_slice();
    let results = scratch.relative.chunks_exact_mut(LANES);
    let entries = layout.factors.owner.iter().zip(&numbers.polynomial);
    let one = simd.splat_f64s(1.0);
    for ((&owner, powers), relatives) in entries.zip(results) {
        let alpha = simd.splat_f64s(-theta[owner as usize]);
        let [c1, c2, c3, c4, c5, c6] = powers.0.each_ref().map(|power| vectors::<S>(power));
        for (at, relative) in vectors_mut::<S>(relatives).iter_mut().enumerate() {
            let (mut value, mut slope) = (c6[at], c6[at]);
            for power in [c5, c4, c3, c2, c1] {
                value = simd.mul_add_e_f64s(value, alpha, power[at]);
                slope = simd.mul_add_e_f64s(slope, alpha, value);
            }
            *relative = simd.div_f64s(slope, simd.mul_add_e_f64s(value, alpha, one));
        }
    }
    let code = layout.options.interpolation.normsys;
    for (parameter, &alpha) in scratch.theta[..layout.names.len()].iter().enumerate() {
        if code.is_polynomial(alpha) {
            continue;
        }
        for &entry in layout.normsys_of.entries(parameter) {
            let entry = entry as usize;
            let [value, slope, _] = exponential(-alpha, numbers.ln_hi[entry], numbers.ln_lo[entry]);
            scratch.relative[layout.factors.place[entry] as usize] = slope / value;
        }
    }
}

/// Π of each block's scalar factors.
#[inline(always)]
pub(super) fn products<S: Simd>(simd: S, layout: &Layout, scratch: &mut Scratch) {
    let Scratch { theta, factor, product, .. } = scratch;
    for &[slot, parameter] in &layout.factors.free {
        factor[slot as usize] = theta[parameter as usize];
    }
    let mut start = 0;
    for (products, &end) in quads_mut(product).iter_mut().zip(&layout.factors.ends) {
        let mut lanes = Quad::splat(simd, 1.0);
        for factors in quads(&factor[start..end as usize]) {
            lanes = lanes.mul(simd, Quad::load(simd, factors));
        }
        lanes.store(products);
        start = end as usize;
    }
}

/// Adds the normsys part of the gradient to the sums of [`Scratch`] and that of the other scalar factors to
/// the gradient itself, from the values that the blocks left in `scratch.pull`.
#[inline(always)]
pub(super) fn gradient<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    scratch: &mut Scratch,
) {
    for (index, block) in layout.blocks.iter().enumerate() {
        let product = scratch.product[index];
        if product.is_normal() {
            scratch.pull[index] *= product;
        } else {
            let pull = std::mem::take(&mut scratch.pull[index]);
            vanishing(layout, numbers, block, pull, scratch);
        }
    }
    let sums = scratch.sums.as_mut_slice();
    let pulls = scratch.pull.as_slice();
    let entries = layout.factors.owner.iter().zip(&layout.factors.block);
    for ((&owner, blocks), relatives) in entries.zip(scratch.relative.chunks_exact(LANES)) {
        let pulls = blocks.map(|block| pulls[block as usize]);
        let pairs = vectors::<S>(&pulls).iter().zip(vectors::<S>(relatives));
        let sums = vectors_mut::<S>(&mut sums[owner as usize].0);
        for (sum, (pull, relative)) in sums.iter_mut().zip(pairs) {
            *sum = simd.mul_add_e_f64s(*pull, *relative, *sum);
        }
    }
    for &parameter in &layout.free_parameters {
        let parameter = parameter as usize;
        let mut sum = 0.0;
        for &block in layout.free_of.entries(parameter) {
            sum += pulls[block as usize];
        }
        // If the parameter is zero, all its blocks have vanished (see above).
        if sum != 0.0 {
            scratch.gradient[parameter] += sum / scratch.theta[parameter];
        }
    }
}

/// Handles a block's product that vanishes or overflows: adds its part of the gradient and leaves nothing for
/// [`gradient`].
#[inline(never)]
fn vanishing(layout: &Layout, numbers: &Numbers, block: &Block, pull: f64, scratch: &mut Scratch) {
    let factors = scalar_factors(layout, numbers, block, scratch);
    let others = products_of_others(&factors);
    for (factor, others) in factors.iter().zip(others) {
        scratch.gradient[factor.parameter] += pull * factor.slope * others;
    }
    for &place in &layout.factors.place[block.normsys.clone()] {
        scratch.relative[place as usize] = 0.0;
    }
}

/// A scalar factor of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScalarFactor {
    pub(super) parameter: usize,
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) curvature: f64,
}

/// All factors of a block: those of normfactor and lumi, then those of normsys.
pub(super) fn scalar_factors(
    layout: &Layout,
    numbers: &Numbers,
    block: &Block,
    scratch: &Scratch,
) -> Vec<ScalarFactor> {
    let free = layout.free_factors[block.free_factors.clone()].iter().map(|&parameter| {
        let parameter = parameter as usize;
        ScalarFactor { parameter, value: scratch.theta[parameter], slope: 1.0, curvature: 0.0 }
    });
    let normsys = block.normsys.clone().map(|entry| {
        let parameter = layout.normsys_parameter[entry] as usize;
        let alpha = scratch.theta[parameter];
        let [value, slope, curvature] = if layout.options.interpolation.normsys.is_polynomial(alpha)
        {
            let [value, slope, curvature] =
                polynomial_at(&numbers.coefficients(layout, entry), alpha);
            [1.0 + value, slope, curvature]
        } else {
            exponential(alpha, numbers.ln_hi[entry], numbers.ln_lo[entry])
        };
        ScalarFactor { parameter, value, slope, curvature }
    });
    free.chain(normsys).collect()
}

/// For each factor the product of all the others.
pub(super) fn products_of_others(factors: &[ScalarFactor]) -> Vec<f64> {
    let mut others = vec![1.0; factors.len()];
    let mut before = 1.0;
    for (other, factor) in others.iter_mut().zip(factors) {
        *other = before;
        before *= factor.value;
    }
    let mut after = 1.0;
    for (other, factor) in others.iter_mut().zip(factors).rev() {
        *other *= after;
        after *= factor.value;
    }
    others
}
