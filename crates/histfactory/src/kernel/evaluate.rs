//! The likelihood and its gradient, in one pass over the model.
//!
//! For a block (sample s of a channel) ν_sb = P·G_b·T_b with P the product of the scalar factors,
//! G_b that of the per-bin factors and T_b = ν⁰_b + Σ_h (x_h S_hb + y_h A_hb). With
//! w_b = 1 − n_b/ν_b the gradient is w_b ∂ν_b, and everything it needs of a block is
//! Σ_b w_b G_b T_b and Σ_b w_b G_b S_hb, Σ_b w_b G_b A_hb. No quotient ν/θ appears where it could
//! be 0/0: a product that vanishes is taken apart factor by factor.

use super::dispatch::{Kernel, dispatch, fma};
use super::scratch::Scratch;
use crate::interpolation::exponential;
use crate::model::layout::{Block, LANES, Layout};
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

impl Kernel for Rates<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { layout, numbers, scratch } = self;
        parameters::<FMA>(layout, numbers, scratch);
        scratch.rate.fill(0.0);
        for (index, block) in layout.blocks.iter().enumerate() {
            forward::<FMA>(layout, numbers, block, index, scratch);
        }
    }
}

impl<const GRADIENT: bool> Kernel for Evaluate<'_, GRADIENT> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let Self { layout, numbers, data, scratch } = self;
        parameters::<FMA>(layout, numbers, scratch);
        scratch.rate.fill(0.0);
        scratch.gradient.fill(0.0);
        let mut nll = numbers.normal_constant;
        // Channel by channel: a channel's templates are still in the nearest cache on the way back.
        for channel in &layout.channels {
            for index in channel.blocks.clone() {
                forward::<FMA>(layout, numbers, &layout.blocks[index], index, scratch);
            }
            for bin in channel.bins.clone() {
                let (n, rate) = (data[bin], scratch.rate[bin]);
                nll += poisson_deviance(n, rate);
                scratch.weight[bin] = if n == 0.0 { 1.0 } else { (rate - n) / rate };
            }
            if GRADIENT {
                for index in channel.blocks.clone() {
                    backward::<FMA>(layout, numbers, &layout.blocks[index], index, scratch);
                }
            }
        }
        nll + constraints::<GRADIENT>(layout, numbers, data, scratch)
    }
}

/// Bases and factors of all parameters.
#[inline(always)]
pub(super) fn parameters<const FMA: bool>(
    layout: &Layout,
    numbers: &Numbers,
    scratch: &mut Scratch,
) {
    let interpolation = layout.options.interpolation;
    for &parameter in &layout.histosys_parameters {
        let parameter = parameter as usize;
        let basis = interpolation.histosys.basis(scratch.theta[parameter]);
        [scratch.x[parameter], scratch.dx[parameter], scratch.ddx[parameter]] = basis.x;
        [scratch.y[parameter], scratch.dy[parameter], scratch.ddy[parameter]] = basis.y;
    }
    let (owners, _) = layout.normsys_parameter.as_chunks::<LANES>();
    let (values, _) = scratch.factor.as_chunks_mut::<LANES>();
    let (slopes, _) = scratch.slope.as_chunks_mut::<LANES>();
    for (((owner, coefficients), value), slope) in
        owners.iter().zip(&numbers.polynomial).zip(values).zip(slopes)
    {
        let alpha = owner.map(|parameter| scratch.theta[parameter as usize]);
        let mut v = [0.0; LANES];
        let mut d = [0.0; LANES];
        for power in (0..6).rev() {
            for lane in 0..LANES {
                d[lane] = fma::<FMA>(d[lane], alpha[lane], v[lane]);
                v[lane] = fma::<FMA>(v[lane], alpha[lane], coefficients[power][lane]);
            }
        }
        for lane in 0..LANES {
            slope[lane] = fma::<FMA>(d[lane], alpha[lane], v[lane]);
            value[lane] = fma::<FMA>(v[lane], alpha[lane], 1.0);
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

/// T, G and P of a block; its rates are added to those of the bins.
#[inline(always)]
pub(super) fn forward<const FMA: bool>(
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
    let (factors, _) = scratch.factor[block.normsys.clone()].as_chunks::<LANES>();
    let mut lanes = [1.0; LANES];
    for factor in factors {
        for lane in 0..LANES {
            lanes[lane] *= factor[lane];
        }
    }
    product *= (lanes[0] * lanes[1]) * (lanes[2] * lanes[3]);
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
    shape.copy_from_slice(&numbers.nominal[yields.clone()]);
    let stride = block.stride();
    if stride > 0 {
        let owners = &layout.histosys_parameter[block.histosys.clone()];
        let [xs, ys] = &mut scratch.gathered;
        let (xs, ys) = (&mut xs[..stride], &mut ys[..stride]);
        for ((x, y), &owner) in xs.iter_mut().zip(ys.iter_mut()).zip(owners) {
            *x = scratch.x[owner as usize];
            *y = scratch.y[owner as usize];
        }
        let templates = block.templates..block.templates + bins * stride;
        let odd = numbers.odd[templates.clone()].chunks_exact(stride);
        let even = numbers.even[templates].chunks_exact(stride);
        for ((shape, odd), even) in shape.iter_mut().zip(odd).zip(even) {
            *shape += dot2::<FMA>(xs, odd, ys, even);
        }
    }
    let rates = &mut scratch.rate[block.bins.clone()];
    for ((rate, shape), gamma) in rates.iter_mut().zip(shape.iter()).zip(gamma.iter()) {
        *rate += product * gamma * shape;
    }
}

/// a·b + c·d, for slices of whole vectors.
#[inline(always)]
fn dot2<const FMA: bool>(a: &[f64], b: &[f64], c: &[f64], d: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<LANES>().0, b.as_chunks::<LANES>().0);
    let (c, d) = (c.as_chunks::<LANES>().0, d.as_chunks::<LANES>().0);
    let mut first = [0.0; LANES];
    let mut second = [0.0; LANES];
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        for lane in 0..LANES {
            first[lane] = fma::<FMA>(a[lane], b[lane], first[lane]);
            second[lane] = fma::<FMA>(c[lane], d[lane], second[lane]);
        }
    }
    let sum = [0, 1, 2, 3].map(|lane| first[lane] + second[lane]);
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}

/// Adds a block's part of the gradient.
#[inline(always)]
fn backward<const FMA: bool>(
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
    for ((weight, shape), gamma) in weights.iter().zip(shape).zip(gamma) {
        pull = fma::<FMA>(weight * gamma, *shape, pull);
    }
    let gradient = &mut scratch.gradient;

    if block.gamma_count > 0 {
        let owners = &layout.gamma_parameter[block.gammas..block.gammas + block.gamma_count * bins];
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
        let [scaled, _] = &mut scratch.gathered;
        // Few bins: their weights are kept beside the templates.
        scaled.resize(scaled.len().max(bins), 0.0);
        for ((scaled, weight), gamma) in scaled.iter_mut().zip(weights).zip(gamma) {
            *scaled = product * weight * gamma;
        }
        let scaled = &scaled[..bins];
        let owners = layout.histosys_parameter[block.histosys.clone()].as_chunks::<LANES>().0;
        let templates = block.templates..block.templates + bins * stride;
        let (odd, even) = (&numbers.odd[templates.clone()], &numbers.even[templates]);
        for (vector, owners) in owners.iter().enumerate() {
            let mut of_odd = [0.0; LANES];
            let mut of_even = [0.0; LANES];
            let rows = odd.chunks_exact(stride).zip(even.chunks_exact(stride));
            for ((odd, even), &q) in rows.zip(scaled) {
                let odd = &odd.as_chunks::<LANES>().0[vector];
                let even = &even.as_chunks::<LANES>().0[vector];
                for lane in 0..LANES {
                    of_odd[lane] = fma::<FMA>(q, odd[lane], of_odd[lane]);
                    of_even[lane] = fma::<FMA>(q, even[lane], of_even[lane]);
                }
            }
            for lane in 0..LANES {
                let owner = owners[lane] as usize;
                gradient[owner] +=
                    scratch.dx[owner] * of_odd[lane] + scratch.dy[owner] * of_even[lane];
            }
        }
    }

    if product.is_normal() {
        let pull = pull * product;
        for &parameter in &layout.free_factors[block.free_factors.clone()] {
            gradient[parameter as usize] += pull / scratch.theta[parameter as usize];
        }
        let owners = layout.normsys_parameter[block.normsys.clone()].as_chunks::<LANES>().0;
        let values = scratch.factor[block.normsys.clone()].as_chunks::<LANES>().0;
        let slopes = scratch.slope[block.normsys.clone()].as_chunks::<LANES>().0;
        for ((owners, values), slopes) in owners.iter().zip(values).zip(slopes) {
            let mut part = [0.0; LANES];
            for lane in 0..LANES {
                part[lane] = pull * slopes[lane] / values[lane];
            }
            for lane in 0..LANES {
                gradient[owners[lane] as usize] += part[lane];
            }
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
