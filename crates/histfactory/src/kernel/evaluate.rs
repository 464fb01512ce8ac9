//! The likelihood and its gradient, in one pass over the model.
//!
//! For a block (sample s of a channel) ν_sb = P·G_b·T_b with P the product of the scalar factors,
//! G_b that of the per-bin factors and T_b = ν⁰_b + Σ_h (x_h S_hb + y_h A_hb). With
//! w_b = 1 − n_b/ν_b the gradient is w_b ∂ν_b, and everything it needs of a block is
//! Σ_b w_b G_b T_b and Σ_b w_b G_b S_hb, Σ_b w_b G_b A_hb. No quotient ν/θ appears where it could
//! be 0/0: a product that vanishes is taken apart factor by factor.

use std::ops::Range;

use super::dispatch::{Simd, WithSimd, dispatch, vectors, vectors_mut};
use super::scratch::{Scratch, Sums};
use crate::interpolation::exponential;
use crate::model::layout::{Block, ChannelLayout, LANES, Layout, padded};
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
        parameters::<S, false>(simd, layout, numbers, scratch);
        for channel in &layout.channels {
            rates_of(simd, layout, numbers, channel, scratch);
        }
    }
}

impl<const GRADIENT: bool> WithSimd for Evaluate<'_, GRADIENT> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { layout, numbers, data, scratch } = self;
        parameters::<S, GRADIENT>(simd, layout, numbers, scratch);
        if GRADIENT {
            scratch.gradient.fill(0.0);
            scratch.sums.fill(Sums::default());
        }
        let mut nll = numbers.normal_constant;
        // Channel by channel: a channel's templates are still in the nearest cache on the way back.
        for channel in &layout.channels {
            rates_of(simd, layout, numbers, channel, scratch);
            scratch.weight[in_whole_vectors(&channel.bins)].fill(0.0);
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
        if GRADIENT {
            through_bases(simd, layout, scratch);
        }
        nll + constraints::<GRADIENT>(layout, numbers, data, scratch)
    }
}

/// A channel's bins and what fills their last vector: the beginning of the next channel, whose
/// values come later.
#[inline(always)]
fn in_whole_vectors(bins: &Range<usize>) -> Range<usize> {
    bins.start..bins.start + padded(bins.len())
}

/// The rates of a channel, and what its blocks leave for the way back.
#[inline(always)]
fn rates_of<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    channel: &ChannelLayout,
    scratch: &mut Scratch,
) {
    scratch.rate[in_whole_vectors(&channel.bins)].fill(0.0);
    for index in channel.blocks.clone() {
        forward(simd, layout, numbers, &layout.blocks[index], index, scratch);
    }
}

/// Bases and factors of all parameters; slopes of the factors only for a gradient.
#[inline(always)]
fn parameters<S: Simd, const GRADIENT: bool>(
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
    // A slice of its own: the compiler then knows that no store moves it.
    let theta = scratch.theta.as_slice();
    let results = scratch.factor.chunks_exact_mut(LANES).zip(scratch.slope.chunks_exact_mut(LANES));
    let entries = layout.normsys_parameter.chunks_exact(LANES).zip(&numbers.polynomial);
    for ((owners, powers), (factors, slopes)) in entries.zip(results) {
        let alphas = gather(theta, owners);
        let alphas = vectors::<S>(&alphas);
        let [c1, c2, c3, c4, c5, c6] = powers.0.each_ref().map(|power| vectors::<S>(power));
        let (factors, slopes) = (vectors_mut::<S>(factors), vectors_mut::<S>(slopes));
        for at in 0..LANES / S::F64_LANES {
            let alpha = alphas[at];
            // Horner's scheme for the value and the slope side by side.
            let mut value = c6[at];
            let mut slope = c6[at];
            for power in [c5, c4, c3, c2, c1] {
                value = simd.mul_add_e_f64s(value, alpha, power[at]);
                if GRADIENT {
                    slope = simd.mul_add_e_f64s(slope, alpha, value);
                }
            }
            factors[at] = simd.mul_add_e_f64s(value, alpha, simd.splat_f64s(1.0));
            if GRADIENT {
                slopes[at] = slope;
            }
        }
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

/// The values at as many places as a vector has.
#[inline(always)]
pub(super) fn gather(values: &[f64], places: &[u32]) -> [f64; LANES] {
    std::array::from_fn(|lane| values[places[lane] as usize])
}

/// T, G and P of a block; its rates are added to those of the bins.
#[inline(always)]
fn forward<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    block: &Block,
    index: usize,
    scratch: &mut Scratch,
) {
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
    let owners = &layout.histosys_parameter[block.histosys.start..][..block.entries()];
    for (first, stream) in block.chunks(&numbers.stream) {
        let stream = vectors::<S>(stream);
        let group = block.width_at(first) / S::F64_LANES;
        match group {
            1 => shapes::<S, 1>(simd, owners, stream, 1, first, 0, block, scratch),
            2 => shapes::<S, 2>(simd, owners, stream, 2, first, 0, block, scratch),
            _ => {
                for offset in (0..group).step_by(2) {
                    shapes::<S, 2>(simd, owners, stream, group, first, offset, block, scratch);
                }
            }
        }
    }
    per_bin_factors(simd, layout, block, product, scratch);
}

/// T in N vectors of bins out of a `group` that the stream holds side by side, from `offset` on.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what a kernel works on")]
fn shapes<S: Simd, const N: usize>(
    simd: S,
    owners: &[u32],
    stream: &[S::f64s],
    group: usize,
    first: usize,
    offset: usize,
    block: &Block,
    scratch: &mut Scratch,
) {
    let basis = scratch.basis.as_slice();
    let (nominal, templates) = stream.split_at(group);
    let zero = simd.splat_f64s(0.0);
    // Two histosys at a time and S apart from A: sums that do not wait for each other.
    let mut sums = [[zero; 4]; N];
    for n in 0..N {
        sums[n][0] = nominal[offset + n];
    }
    for (owners, templates) in owners.chunks_exact(2).zip(templates.chunks_exact(4 * group)) {
        let [x, y] = basis[owners[0] as usize].map(|value| simd.splat_f64s(value));
        let [also_x, also_y] = basis[owners[1] as usize].map(|value| simd.splat_f64s(value));
        for (n, sum) in sums.iter_mut().enumerate() {
            let at = offset + n;
            sum[0] = simd.mul_add_e_f64s(x, templates[at], sum[0]);
            sum[1] = simd.mul_add_e_f64s(y, templates[group + at], sum[1]);
            sum[2] = simd.mul_add_e_f64s(also_x, templates[2 * group + at], sum[2]);
            sum[3] = simd.mul_add_e_f64s(also_y, templates[3 * group + at], sum[3]);
        }
    }
    let start = block.yields + first + offset * S::F64_LANES;
    let shapes = vectors_mut::<S>(&mut scratch.shape[start..start + N * S::F64_LANES]);
    for (shape, sum) in shapes.iter_mut().zip(sums) {
        let [odd, even] = [simd.add_f64s(sum[0], sum[2]), simd.add_f64s(sum[1], sum[3])];
        *shape = simd.add_f64s(odd, even);
    }
}

/// G of a block, and its rates added to those of the bins.
#[inline(always)]
fn per_bin_factors<S: Simd>(
    simd: S,
    layout: &Layout,
    block: &Block,
    product: f64,
    scratch: &mut Scratch,
) {
    let bins = padded(block.bin_count());
    let firsts = &layout.gamma_first[block.gamma_firsts.clone()];
    let shapes = vectors::<S>(&scratch.shape[block.yields..block.yields + bins]);
    let gammas = vectors_mut::<S>(&mut scratch.gamma[block.yields..block.yields + bins]);
    let rates = vectors_mut::<S>(&mut scratch.rate[block.bins.start..block.bins.start + bins]);
    let product = simd.splat_f64s(product);
    for (at, ((gamma, shape), rate)) in gammas.iter_mut().zip(shapes).zip(rates).enumerate() {
        *gamma = neighbours(simd, &scratch.theta, firsts, at, None);
        let scaled = simd.mul_f64s(product, *gamma);
        *rate = simd.mul_add_e_f64s(scaled, *shape, *rate);
    }
}

/// Π of per-bin factors in a vector of bins, but for one of them.
#[inline(always)]
fn neighbours<S: Simd>(
    simd: S,
    theta: &[f64],
    firsts: &[u32],
    vector: usize,
    without: Option<usize>,
) -> S::f64s {
    let mut product = simd.splat_f64s(1.0);
    for (which, first) in firsts.iter().enumerate() {
        if without != Some(which) {
            let start = *first as usize + vector * S::F64_LANES;
            for factor in vectors::<S>(&theta[start..start + S::F64_LANES]) {
                product = simd.mul_f64s(product, *factor);
            }
        }
    }
    product
}

/// Adds a block's part of the gradient; that of histosys parameters to the sums of [`Scratch`].
#[inline(always)]
fn backward<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    block: &Block,
    index: usize,
    scratch: &mut Scratch,
) {
    let product = scratch.product[index];
    let pull = of_per_bin_factors(simd, layout, block, product, scratch);
    let owners = &layout.histosys_parameter[block.histosys.start..][..block.entries()];
    for (first, stream) in block.chunks(&numbers.stream) {
        let stream = vectors::<S>(stream);
        let group = block.width_at(first) / S::F64_LANES;
        match group {
            1 => templates::<S, 1>(simd, owners, stream, 1, first, 0, scratch),
            2 => templates::<S, 2>(simd, owners, stream, 2, first, 0, scratch),
            _ => {
                for offset in (0..group).step_by(2) {
                    templates::<S, 2>(simd, owners, stream, group, first, offset, scratch);
                }
            }
        }
    }
    if !product.is_normal() {
        vanishing(layout, block, pull, scratch);
        return;
    }
    let gradient = scratch.gradient.as_mut_slice();
    let pull = pull * product;
    for &parameter in &layout.free_factors[block.free_factors.clone()] {
        gradient[parameter as usize] += pull / scratch.theta[parameter as usize];
    }
    let entries = block.normsys.clone();
    let values = scratch.factor[entries.clone()].chunks_exact(LANES);
    let slopes = scratch.slope[entries.clone()].chunks_exact(LANES);
    let owners = layout.normsys_parameter[entries].chunks_exact(LANES);
    let pull = simd.splat_f64s(pull);
    for ((owners, values), slopes) in owners.zip(values).zip(slopes) {
        let mut parts = [0.0; LANES];
        let pairs = vectors::<S>(values).iter().zip(vectors::<S>(slopes));
        for (part, (value, slope)) in vectors_mut::<S>(&mut parts).iter_mut().zip(pairs) {
            *part = simd.div_f64s(simd.mul_f64s(pull, *slope), *value);
        }
        for (&owner, part) in owners.iter().zip(parts) {
            gradient[owner as usize] += part;
        }
    }
}

/// Adds the gradient in a block's per-bin factors; leaves P w G and returns Σ w G T.
#[inline(always)]
fn of_per_bin_factors<S: Simd>(
    simd: S,
    layout: &Layout,
    block: &Block,
    product: f64,
    scratch: &mut Scratch,
) -> f64 {
    let bins = padded(block.bin_count());
    let firsts = &layout.gamma_first[block.gamma_firsts.clone()];
    let weights = vectors::<S>(&scratch.weight[block.bins.start..block.bins.start + bins]);
    let shapes = vectors::<S>(&scratch.shape[block.yields..block.yields + bins]);
    let gammas = vectors::<S>(&scratch.gamma[block.yields..block.yields + bins]);
    let scaled = vectors_mut::<S>(&mut scratch.scaled[..bins]);
    let product = simd.splat_f64s(product);
    let mut pull = simd.splat_f64s(0.0);
    // Weights are zero beyond the bins, so whatever the others are there counts for nothing.
    for (at, (scaled, weight)) in scaled.iter_mut().zip(weights).enumerate() {
        let whole = simd.mul_f64s(*weight, gammas[at]);
        pull = simd.mul_add_e_f64s(whole, shapes[at], pull);
        *scaled = simd.mul_f64s(product, whole);
        let base = simd.mul_f64s(simd.mul_f64s(product, *weight), shapes[at]);
        for (which, first) in firsts.iter().enumerate() {
            let others = neighbours(simd, &scratch.theta, firsts, at, Some(which));
            let start = *first as usize + at * S::F64_LANES;
            let slopes = &mut scratch.gradient[start..start + S::F64_LANES];
            for slope in vectors_mut::<S>(slopes) {
                *slope = simd.mul_add_e_f64s(base, others, *slope);
            }
        }
    }
    simd.reduce_sum_f64s(pull)
}

/// Adds P w G S and P w G A of each histosys to its parameter's sums; bins as in [`shapes`].
#[inline(always)]
fn templates<S: Simd, const N: usize>(
    simd: S,
    owners: &[u32],
    stream: &[S::f64s],
    group: usize,
    first: usize,
    offset: usize,
    scratch: &mut Scratch,
) {
    let start = first + offset * S::F64_LANES;
    let scaled = vectors::<S>(&scratch.scaled[start..start + N * S::F64_LANES]);
    let scaled: [S::f64s; N] = std::array::from_fn(|n| scaled[n]);
    let templates = stream[group..].chunks_exact(2 * group);
    for (&owner, templates) in owners.iter().zip(templates) {
        let Sums([odds, evens]) = &mut scratch.sums[owner as usize];
        let (odds, evens) = (vectors_mut::<S>(odds), vectors_mut::<S>(evens));
        let (mut odd, mut even) = (odds[0], evens[0]);
        for n in 0..N {
            odd = simd.mul_add_e_f64s(scaled[n], templates[offset + n], odd);
            even = simd.mul_add_e_f64s(scaled[n], templates[group + offset + n], even);
        }
        (odds[0], evens[0]) = (odd, even);
    }
}

/// Adds what the histosys parameters' sums are to the gradient.
#[inline(always)]
fn through_bases<S: Simd>(simd: S, layout: &Layout, scratch: &mut Scratch) {
    for &parameter in &layout.histosys_parameters {
        let parameter = parameter as usize;
        let [dx, dy] = scratch.basis_slope[parameter];
        let Sums(sums) = &scratch.sums[parameter];
        let [odd, even] = sums.each_ref().map(|sums| simd.reduce_sum_f64s(vectors::<S>(sums)[0]));
        scratch.gradient[parameter] += dx * odd + dy * even;
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
