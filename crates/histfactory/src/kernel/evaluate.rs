//! The likelihood and its gradient, in one pass over the model.
//!
//! For a block (sample s of a channel) ν_sb = P·G_b·T_b with P the product of the scalar factors,
//! G_b that of the per-bin factors and T_b = ν⁰_b + Σ_h (x_h S_hb + y_h A_hb). With
//! w_b = 1 − n_b/ν_b the gradient is w_b ∂ν_b, and everything it needs of a block is
//! Σ_b w_b G_b T_b and Σ_b w_b G_b S_hb, Σ_b w_b G_b A_hb. No quotient ν/θ appears where it could
//! be 0/0: a product that vanishes is taken apart factor by factor.

use super::bins::{Bins, backward, deviance, forward};
use super::dispatch::{Simd, WithSimd, dispatch};
use super::factors::{factors, gradient, products};
use super::scratch::Scratch;
use crate::model::layout::{LANES, Layout};
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
            for bins in Bins::of(channel) {
                forward(simd, layout, numbers, &bins, scratch);
            }
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
            scratch.sums.fill([0.0; LANES]);
            scratch.pull.fill(0.0);
        }
        let mut nll = numbers.normal_constant;
        for channel in &layout.channels {
            // Their templates are still in the nearest cache on the way back.
            for bins in Bins::of(channel) {
                forward(simd, layout, numbers, &bins, scratch);
                nll += deviance(data, &bins, scratch);
                if GRADIENT {
                    backward(simd, layout, numbers, &bins, scratch);
                }
            }
        }
        if GRADIENT {
            gradient(simd, layout, numbers, scratch);
            for (gradient, [a, b, c, d]) in scratch.gradient.iter_mut().zip(&scratch.sums) {
                *gradient += (a + b) + (c + d);
            }
        }
        nll + constraints::<GRADIENT>(layout, numbers, data, scratch)
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
        let [x, y] = [basis.x, basis.y];
        scratch.basis[parameter] = [x[0], x[0], y[0], y[0]];
        scratch.basis_slope[parameter] = [x[1], x[1], y[1], y[1]];
        scratch.basis_curvature[parameter] = basis.y[2];
    }
    factors::<S, GRADIENT>(simd, layout, numbers, scratch);
    products(simd, layout, scratch);
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
