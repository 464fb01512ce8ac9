//! The contributions of blocks (samples in channels) to the second derivatives.
//!
//! Blocks are processed one after the other. Only the pairs of their parameters are processed for all blocks,
//! a few rows of the dense part at a time, so that the rows stay in the first-level cache.

use super::vanishing::vanishing_part;
use super::{Curvature, Members, Part};
use crate::kernel::dispatch::{Simd, WithSimd, vectors, vectors_mut};
use crate::kernel::quad::{Quad, quads, quads_mut};
use crate::kernel::scratch::{Lanes, Scratch};
use crate::model::layout::{Block, Front, LANES, Layout, Piece, Place, padded};
use crate::model::numbers::Numbers;

/// Rows of the dense part that are filled together.
const STRIP: usize = 16;

/// Collects second derivatives; with EXACT those of the rates too, else only the Jacobian.
pub(super) struct Collect<'a, const EXACT: bool> {
    pub(super) curvature: &'a mut Curvature,
    pub(super) layout: &'a Layout,
    pub(super) numbers: &'a Numbers,
    pub(super) scratch: &'a mut Scratch,
}

impl<const EXACT: bool> WithSimd for Collect<'_, EXACT> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { curvature, layout, numbers, scratch } = self;
        if EXACT {
            curvature.bends(simd, layout, numbers, scratch);
        }
        for (index, block) in layout.blocks.iter().enumerate() {
            curvature.block::<S, EXACT>(simd, layout, numbers, block, index, scratch);
        }
        let Curvature { parts, pairs, .. } = curvature;
        for (part, front) in parts.iter_mut().zip(&layout.elimination.fronts) {
            part.transpose(layout, front);
            if EXACT {
                part.add_pairs(layout, front, pairs);
            }
        }
    }
}

impl Curvature {
    /// η″/η − (η′/η)² of the normsys factors. Not used where η is zero.
    #[inline(always)]
    fn bends<S: Simd>(&mut self, simd: S, layout: &Layout, numbers: &Numbers, scratch: &Scratch) {
        const SECOND: [f64; 5] = [2.0, 6.0, 12.0, 20.0, 30.0];
        let [k2, k3, k4, k5, k6] = SECOND.map(|factor| simd.splat_f64s(factor));
        let code = layout.options.interpolation.normsys;
        let entries = layout.factors.owner.iter().zip(&numbers.polynomial);
        let values = layout.factors.slot.iter().zip(scratch.relative.chunks_exact(LANES));
        let results = self.bend.chunks_exact_mut(LANES).zip(values);
        for ((&owner, powers), (bends, (slots, relatives))) in entries.zip(results) {
            let alpha = scratch.theta[owner as usize];
            if !code.is_polynomial(alpha) {
                bends.fill(0.0);
                continue;
            }
            let alpha = simd.splat_f64s(alpha);
            let [_, c2, c3, c4, c5, c6] = powers.0.each_ref().map(|power| vectors::<S>(power));
            let values = slots.map(|slot| scratch.factor[slot as usize]);
            let values = vectors::<S>(&values).iter().zip(vectors::<S>(relatives));
            for (at, (bend, (value, relative))) in
                vectors_mut::<S>(bends).iter_mut().zip(values).enumerate()
            {
                let mut sum = simd.mul_f64s(k6, c6[at]);
                for (factor, power) in [(k5, c5), (k4, c4), (k3, c3), (k2, c2)] {
                    sum = simd.mul_add_e_f64s(sum, alpha, simd.mul_f64s(factor, power[at]));
                }
                let square = simd.mul_f64s(*relative, *relative);
                *bend = simd.sub_f64s(simd.div_f64s(sum, *value), square);
            }
        }
    }

    #[inline(always)]
    fn block<S: Simd, const EXACT: bool>(
        &mut self,
        simd: S,
        layout: &Layout,
        numbers: &Numbers,
        block: &Block,
        index: usize,
        scratch: &Scratch,
    ) {
        let (bins, width) = (block.bin_count(), padded(block.bin_count()));
        let product = scratch.product[index];
        let places = block.shapes..block.shapes + bins;
        let (shapes, gammas) = (&scratch.shape[places.clone()], &scratch.gamma[places]);
        let mut pull = 0.0;
        if EXACT {
            let weights = &scratch.weight[block.bins.clone()];
            let weighted = &mut self.members.weighted[..width];
            weighted.fill(0.0);
            for (bin, weighted) in weighted[..bins].iter_mut().enumerate() {
                *weighted = weights[bin] * gammas[bin];
                pull += *weighted * shapes[bin];
            }
        }
        self.scalar_part::<EXACT>(layout, numbers, block, scratch, product, pull);
        self.rates(simd, block, scratch);
        self.template_part::<S, EXACT>(simd, layout, numbers, block, scratch, product);
        self.add_rates(simd, layout, block, scratch);
        if block.gamma_count > 0 {
            for bin in 0..bins {
                let base = product * shapes[bin];
                self.per_bin_factors::<EXACT>(layout, block, bin, scratch, base);
            }
        }
        if EXACT {
            let places = &layout.elimination.member[block.members.clone()];
            self.add_block(block, places, product, pull);
        }
    }

    /// The contribution of the scalar factors to the members' rates.
    #[inline(always)]
    fn rates<S: Simd>(&mut self, simd: S, block: &Block, scratch: &Scratch) {
        let width = padded(block.bin_count());
        let Members { slope, rates, .. } = &mut self.members;
        let shapes = vectors::<S>(&scratch.shape[block.shapes..block.shapes + width]);
        let rows = rates.chunks_exact_mut(width.max(1));
        for (row, slope) in rows.zip(&slope[..block.members.len()]) {
            let slope = simd.splat_f64s(*slope);
            for (rate, shape) in vectors_mut::<S>(row).iter_mut().zip(shapes) {
                *rate = simd.mul_f64s(slope, *shape);
            }
        }
    }

    /// The contribution of the templates to the members' rates, to their diagonal and to b.
    #[inline(always)]
    fn template_part<S: Simd, const EXACT: bool>(
        &mut self,
        simd: S,
        layout: &Layout,
        numbers: &Numbers,
        block: &Block,
        scratch: &Scratch,
        product: f64,
    ) {
        self.members.pull[..block.members.len()].fill(0.0);
        for (piece, stream) in block.pieces(&numbers.stream) {
            let part = TemplatePart { simd, layout, block, scratch, product, piece, stream };
            match (piece.whole, piece.all) {
                (0, _) => part.add::<EXACT, 0, 1>(&mut self.members),
                (1, 1) => part.add::<EXACT, 1, 1>(&mut self.members),
                (1, _) => part.add::<EXACT, 1, 2>(&mut self.members),
                (_, _) => part.add::<EXACT, 2, 2>(&mut self.members),
            }
        }
    }

    /// Adds the members' rates, with the per-bin factors, to the Jacobian.
    #[inline(always)]
    fn add_rates<S: Simd>(&mut self, simd: S, layout: &Layout, block: &Block, scratch: &Scratch) {
        let width = padded(block.bin_count());
        let places = &layout.elimination.member[block.members.clone()];
        let gammas = vectors::<S>(&scratch.gamma[block.shapes..block.shapes + width]);
        let rows = self.members.rates.chunks_exact(width.max(1));
        let padded_bins = layout.elimination.fronts[block.front].padded_bins;
        let transposed = &mut self.parts[block.front].transposed[..];
        for (&place, rates) in places.iter().zip(rows) {
            let start = place as usize * padded_bins + block.padded_bins;
            let row = vectors_mut::<S>(&mut transposed[start..start + width]);
            let pairs = vectors::<S>(rates).iter().zip(gammas);
            for (sum, (rate, gamma)) in row.iter_mut().zip(pairs) {
                *sum = simd.mul_add_e_f64s(*rate, *gamma, *sum);
            }
        }
    }

    /// Slopes dP of the scalar factors, diagonal terms, and the vectors a and b without the templates' part
    /// of b.
    #[inline(always)]
    fn scalar_part<const EXACT: bool>(
        &mut self,
        layout: &Layout,
        numbers: &Numbers,
        block: &Block,
        scratch: &Scratch,
        product: f64,
        pull: f64,
    ) {
        let elimination = &layout.elimination;
        let count = block.members.len();
        let members = &mut self.members;
        members.slope[..count].fill(0.0);
        members.a[..count].fill(0.0);
        members.b[..count].fill(0.0);
        members.diagonal[..count].fill(0.0);
        if !product.is_normal() {
            vanishing_part(layout, numbers, block, scratch, pull, members);
            return;
        }
        for entry in block.free_factors.clone() {
            let member = elimination.member_of_free[entry] as usize;
            let slope = product / scratch.theta[layout.free_factors[entry] as usize];
            members.slope[member] = slope;
            members.diagonal[member] -= pull * slope * slope / product;
        }
        let places = &layout.factors.place[block.normsys.clone()];
        let members_of = &elimination.member_of_normsys[block.normsys.clone()];
        for (member, place) in members_of.iter().zip(places) {
            let (member, place) = (*member as usize, *place as usize);
            members.slope[member] = product * scratch.relative[place];
            if EXACT {
                members.diagonal[member] += pull * product * self.bend[place];
            }
        }
    }

    /// Local and global per-bin factors of a block in one bin; `base` is P·T.
    #[inline(always)]
    fn per_bin_factors<const EXACT: bool>(
        &mut self,
        layout: &Layout,
        block: &Block,
        bin: usize,
        scratch: &Scratch,
        base: f64,
    ) {
        let bins = block.bin_count();
        let here = block.bins.start + bin;
        let weight = scratch.weight[here];
        let front = &layout.elimination.fronts[block.front];
        let part = &mut self.parts[block.front];
        let stride = part.dense.stride;
        let width = padded(bins);
        let places = &layout.elimination.member[block.members.clone()];
        let owner =
            |which: usize| layout.gamma_parameter[block.gammas + which * bins + bin] as usize;
        let others = |which: usize, also: usize| -> f64 {
            (0..block.gamma_count)
                .filter(|other| *other != which && *other != also)
                .map(|other| scratch.theta[owner(other)])
                .product()
        };
        for which in 0..block.gamma_count {
            let rest = others(which, which);
            let rates = self.members.rates.chunks_exact(width).map(|rates| rates[bin]);
            match layout.elimination.place[owner(which)] {
                Place::Local(local) => {
                    self.slope[local as usize] += base * rest;
                    if let (true, Some(row)) = (EXACT, self.own_row[local as usize]) {
                        let row = &mut part.rows[row * stride..(row + 1) * stride];
                        for (&place, rate) in places.iter().zip(rates) {
                            row[place as usize] += weight * rest * rate;
                        }
                    }
                }
                Place::Global(own) => {
                    let own = front.index_of(own) as usize;
                    part.transposed[own * front.padded_bins + block.padded_bins + bin] +=
                        base * rest;
                    if EXACT {
                        for (&place, rate) in places.iter().zip(rates) {
                            let place = place as usize;
                            part.dense.values[place.min(own) * stride + place.max(own)] +=
                                weight * rest * rate;
                        }
                    }
                }
            }
            if !EXACT {
                continue;
            }
            for other in which + 1..block.gamma_count {
                let second = weight * base * others(which, other);
                let pair = [owner(which), owner(other)].map(|at| layout.elimination.place[at]);
                match pair {
                    [Place::Global(one), Place::Global(two)] => {
                        let (one, two) = (front.index_of(one), front.index_of(two));
                        let (low, high) = (one.min(two) as usize, one.max(two) as usize);
                        part.dense.row_mut(low)[high] += second;
                    }
                    [Place::Local(one), Place::Local(two)] => {
                        let locals = &layout.elimination.local_of_bin[here];
                        let (one, two) = (one as usize - locals.start, two as usize - locals.start);
                        let start = self.block_of_bin[here];
                        self.blocks[start + one * locals.len() + two] += second;
                        self.blocks[start + two * locals.len() + one] += second;
                    }
                    [Place::Local(local), Place::Global(global)]
                    | [Place::Global(global), Place::Local(local)] => {
                        if let Some(row) = self.own_row[local as usize] {
                            part.rows[row * stride + front.index_of(global) as usize] += second;
                        }
                    }
                }
            }
        }
    }

    /// Stores a and b for the pairs, and adds their part and the diagonal to the diagonal of the dense part.
    #[inline(always)]
    fn add_block(&mut self, block: &Block, places: &[u32], product: f64, pull: f64) {
        let count = block.members.len();
        let Members { a, b, slope, diagonal, pull: pulls, .. } = &mut self.members;
        let (a, b) = (&mut a[..count], &mut b[..count]);
        let (slope, pulls) = (&slope[..count], &pulls[..count]);
        if product.is_normal() {
            let half = 0.5 * pull / product;
            for member in 0..count {
                a[member] = slope[member];
                b[member] = half * slope[member] + pulls[member];
            }
        } else {
            // dP has at most one component here; a is its unit vector, or empty.
            let along: f64 = slope.iter().zip(a.iter()).map(|(slope, a)| slope * a).sum();
            for member in 0..count {
                b[member] += along * pulls[member];
            }
        }
        let dense = &mut self.parts[block.front].dense;
        for (member, &place) in places.iter().enumerate() {
            let place = place as usize;
            dense.row_mut(place)[place] += 2.0 * a[member] * b[member] + diagonal[member];
        }
        self.pairs.a[block.members.clone()].copy_from_slice(a);
        self.pairs.b[block.members.clone()].copy_from_slice(b);
    }
}

impl Part {
    /// The Jacobian, bin by bin.
    #[inline(always)]
    fn transpose(&mut self, layout: &Layout, front: &Front) {
        const TILE: usize = 8;
        let (stride, padded_bins) = (self.dense.stride, front.padded_bins);
        // Strips of parameters that fit in the first-level cache.
        for strip in (0..stride).step_by(TILE) {
            let columns = &self.transposed[strip * padded_bins..(strip + TILE) * padded_bins];
            let mut channel = usize::MAX;
            for &block in &front.blocks {
                let block = &layout.blocks[block as usize];
                // The first block of each channel adds its bins.
                if block.bins.start == channel {
                    continue;
                }
                channel = block.bins.start;
                let row = layout.elimination.row_of_bin[channel] as usize;
                let mut row = row * stride + strip;
                for place in block.padded_bins..block.padded_bins + block.bin_count() {
                    let values = &mut self.jacobian[row..row + TILE];
                    for (value, column) in values.iter_mut().zip(columns.chunks_exact(padded_bins))
                    {
                        *value = column[place];
                    }
                    row += stride;
                }
            }
        }
    }

    /// Adds a bᵀ + b aᵀ of all blocks above the diagonal of the dense part.
    #[inline(always)]
    fn add_pairs(&mut self, layout: &Layout, front: &Front, pairs: &mut Pairs) {
        let stride = self.dense.stride;
        let Pairs { a, b, next, line } = pairs;
        for &block in &front.blocks {
            next[block as usize] = layout.blocks[block as usize].members.start;
        }
        let strips = self.dense.values.chunks_mut(STRIP * stride.max(1));
        for (rows, first) in strips.zip((0..).step_by(STRIP)) {
            for &block in &front.blocks {
                let next = &mut next[block as usize];
                let end = layout.blocks[block as usize].members.end;
                let places = &layout.elimination.member[..end];
                while let Some(&place) = places.get(*next) {
                    let place = place as usize - first;
                    if place >= STRIP {
                        break;
                    }
                    let row = &mut rows[place * stride..(place + 1) * stride];
                    let (of_a, of_b) = (a[*next], b[*next]);
                    *next += 1;
                    if of_a == 0.0 && of_b == 0.0 {
                        continue;
                    }
                    let (a, b) = (&a[*next..end], &b[*next..end]);
                    let line = &mut line[..end - *next];
                    for ((value, a), b) in line.iter_mut().zip(a).zip(b) {
                        *value = of_a * b + of_b * a;
                    }
                    scatter(row, &places[*next..], line);
                }
            }
        }
    }
}

/// A block's templates in some bins.
struct TemplatePart<'a, S> {
    simd: S,
    layout: &'a Layout,
    block: &'a Block,
    scratch: &'a Scratch,
    product: f64,
    piece: Piece,
    stream: &'a [f64],
}

impl<S: Simd> TemplatePart<'_, S> {
    /// For bins that fill WHOLE quads in the stream, ALL with the rest.
    #[inline(always)]
    fn add<const EXACT: bool, const WHOLE: usize, const ALL: usize>(&self, members: &mut Members) {
        let Self { simd, layout, block, scratch, product, .. } = *self;
        let first = self.piece.first;
        let width = padded(block.bin_count());
        let used = block.histosys.start..block.histosys.start + block.histosys_used;
        let owners = &layout.histosys_parameter[used.clone()];
        let member_of = &layout.elimination.member_of_histosys[used];
        let Members { pull, diagonal, rates, weighted, .. } = members;
        let scale = Quad::splat(simd, product);
        let weights = quads(&weighted[first..first + ALL * LANES]);
        let templates = quads(self.stream)[ALL..].chunks_exact(WHOLE + ALL);
        for ((&member, &owner), templates) in member_of.iter().zip(owners).zip(templates) {
            let (member, owner) = (member as usize, owner as usize);
            let Lanes(slopes) = &scratch.basis_slope[owner];
            let (dx, dy) = (Quad::splat(simd, slopes[0]), Quad::splat(simd, slopes[2]));
            let start = member * width + first;
            let rates = quads_mut(&mut rates[start..start + ALL * LANES]);
            let mut pulls = Quad::splat(simd, 0.0);
            let mut evens = pulls;
            for at in 0..ALL {
                let (odd, even);
                if at < WHOLE {
                    odd = Quad::load(simd, &templates[at]);
                    even = Quad::load(simd, &templates[WHOLE + at]);
                } else {
                    let [one, two, even_one, even_two] = templates[2 * WHOLE];
                    odd = Quad::load(simd, &[one, two, 0.0, 0.0]);
                    even = Quad::load(simd, &[even_one, even_two, 0.0, 0.0]);
                }
                let change = dy.mul_add(simd, even, dx.mul(simd, odd));
                let rate = Quad::load(simd, &rates[at]);
                scale.mul_add(simd, change, rate).store(&mut rates[at]);
                if EXACT {
                    let weight = Quad::load(simd, &weights[at]);
                    pulls = weight.mul_add(simd, change, pulls);
                    evens = weight.mul_add(simd, even, evens);
                }
            }
            if EXACT {
                pull[member] += pulls.sum(simd);
                let bend = product * scratch.basis_curvature[owner];
                diagonal[member] += bend * evens.sum(simd);
            }
        }
    }
}

/// The vectors `a` and `b` of all blocks' members, one block after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    a: Vec<f64>,
    b: Vec<f64>,
    /// The next member of each block to be processed.
    next: Vec<usize>,
    /// A row of a bᵀ + b aᵀ.
    line: Vec<f64>,
}

impl Pairs {
    pub(super) fn new(layout: &Layout, widest: usize) -> Self {
        let members = || vec![0.0; layout.elimination.member.len()];
        let next = vec![0; layout.blocks.len()];
        Self { a: members(), b: members(), next, line: vec![0.0; widest] }
    }
}

/// Adds values at distinct places of a row.
#[inline(always)]
fn scatter(row: &mut [f64], places: &[u32], values: &[f64]) {
    let (places, few) = places.as_chunks::<LANES>();
    let (values, rest) = values.as_chunks::<LANES>();
    for (places, values) in places.iter().zip(values) {
        for (&place, value) in places.iter().zip(values) {
            row[place as usize] += value;
        }
    }
    for (&place, value) in few.iter().zip(rest) {
        row[place as usize] += value;
    }
}
