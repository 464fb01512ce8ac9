//! Rates and gradient of a few neighbouring bins of a channel, so that their sums stay in registers for all
//! samples.

use std::ops::Range;

use super::dispatch::Simd;
use super::quad::{Quad, quads, quads_mut};
use super::scratch::{Lanes, Scratch};
use crate::model::layout::{ChannelLayout, LANES, Layout, Outline, Piece, WIDE};
use crate::model::numbers::Numbers;
use crate::special::poisson_deviance;

/// Bins of a channel that are contiguous in the stream.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    /// The channel's samples.
    blocks: Range<usize>,
    /// The bins' range in the model.
    range: Range<usize>,
    piece: Piece,
}

impl Bins {
    /// All bins of a channel.
    #[inline(always)]
    pub(super) fn split(channel: &ChannelLayout) -> impl Iterator<Item = Self> {
        Piece::split(channel.bins.len()).map(|piece| {
            let start = channel.bins.start + piece.first;
            Self { blocks: channel.blocks.clone(), range: start..start + piece.count, piece }
        })
    }
}

/// The parameters of a block's histosys, and its part of the stream in these bins.
#[inline(always)]
fn stream<'a>(
    layout: &'a Layout,
    numbers: &'a Numbers,
    outline: &Outline,
    bins: &Bins,
) -> (&'a [u32], &'a [[f64; LANES]]) {
    let entries = outline.entries as usize;
    let owners = &layout.histosys_parameter[outline.histosys as usize..][..entries];
    let start = outline.stream as usize + bins.piece.start(entries);
    (owners, quads(&numbers.stream[start..start + bins.piece.length(entries)]))
}

/// T, G and the rates.
#[inline(always)]
pub(super) fn forward<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    bins: &Bins,
    scratch: &mut Scratch,
) {
    match (bins.piece.whole, bins.piece.all) {
        (0, _) => rates::<S, 0, 1>(simd, layout, numbers, bins, scratch),
        (1, 1) => rates::<S, 1, 1>(simd, layout, numbers, bins, scratch),
        (1, _) => rates::<S, 1, 2>(simd, layout, numbers, bins, scratch),
        (_, _) => rates::<S, 2, 2>(simd, layout, numbers, bins, scratch),
    }
}

/// The same for bins that fill WHOLE quads in the stream, ALL with the rest.
#[inline(always)]
fn rates<S: Simd, const WHOLE: usize, const ALL: usize>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    bins: &Bins,
    scratch: &mut Scratch,
) {
    let first = bins.piece.first;
    let Scratch { theta, basis, product, shape, gamma, rate, .. } = scratch;
    let mut rates = [Quad::splat(simd, 0.0); ALL];
    let outlines = &layout.outlines[bins.blocks.clone()];
    for (outline, product) in outlines.iter().zip(&product[bins.blocks.clone()]) {
        let (owners, stream) = stream(layout, numbers, outline, bins);
        let sums = shapes::<S, WHOLE, ALL>(simd, owners, stream, basis);
        let firsts = &layout.gamma_first[outline.gammas()];
        let factors = neighbours::<S, ALL>(simd, theta, firsts, first, None);
        let start = outline.shapes as usize + first;
        let shapes = quads_mut(&mut shape[start..start + ALL * LANES]);
        let gammas = quads_mut(&mut gamma[start..start + ALL * LANES]);
        let product = Quad::splat(simd, *product);
        for at in 0..ALL {
            sums[at].store(&mut shapes[at]);
            factors[at].store(&mut gammas[at]);
            rates[at] = product.mul(simd, factors[at]).mul_add(simd, sums[at], rates[at]);
        }
    }
    let places = quads_mut(&mut rate[bins.range.start..bins.range.start + ALL * LANES]);
    for (rates, place) in rates.into_iter().zip(places) {
        rates.store(place);
    }
}

/// T of a block.
#[inline(always)]
fn shapes<S: Simd, const WHOLE: usize, const ALL: usize>(
    simd: S,
    owners: &[u32],
    stream: &[[f64; LANES]],
    basis: &[Lanes],
) -> [Quad<S>; ALL] {
    let (nominal, templates) = stream.split_at(ALL);
    let zero = Quad::splat(simd, 0.0);
    // Two histosys at a time, with S separate from A, so that the sums do not wait for each other.
    let (mut sums, mut also) = ([[zero; ALL], [zero; ALL]], [[zero; ALL], [zero; ALL]]);
    for at in 0..ALL {
        sums[0][at] = Quad::load(simd, &nominal[at]);
    }
    let (pairs, last) = owners.as_chunks::<2>();
    let mut templates = templates.chunks_exact(WHOLE + ALL);
    for &[owner, other] in pairs {
        if let (Some(one), Some(two)) = (templates.next(), templates.next()) {
            sums = add::<S, WHOLE, ALL>(simd, &basis[owner as usize], one, sums);
            also = add::<S, WHOLE, ALL>(simd, &basis[other as usize], two, also);
        }
    }
    if let ([owner], Some(one)) = (last, templates.next()) {
        sums = add::<S, WHOLE, ALL>(simd, &basis[*owner as usize], one, sums);
    }
    let mut result = [zero; ALL];
    for at in 0..ALL {
        let odd = sums[0][at].add(simd, also[0][at]);
        let even = sums[1][at].add(simd, also[1][at]);
        result[at] = if at < WHOLE { odd.add(simd, even) } else { odd.fold(simd) };
    }
    result
}

/// Adds x S and y A of a histosys.
#[inline(always)]
fn add<S: Simd, const WHOLE: usize, const ALL: usize>(
    simd: S,
    Lanes(basis): &Lanes,
    templates: &[[f64; LANES]],
    [mut odd, mut even]: [[Quad<S>; ALL]; 2],
) -> [[Quad<S>; ALL]; 2] {
    let (x, y) = (Quad::splat(simd, basis[0]), Quad::splat(simd, basis[2]));
    for at in 0..WHOLE {
        odd[at] = x.mul_add(simd, Quad::load(simd, &templates[at]), odd[at]);
        even[at] = y.mul_add(simd, Quad::load(simd, &templates[WHOLE + at]), even[at]);
    }
    if WHOLE < ALL {
        let both = Quad::load(simd, &templates[2 * WHOLE]);
        odd[WHOLE] = Quad::load(simd, basis).mul_add(simd, both, odd[WHOLE]);
    }
    [odd, even]
}

/// The product of per-bin factors from bin `first` of the channel on, except one of them.
#[inline(always)]
fn neighbours<S: Simd, const ALL: usize>(
    simd: S,
    theta: &[f64],
    firsts: &[u32],
    first: usize,
    without: Option<usize>,
) -> [Quad<S>; ALL] {
    let mut product = [Quad::splat(simd, 1.0); ALL];
    for (which, start) in firsts.iter().enumerate() {
        if without != Some(which) {
            let start = *start as usize + first;
            let factors = quads(&theta[start..start + ALL * LANES]);
            for at in 0..ALL {
                product[at] = product[at].mul(simd, Quad::load(simd, &factors[at]));
            }
        }
    }
    product
}

/// −ln L of a channel's bins; leaves 1 − n/ν.
#[inline(always)]
pub(super) fn deviance(data: &[f64], channel: &ChannelLayout, scratch: &mut Scratch) -> f64 {
    let mut nll = 0.0;
    for bin in channel.bins.clone() {
        let (n, rate) = (data[bin], scratch.rate[bin]);
        nll += poisson_deviance(n, rate);
        scratch.weight[bin] = if n == 0.0 { 1.0 } else { (rate - n) / rate };
    }
    nll
}

/// Adds the gradient in the per-bin factors, adds Σ w G T of each block to its pull, and adds that of
/// histosys parameters to the sums of [`Scratch`].
#[inline(always)]
pub(super) fn backward<S: Simd>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    bins: &Bins,
    scratch: &mut Scratch,
) {
    match (bins.piece.whole, bins.piece.all) {
        (0, _) => gradient::<S, 0, 1>(simd, layout, numbers, bins, scratch),
        (1, 1) => gradient::<S, 1, 1>(simd, layout, numbers, bins, scratch),
        (1, _) => gradient::<S, 1, 2>(simd, layout, numbers, bins, scratch),
        (_, _) => gradient::<S, 2, 2>(simd, layout, numbers, bins, scratch),
    }
}

/// The same as in [`rates`].
#[inline(always)]
fn gradient<S: Simd, const WHOLE: usize, const ALL: usize>(
    simd: S,
    layout: &Layout,
    numbers: &Numbers,
    bins: &Bins,
    scratch: &mut Scratch,
) {
    let first = bins.piece.first;
    let Scratch { theta, basis_slope, product, pull, shape, gamma, weight, gradient, sums, .. } =
        scratch;
    // Weights are zero beyond the bins, so the other values there have no effect.
    let mut padded = [0.0; WIDE];
    padded[..bins.range.len()].copy_from_slice(&weight[bins.range.clone()]);
    let mut weights = [Quad::splat(simd, 0.0); ALL];
    for at in 0..ALL {
        weights[at] = Quad::load(simd, &quads(&padded)[at]);
    }
    let blocks = product[bins.blocks.clone()].iter().zip(&mut pull[bins.blocks.clone()]);
    // In reverse order: the first-level cache still has their templates.
    for (outline, (product, pull)) in layout.outlines[bins.blocks.clone()].iter().zip(blocks).rev()
    {
        let start = outline.shapes as usize + first;
        let shapes = quads(&shape[start..start + ALL * LANES]);
        let gammas = quads(&gamma[start..start + ALL * LANES]);
        let product = Quad::splat(simd, *product);
        let (mut scaled, mut bases) = (weights, weights);
        let mut pulls = Quad::splat(simd, 0.0);
        for at in 0..ALL {
            let shape = Quad::load(simd, &shapes[at]);
            let whole = weights[at].mul(simd, Quad::load(simd, &gammas[at]));
            pulls = whole.mul_add(simd, shape, pulls);
            scaled[at] = product.mul(simd, whole);
            bases[at] = product.mul(simd, weights[at]).mul(simd, shape);
        }
        *pull += pulls.sum(simd);
        let firsts = &layout.gamma_first[outline.gammas()];
        for (which, start) in firsts.iter().enumerate() {
            let others = neighbours::<S, ALL>(simd, theta, firsts, first, Some(which));
            let start = *start as usize + first;
            let slopes = quads_mut(&mut gradient[start..start + ALL * LANES]);
            for at in 0..ALL {
                let slope = Quad::load(simd, &slopes[at]);
                bases[at].mul_add(simd, others[at], slope).store(&mut slopes[at]);
            }
        }
        let (owners, stream) = stream(layout, numbers, outline, bins);
        templates::<S, WHOLE, ALL>(simd, owners, &stream[ALL..], scaled, basis_slope, sums);
    }
}

/// Adds P w G (x′S + y′A) of each histosys to its parameter's sums.
#[inline(always)]
fn templates<S: Simd, const WHOLE: usize, const ALL: usize>(
    simd: S,
    owners: &[u32],
    templates: &[[f64; LANES]],
    mut scaled: [Quad<S>; ALL],
    slopes: &[Lanes],
    sums: &mut [Lanes],
) {
    if WHOLE < ALL {
        scaled[WHOLE] = scaled[WHOLE].fold(simd);
    }
    for (&owner, templates) in owners.iter().zip(templates.chunks_exact(WHOLE + ALL)) {
        let Lanes(slopes) = &slopes[owner as usize];
        let (dx, dy) = (Quad::splat(simd, slopes[0]), Quad::splat(simd, slopes[2]));
        let Lanes(place) = &mut sums[owner as usize];
        let mut sum = Quad::load(simd, place);
        for at in 0..WHOLE {
            let odd = dx.mul(simd, Quad::load(simd, &templates[at]));
            let both = dy.mul_add(simd, Quad::load(simd, &templates[WHOLE + at]), odd);
            sum = scaled[at].mul_add(simd, both, sum);
        }
        if WHOLE < ALL {
            let both = Quad::load(simd, slopes).mul(simd, Quad::load(simd, &templates[2 * WHOLE]));
            sum = scaled[WHOLE].mul_add(simd, both, sum);
        }
        sum.store(place);
    }
}
