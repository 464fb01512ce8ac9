//! The likelihood and its gradient, in one pass over the model.
//!
//! For a block (sample s of a channel) ν_sb = P·G_b·T_b with P the product of the scalar factors, G_b that of
//! the per-bin factors and T_b = ν⁰_b + Σ_h (x_h S_hb + y_h A_hb). With w_b = 1 − n_b/ν_b the gradient is w_b
//! ∂ν_b, and from a block it only needs Σ_b w_b G_b T_b and Σ_b w_b G_b (x′_h S_hb + y′_h A_hb). A quotient
//! ν/θ is not used if it could be 0/0: a product that vanishes is expanded factor by factor.

use super::bins::{Bins, backward, deviance, forward};
use super::dispatch::{Simd, WithSimd, dispatch};
use super::factors::{factors, gradient, mirrored_factors, products};
use super::scratch::{Lanes, Scratch};
use crate::interpolation::exponential;
use crate::model::layout::{LANES, Layout};
use crate::model::numbers::Numbers;
use crate::special::poisson_deviance;

/// Evaluates at `scratch.theta`; with GRADIENT, `scratch.gradient` holds the gradient afterwards.
struct Evaluate<'a, const GRADIENT: bool> {
    layout: &'a Layout,
    numbers: &'a Numbers,
    data: &'a [f64],
    scratch: &'a mut Scratch,
    slopes: Slopes,
}

/// The side of a kink from which interpolations take their slopes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Slopes {
    /// The side of the parameter.
    Near,
    /// Beyond zero: the gradient there if nothing else changed.
    Far,
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
    scratch.has_slopes = false;
    dispatch(Evaluate::<false> { layout, numbers, data, scratch, slopes: Slopes::Near })
}

/// The same with the gradient left in `scratch.gradient`.
pub(crate) fn value_and_gradient(
    layout: &Layout,
    numbers: &Numbers,
    data: &[f64],
    theta: &[f64],
    slopes: Slopes,
    scratch: &mut Scratch,
) -> f64 {
    scratch.theta[..theta.len()].copy_from_slice(theta);
    scratch.has_slopes = slopes == Slopes::Near;
    dispatch(Evaluate::<true> { layout, numbers, data, scratch, slopes })
}

/// Leaves the gradient in `scratch.gradient` that interpolations would give with the slopes that they have at −α.
/// The rates are those of the latest evaluation, which must have been one of value and gradient.
pub(crate) fn mirrored_gradient(
    layout: &Layout,
    numbers: &Numbers,
    data: &[f64],
    scratch: &mut Scratch,
) {
    scratch.has_slopes = false;
    dispatch(Mirror { layout, numbers, data, scratch });
}

/// Only the rates, left in `scratch.rate`.
pub(crate) fn rates(layout: &Layout, numbers: &Numbers, theta: &[f64], scratch: &mut Scratch) {
    scratch.theta[..theta.len()].copy_from_slice(theta);
    scratch.has_slopes = false;
    dispatch(Rates { layout, numbers, scratch });
}

struct Mirror<'a> {
    layout: &'a Layout,
    numbers: &'a Numbers,
    data: &'a [f64],
    scratch: &'a mut Scratch,
}

impl WithSimd for Mirror<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { layout, numbers, data, scratch } = self;
        mirror(layout, scratch);
        mirrored_factors(simd, layout, numbers, scratch);
        scratch.clear_gradient();
        for channel in &layout.channels {
            for bins in Bins::split(channel) {
                backward(simd, layout, numbers, &bins, scratch);
            }
        }
        gradient(simd, layout, numbers, scratch);
        scratch.add_sums();
        constraints::<true>(layout, numbers, data, scratch);
    }
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
            for bins in Bins::split(channel) {
                forward(simd, layout, numbers, &bins, scratch);
            }
        }
    }
}

impl<const GRADIENT: bool> WithSimd for Evaluate<'_, GRADIENT> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { layout, numbers, data, scratch, slopes } = self;
        parameters::<S, GRADIENT>(simd, layout, numbers, scratch);
        match slopes {
            Slopes::Near => {}
            Slopes::Far => turn(layout, numbers, scratch),
        }
        if GRADIENT {
            scratch.clear_gradient();
        }
        let mut nll = numbers.normal_constant;
        for channel in &layout.channels {
            // Channel by channel, because the first-level cache may still have its templates on the way back.
            for bins in Bins::split(channel) {
                forward(simd, layout, numbers, &bins, scratch);
            }
            nll += deviance(data, channel, scratch);
            if GRADIENT {
                for bins in Bins::split(channel) {
                    backward(simd, layout, numbers, &bins, scratch);
                }
            }
        }
        if GRADIENT {
            gradient(simd, layout, numbers, scratch);
            scratch.add_sums();
        }
        nll + constraints::<GRADIENT>(layout, numbers, data, scratch)
    }
}

/// Bases and factors of all parameters, with the factors' slopes only for a gradient.
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
        scratch.basis[parameter] = Lanes([x[0], x[0], y[0], y[0]]);
        scratch.basis_slope[parameter] = Lanes([x[1], x[1], y[1], y[1]]);
        scratch.basis_curvature[parameter] = basis.y[2];
    }
    factors::<S, GRADIENT>(simd, layout, numbers, scratch);
    products(simd, layout, scratch);
}

/// Uses the slopes of the other side for interpolations with a kink at zero.
#[inline(never)]
fn turn(layout: &Layout, numbers: &Numbers, scratch: &mut Scratch) {
    let interpolation = layout.options.interpolation;
    if interpolation.histosys.has_kink() {
        for &parameter in &layout.histosys_parameters {
            let parameter = parameter as usize;
            let basis = interpolation.histosys.basis(-scratch.theta[parameter]);
            let [x, y] = [basis.x[1], basis.y[1]];
            scratch.basis_slope[parameter] = Lanes([x, x, y, y]);
        }
    }
    if interpolation.normsys.has_kink() {
        for (entry, &parameter) in layout.normsys_parameter.iter().enumerate() {
            let alpha = scratch.theta[parameter as usize];
            let [value, slope, _] = exponential(-alpha, numbers.ln_hi[entry], numbers.ln_lo[entry]);
            scratch.relative[layout.factors.place[entry] as usize] = slope / value;
        }
    }
}

/// Gives templates the slopes that they have at −α.
#[inline(never)]
fn mirror(layout: &Layout, scratch: &mut Scratch) {
    let interpolation = layout.options.interpolation;
    for &parameter in &layout.histosys_parameters {
        let parameter = parameter as usize;
        let basis = interpolation.histosys.basis(-scratch.theta[parameter]);
        let [x, y] = [basis.x[1], basis.y[1]];
        scratch.basis_slope[parameter] = Lanes([x, x, y, y]);
    }
}

#[inline(always)]
fn constraints<const GRADIENT: bool>(
    layout: &Layout,
    numbers: &Numbers,
    data: &[f64],
    scratch: &mut Scratch,
) -> f64 {
    let auxiliary = &data[layout.bins..];
    // Independent sums, which do not wait for each other.
    let mut squares = [0.0; LANES];
    for terms in numbers.normal.chunks(LANES) {
        for (square, term) in squares.iter_mut().zip(terms) {
            let distance =
                (scratch.theta[term.parameter] - auxiliary[term.auxiliary]) * term.inverse_sigma;
            *square += distance * distance;
            if GRADIENT {
                scratch.gradient[term.parameter] += distance * term.inverse_sigma;
            }
        }
    }
    let mut nll = 0.5 * squares.iter().sum::<f64>();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Limits, any};
    use crate::{Model, ModelOptions};

    #[test]
    fn processors_with_shorter_or_no_vectors_compute_the_same() {
        for seed in 0..40 {
            let limits = Limits { channels: 3, bins: 12, samples: 5, modifiers: 8, odd: false };
            let workspace = any(seed, limits);
            let model =
                Model::new(&workspace, &ModelOptions::default()).expect("the workspace is valid");
            check(pulp::Scalar, &model, seed);
            check(pulp::Scalar128b, &model, seed);
        }
    }

    #[test]
    fn far_slopes_at_a_kink_are_those_of_the_other_side() {
        let options =
            ModelOptions { interpolation: crate::Interpolation::PIECEWISE, ..Default::default() };
        let mut jumps = 0;
        for seed in 0..40 {
            let limits = Limits { odd: false, ..Limits::default() };
            let model = Model::new(&any(seed, limits), &options).expect("the workspace is valid");
            let (layout, numbers, data) = (&*model.layout, &model.numbers, &model.observed.values);
            let beside = |step: f64| -> Vec<f64> {
                let values = model.init().iter().zip(model.bounds());
                values.map(|(init, [low, _])| if *low < 0.0 { step } else { *init }).collect()
            };
            let [left, right] = [beside(-1e-12), beside(1e-12)];
            let mut scratch = Scratch::new(layout);
            let mut at = |theta: &[f64], slopes: Slopes| {
                value_and_gradient(layout, numbers, data, theta, slopes, &mut scratch);
                scratch.gradient.clone()
            };
            let [of_left, of_right] = [at(&left, Slopes::Near), at(&right, Slopes::Near)];
            for (near, far) in
                [(at(&left, Slopes::Far), &of_right), (at(&right, Slopes::Far), &of_left)]
            {
                for (there, far) in near.iter().zip(far) {
                    assert!(
                        (there - far).abs() < 1e-8 * (1.0 + far.abs()),
                        "{seed}: {there} {far}"
                    );
                }
            }
            jumps += of_left.iter().zip(&of_right).filter(|(a, b)| (*a - *b).abs() > 1e-3).count();
        }
        assert!(jumps > 20, "{jumps}");
    }

    fn check(simd: impl Simd, model: &Model, seed: u64) {
        let (layout, numbers, data) = (&*model.layout, &model.numbers, &model.observed.values);
        let mut scratch = Scratch::new(layout);
        let theta: Vec<f64> = model.init().iter().map(|value| value + 0.1).collect();
        let ours = value_and_gradient(layout, numbers, data, &theta, Slopes::Near, &mut scratch);
        let gradient = scratch.gradient.clone();
        let kernel =
            Evaluate::<true> { layout, numbers, data, scratch: &mut scratch, slopes: Slopes::Near };
        let theirs = kernel.with_simd(simd);
        assert!((ours - theirs).abs() <= 1e-12 * theirs.abs(), "{seed}: {ours} {theirs}");
        for (ours, theirs) in gradient.iter().zip(&scratch.gradient) {
            assert!((ours - theirs).abs() <= 1e-10 * (1.0 + theirs.abs()), "{seed}");
        }
    }
}
