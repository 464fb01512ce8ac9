//! The likelihood and its gradient, in one pass over the model.
//!
//! For a block (sample s of a channel) ν_sb = P·G_b·T_b with P the product of the scalar factors,
//! G_b that of the per-bin factors and T_b = ν⁰_b + Σ_h (x_h S_hb + y_h A_hb). With
//! w_b = 1 − n_b/ν_b the gradient is w_b ∂ν_b, and everything it needs of a block is
//! Σ_b w_b G_b T_b and Σ_b w_b G_b S_hb, Σ_b w_b G_b A_hb. No quotient ν/θ appears where it could
//! be 0/0: a product that vanishes is taken apart factor by factor.

use super::dispatch::{Simd, WithSimd, dispatch, vectors, vectors_mut};
use super::scratch::Scratch;
use crate::interpolation::exponential;
use crate::model::layout::{Block, Layout};
use crate::model::numbers::Numbers;
use crate::special::poisson_deviance;

/// Evaluates at `scratch.theta`; with GRADIENT, `scratch.gradient` holds the gradient afterwards.
struct Evaluate<'a, const GRADIENT: bool> {
    layout: &'a Layout,
    numbers: &'a Numbers,
    data: &'a [f64],
    scratch: &'a mut Scratch,
}

/// −ln L without the part that only the data determine.
pub(crate) fn value(
    layout: &Layout,
    numbers: &Numbers,
    data: &[f64],
    theta: &[f64],
    scratch: &mut Scratch,
) -> f64 {
    scratch.theta[..theta.len()].copy_from_slice(theta);
    dispatch(Evaluate::<false> { layout, numbers, data, scratch })
}

/// The same with the gradient left in `scratch.gradient`.
pub(crate) fn value_and_gradient(
    layout: &Layout,
    numbers: &Numbers,
    data: &[f64],
    theta: &[f64],
    scratch: &mut Scratch,
) -> f64 {
    scratch.theta[..theta.len()].copy_from_slice(theta);
    dispatch(Evaluate::<true> { layout, numbers, data, scratch })
}

/// Only the rates, left in `scratch.rate`.
pub(crate) fn rates(layout: &Layout, numbers: &Numbers, theta: &[f64], scratch: &mut Scratch) {
    scratch.theta[..theta.len()].copy_from_slice(theta);
    dispatch(Rates { layout, numbers, scratch });
}

struct Rates<'a> {
    layout: &'a Layout,
    numbers: &'a Numbers,
    scratch: &'a mut Scratch,
}

impl WithSimd for Rates<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { layout, numbers, scratch } = self;
        parameters(simd, layout, numbers, scratch);
        scratch.rate.fill(0.0);
        for (index, block) in layout.blocks.iter().enumerate() {
            forward(simd, layout, numbers, block, index, scratch);
        }
    }
}

impl<const GRADIENT: bool> WithSimd for Evaluate<'_, GRADIENT> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { layout, numbers, data, scratch } = self;
        parameters(simd, layout, numbers, scratch);
        scratch.rate.fill(0.0);
        scratch.gradient.fill(0.0);
        let mut nll = numbers.normal_constant;
        // Channel by channel: a channel's templates are still in the nearest cache on the way back.
        for channel in &layout.channels {
            for index in channel.blocks.clone() {
                forward(simd, layout, numbers, &layout.blocks[index], index, scratch);
            }
            for bin in channel.bins.clone() {
                let (n, rate) = (data[bin], scratch.rate[bin]);
                nll += poisson_deviance(n, rate);
                scratch.weight[bin] = if n == 0.0 { 1.0 } else { (rate - n) / rate };
            }
            if GRADIENT {
                for index in channel.blocks.clone() {
                    backward(simd, layout, numbers, &layout.blocks[index], index, scratch);
                }
            }
        }
        nll + constraints::<GRADIENT>(layout, numbers, data, scratch)
    }
}

/// Bases and factors of all parameters.
#[inline(always)]
pub(super) fn parameters<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    scratch: &mut Scratch,
) {
    let interpolation = layout.options.interpolation;
    for &parameter in &layout.histosys_parameters {
        let parameter = parameter as usize;
        let basis = interpolation.histosys.basis(scratch.theta[parameter]);
        scratch.basis[parameter] = [basis.x[0], basis.y[0]];
        scratch.basis_slope[parameter] = [basis.x[1], basis.y[1]];
        scratch.basis_curvature[parameter] = basis.y[2];
    }
    // Slices of their own, here and below: the compiler then knows that no store moves them.
    let theta = scratch.theta.as_slice();
    for (alpha, &owner) in scratch.alpha.iter_mut().zip(&layout.normsys_parameter) {
        *alpha = theta[owner as usize];
    }
    let alphas = vectors::<S>(&scratch.alpha);
    let count = alphas.len();
    let [c1, c2, c3, c4, c5, c6] =
        numbers.polynomial.each_ref().map(|power| &vectors::<S>(power)[..count]);
    let factors = &mut vectors_mut::<S>(&mut scratch.factor)[..count];
    let slopes = &mut vectors_mut::<S>(&mut scratch.slope)[..count];
    let one = simd.splat_f64s(1.0);
    for at in 0..count {
        let alpha = alphas[at];
        // Horner's scheme for the value and the slope side by side.
        let mut value = c6[at];
        let mut slope = c6[at];
        value = simd.mul_add_e_f64s(value, alpha, c5[at]);
        slope = simd.mul_add_e_f64s(slope, alpha, value);
        value = simd.mul_add_e_f64s(value, alpha, c4[at]);
        slope = simd.mul_add_e_f64s(slope, alpha, value);
        value = simd.mul_add_e_f64s(value, alpha, c3[at]);
        slope = simd.mul_add_e_f64s(slope, alpha, value);
        value = simd.mul_add_e_f64s(value, alpha, c2[at]);
        slope = simd.mul_add_e_f64s(slope, alpha, value);
        value = simd.mul_add_e_f64s(value, alpha, c1[at]);
        slope = simd.mul_add_e_f64s(slope, alpha, value);
        factors[at] = simd.mul_add_e_f64s(value, alpha, one);
        slopes[at] = slope;
    }
    for (parameter, &alpha) in scratch.theta[..layout.names.len()].iter().enumerate() {
        if interpolation.normsys.is_polynomial(alpha) {
            continue;
        }
        for &entry in layout.normsys_of.of(parameter) {
            let entry = entry as usize;
            let [value, slope, _] = exponential(alpha, numbers.ln_hi[entry], numbers.ln_lo[entry]);
            (scratch.factor[entry], scratch.slope[entry]) = (value, slope);
        }
    }
}

/// T, G and P of a block; its rates are added to those of the bins.
#[inline(always)]
pub(super) fn forward<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    block: &Block,
    index: usize,
    scratch: &mut Scratch,
) {
    let bins = block.bin_count();
    let yields = block.yields..block.yields + bins;
    let mut product = 1.0;
    for &parameter in &layout.free_factors[block.free_factors.clone()] {
        product *= scratch.theta[parameter as usize];
    }
    let mut lanes = simd.splat_f64s(1.0);
    for factor in vectors::<S>(&scratch.factor[block.normsys.clone()]) {
        lanes = simd.mul_f64s(lanes, *factor);
    }
    product *= simd.reduce_product_f64s(lanes);
    scratch.product[index] = product;

    let gamma = &mut scratch.gamma[yields.clone()];
    gamma.fill(1.0);
    let owners = &layout.gamma_parameter[block.gammas..block.gammas + block.gamma_count * bins];
    for owners in owners.chunks_exact(bins.max(1)) {
        for (gamma, &owner) in gamma.iter_mut().zip(owners) {
            *gamma *= scratch.theta[owner as usize];
        }
    }

    let shape = &mut scratch.shape[yields.clone()];
    shape.copy_from_slice(&numbers.nominal[yields]);
    let stride = block.stride();
    if stride > 0 {
        let owners = &layout.histosys_parameter[block.histosys.clone()];
        let [xs, ys] = &mut scratch.gathered;
        let (xs, ys) = (&mut xs[..stride], &mut ys[..stride]);
        let basis = scratch.basis.as_slice();
        for ((x, y), &owner) in xs.iter_mut().zip(ys.iter_mut()).zip(owners) {
            [*x, *y] = basis[owner as usize];
        }
        let (xs, ys) = (vectors::<S>(xs), vectors::<S>(ys));
        let templates = block.templates..block.templates + bins * stride;
        let (odd, even) = (&numbers.odd[templates.clone()], &numbers.even[templates]);
        // Two bins at a time: the bases are loaded once for both.
        let pairs = odd.chunks_exact(2 * stride).zip(even.chunks_exact(2 * stride));
        for (shape, (odd, even)) in shape.chunks_exact_mut(2).zip(pairs) {
            let ((odd_1, odd_2), (even_1, even_2)) = (odd.split_at(stride), even.split_at(stride));
            let (odd_1, odd_2) = (vectors::<S>(odd_1), vectors::<S>(odd_2));
            let (even_1, even_2) = (vectors::<S>(even_1), vectors::<S>(even_2));
            let [mut one, mut two] = [simd.splat_f64s(0.0); 2];
            let [mut bend_1, mut bend_2] = [one; 2];
            let count = xs.len().min(ys.len());
            let (odd_1, odd_2) = (&odd_1[..count], &odd_2[..count]);
            let (even_1, even_2) = (&even_1[..count], &even_2[..count]);
            for at in 0..count {
                let (x, y) = (xs[at], ys[at]);
                one = simd.mul_add_e_f64s(x, odd_1[at], one);
                two = simd.mul_add_e_f64s(x, odd_2[at], two);
                bend_1 = simd.mul_add_e_f64s(y, even_1[at], bend_1);
                bend_2 = simd.mul_add_e_f64s(y, even_2[at], bend_2);
            }
            shape[0] += simd.reduce_sum_f64s(simd.add_f64s(one, bend_1));
            shape[1] += simd.reduce_sum_f64s(simd.add_f64s(two, bend_2));
        }
        if bins % 2 == 1 {
            let last = (bins - 1) * stride;
            let (odd, even) = (vectors::<S>(&odd[last..]), vectors::<S>(&even[last..]));
            let mut first = simd.splat_f64s(0.0);
            let mut second = first;
            for (((x, y), odd), even) in xs.iter().zip(ys).zip(odd).zip(even) {
                first = simd.mul_add_e_f64s(*x, *odd, first);
                second = simd.mul_add_e_f64s(*y, *even, second);
            }
            shape[bins - 1] += simd.reduce_sum_f64s(simd.add_f64s(first, second));
        }
    }
    let rates = &mut scratch.rate[block.bins.clone()];
    for ((rate, shape), gamma) in rates.iter_mut().zip(shape.iter()).zip(gamma.iter()) {
        *rate += product * gamma * shape;
    }
}

/// Adds a block's part of the gradient.
#[inline(always)]
fn backward<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    block: &Block,
    index: usize,
    scratch: &mut Scratch,
) {
    let bins = block.bin_count();
    let product = scratch.product[index];
    let yields = block.yields..block.yields + bins;
    let weights = &scratch.weight[block.bins.clone()];
    let (shape, gamma) = (&scratch.shape[yields.clone()], &scratch.gamma[yields]);
    let mut pull = 0.0;
    let scaled = &mut scratch.scaled[..bins];
    for (((scaled, weight), shape), gamma) in scaled.iter_mut().zip(weights).zip(shape).zip(gamma) {
        let weight = weight * gamma;
        pull += weight * shape;
        *scaled = product * weight;
    }
    let gradient = scratch.gradient.as_mut_slice();
    let slopes = &scratch.basis_slope[..gradient.len()];

    let owners = &layout.gamma_parameter[block.gammas..block.gammas + block.gamma_count * bins];
    if block.gamma_count == 1 {
        for ((&owner, weight), shape) in owners.iter().zip(weights).zip(shape) {
            gradient[owner as usize] += product * weight * shape;
        }
    } else {
        for which in 0..block.gamma_count {
            for bin in 0..bins {
                let mut others = 1.0;
                for other in 0..block.gamma_count {
                    if other != which {
                        others *= scratch.theta[owners[other * bins + bin] as usize];
                    }
                }
                gradient[owners[which * bins + bin] as usize] +=
                    weights[bin] * product * shape[bin] * others;
            }
        }
    }

    let stride = block.stride();
    if stride > 0 {
        let [of_odd, of_even] = &mut scratch.gathered;
        let (of_odd, of_even) = (&mut of_odd[..stride], &mut of_even[..stride]);
        let templates = block.templates..block.templates + bins * stride;
        let odd = vectors::<S>(&numbers.odd[templates.clone()]);
        let even = vectors::<S>(&numbers.even[templates]);
        let width = stride / S::F64_LANES;
        let sums = vectors_mut::<S>(of_odd).iter_mut().zip(vectors_mut::<S>(of_even));
        for (vector, (of_odd, of_even)) in sums.enumerate() {
            let mut first = simd.splat_f64s(0.0);
            let mut second = first;
            let odd = odd[vector..].iter().step_by(width);
            let even = even[vector..].iter().step_by(width);
            for ((&q, odd), even) in scaled.iter().zip(odd).zip(even) {
                let q = simd.splat_f64s(q);
                first = simd.mul_add_e_f64s(q, *odd, first);
                second = simd.mul_add_e_f64s(q, *even, second);
            }
            (*of_odd, *of_even) = (first, second);
        }
        let owners = &layout.histosys_parameter[block.histosys.clone()];
        for ((&owner, odd), even) in owners.iter().zip(of_odd.iter()).zip(of_even.iter()) {
            let owner = owner as usize;
            let [dx, dy] = slopes[owner];
            gradient[owner] += dx * odd + dy * even;
        }
    }

    if product.is_normal() {
        let pull = pull * product;
        for &parameter in &layout.free_factors[block.free_factors.clone()] {
            gradient[parameter as usize] += pull / scratch.theta[parameter as usize];
        }
        let entries = block.normsys.clone();
        let parts = &mut scratch.parts[..entries.len()];
        let all = simd.splat_f64s(pull);
        let values = vectors::<S>(&scratch.factor[entries.clone()]);
        let slopes = vectors::<S>(&scratch.slope[entries.clone()]);
        for ((part, value), slope) in vectors_mut::<S>(parts).iter_mut().zip(values).zip(slopes) {
            *part = simd.div_f64s(simd.mul_f64s(all, *slope), *value);
        }
        for (&owner, part) in layout.normsys_parameter[entries].iter().zip(parts.iter()) {
            gradient[owner as usize] += part;
        }
    } else {
        vanishing(layout, block, pull, scratch);
    }
}

/// The scalar factors of a block whose product vanishes or leaves the range of numbers.
#[inline(never)]
fn vanishing(layout: &Layout, block: &Block, pull: f64, scratch: &mut Scratch) {
    let factors = scalar_factors(layout, block, scratch);
    let others = products_of_others(&factors);
    for (factor, others) in factors.iter().zip(others) {
        scratch.gradient[factor.parameter] += pull * factor.slope * others;
    }
}

/// A scalar factor of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScalarFactor {
    pub(super) parameter: usize,
    pub(super) value: f64,
    pub(super) slope: f64,
}

pub(super) fn scalar_factors(
    layout: &Layout,
    block: &Block,
    scratch: &Scratch,
) -> Vec<ScalarFactor> {
    let free = layout.free_factors[block.free_factors.clone()].iter().map(|&parameter| {
        let parameter = parameter as usize;
        ScalarFactor { parameter, value: scratch.theta[parameter], slope: 1.0 }
    });
    let first = block.normsys.start;
    let normsys = (first..first + block.normsys_used).map(|entry| ScalarFactor {
        parameter: layout.normsys_parameter[entry] as usize,
        value: scratch.factor[entry],
        slope: scratch.slope[entry],
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

#[inline(always)]
fn constraints<const GRADIENT: bool>(
    layout: &Layout,
    numbers: &Numbers,
    data: &[f64],
    scratch: &mut Scratch,
) -> f64 {
    let auxiliary = &data[layout.bins..];
    let mut nll = 0.0;
    for term in &numbers.normal {
        let distance =
            (scratch.theta[term.parameter] - auxiliary[term.auxiliary]) * term.inverse_sigma;
        nll += 0.5 * distance * distance;
        if GRADIENT {
            scratch.gradient[term.parameter] += distance * term.inverse_sigma;
        }
    }
    for term in &numbers.poisson {
        let (gamma, n) = (scratch.theta[term.parameter], auxiliary[term.auxiliary]);
        nll += poisson_deviance(n, gamma * term.factor);
        if GRADIENT {
            scratch.gradient[term.parameter] +=
                if n == 0.0 { term.factor } else { (gamma * term.factor - n) / gamma };
        }
    }
    nll
}
