//! Second derivatives of the likelihood, kept in the structure that the model gives them.
//!
//! H = Σ_b v_b ∂ν_b ∂ν_bᵀ + Σ_b w_b ∂²ν_b + constraints, with v = n/ν² and w = 1 − n/ν (exactly),
//! or v = 1/ν and w = 0 (Fisher). Parameters of one bin ("local") have no second derivatives with
//! each other unless they share the bin, so only rows against the other ("global") parameters and
//! small blocks are kept. Where a local factor γ multiplies a whole bin its row is that bin's
//! gradient times a number, which is all that is stored.
//!
//! Within a block ∂²ν has off the diagonal the form a bᵀ + b aᵀ: with dP = ∂P and
//! v_m = Σ_b w_b G_b ∂T_b, a = dP and b = v + c dP/2P where c = Σ_b w_b G_b T_b; a vanishing
//! factor is written in the same form, see `scalar_part`.

mod vanishing;

use vanishing::vanishing_part;

use super::aligned::Aligned;
use super::dispatch::{Simd, WithSimd, dispatch, vectors, vectors_mut};
use super::evaluate::gather;
use super::scratch::Scratch;
use crate::interpolation::exponential;
use crate::linalg::Symmetric;
use crate::model::layout::{Block, LANES, Layout, Place, padded};
use crate::model::numbers::Numbers;

/// Which second derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Information {
    /// Those of the likelihood on these data.
    Exact,
    /// Their expectation, without curvature of the rates: never indefinite.
    Fisher,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Curvature {
    /// Everything but Σ v ∂ν ∂νᵀ, upper triangle.
    pub(crate) dense: Symmetric,
    /// ∂ν_b in the global parameters, rows of the dense part's stride.
    pub(crate) jacobian: Aligned,
    pub(crate) v: Vec<f64>,
    /// ∂ν_b in the local parameters.
    pub(crate) slope: Vec<f64>,
    /// Rows of the local parameters: a multiple of the bin's gradient …
    pub(crate) multiple: Vec<f64>,
    /// … or, where that does not do, `Some` row of `rows`.
    pub(crate) own_row: Vec<Option<usize>>,
    pub(crate) rows: Vec<f64>,
    /// Local times local, without v·slope·slope: for each bin, a full square.
    pub(crate) blocks: Vec<f64>,
    pub(crate) block_of_bin: Vec<usize>,
    /// Memory for products.
    pub(crate) scaled: Aligned,
    /// The Jacobian by parameter, its bins where each channel begins with a whole vector.
    transposed: Aligned,
    members: Members,
}

/// A block's members: see the top of the file.
#[derive(Debug, Clone, Default)]
struct Members {
    a: Vec<f64>,
    b: Vec<f64>,
    slope: Vec<f64>,
    diagonal: Vec<f64>,
    pull: Vec<f64>,
    /// ∂ν_sb in the bins of each, padded, without the per-bin factors.
    rates: Aligned,
    /// Of the block's bins, padded with zeros: w, and w G.
    weights: Vec<f64>,
    weighted: Vec<f64>,
    /// A row of a bᵀ + b aᵀ.
    line: Vec<f64>,
}

impl Curvature {
    pub(crate) fn new(layout: &Layout) -> Self {
        let elimination = &layout.elimination;
        let dense = Symmetric::new(elimination.global.len());
        let mut start = 0;
        let mut block_of_bin = Vec::with_capacity(layout.bins);
        for locals in &elimination.local_of_bin {
            block_of_bin.push(start);
            start += locals.len() * locals.len();
        }
        let locals = elimination.local.len();
        let widest = layout.blocks.iter().map(|block| block.members.len()).max().unwrap_or(0);
        let of_members = || vec![0.0; widest];
        let most_bins = layout.blocks.iter().map(Block::bin_count).max().unwrap_or(0);
        let of_bins = || vec![0.0; padded(most_bins)];
        let rates =
            layout.blocks.iter().map(|block| block.members.len() * padded(block.bin_count()));
        Self {
            jacobian: Aligned::zeros(layout.bins * dense.stride),
            v: vec![0.0; layout.bins],
            slope: vec![0.0; locals],
            multiple: vec![0.0; locals],
            own_row: vec![None; locals],
            rows: Vec::new(),
            blocks: vec![0.0; start],
            block_of_bin,
            scaled: Aligned::default(),
            members: Members {
                a: of_members(),
                b: of_members(),
                slope: of_members(),
                diagonal: of_members(),
                pull: of_members(),
                rates: Aligned::zeros(rates.max().unwrap_or(0)),
                weights: of_bins(),
                weighted: of_bins(),
                line: of_members(),
            },
            transposed: Aligned::zeros(dense.stride * layout.padded_bins),
            dense,
        }
    }

    /// Fills in the second derivatives at the point of the latest evaluation.
    pub(crate) fn collect(
        &mut self,
        layout: &Layout,
        numbers: &Numbers,
        data: &[f64],
        scratch: &mut Scratch,
        information: Information,
    ) {
        self.clear(layout, data, scratch, information);
        let exact = information == Information::Exact;
        dispatch(Collect { curvature: self, layout, numbers, scratch, exact });
        self.constraints(layout, numbers, data, scratch, information);
        if exact {
            self.scale_multiples(layout, scratch);
        }
    }

    fn clear(
        &mut self,
        layout: &Layout,
        data: &[f64],
        scratch: &Scratch,
        information: Information,
    ) {
        self.dense.values.fill(0.0);
        self.transposed.fill(0.0);
        self.slope.fill(0.0);
        self.multiple.fill(0.0);
        self.blocks.fill(0.0);
        for (bin, v) in self.v.iter_mut().enumerate() {
            let rate = scratch.rate[bin];
            *v = match information {
                Information::Fisher => 1.0 / rate.max(1e-10),
                Information::Exact if data[bin] == 0.0 => 0.0,
                Information::Exact => data[bin] / (rate * rate),
            };
        }
        let elimination = &layout.elimination;
        let mut rows = 0;
        for (local, own) in self.own_row.iter_mut().enumerate() {
            let value = scratch.theta[elimination.local[local] as usize];
            *own = None;
            if !(elimination.covers_bin[local] && value.is_normal()) {
                *own = Some(rows);
                rows += 1;
            }
        }
        self.rows.clear();
        self.rows.resize(rows * self.dense.stride, 0.0);
    }

    /// Of a factor that covers its bin: w ∂²ν/∂γ∂θ = (w/γ) ∂ν/∂θ.
    fn scale_multiples(&mut self, layout: &Layout, scratch: &Scratch) {
        for (bin, locals) in layout.elimination.local_of_bin.iter().enumerate() {
            for local in locals.clone() {
                let value = scratch.theta[layout.elimination.local[local] as usize];
                if self.own_row[local].is_none() {
                    self.multiple[local] = scratch.weight[bin] / value;
                }
            }
        }
    }

    fn constraints(
        &mut self,
        layout: &Layout,
        numbers: &Numbers,
        data: &[f64],
        scratch: &Scratch,
        information: Information,
    ) {
        for term in &numbers.normal {
            let inverse = term.inverse_sigma;
            self.add_diagonal(layout, term.parameter, inverse * inverse);
        }
        for term in &numbers.poisson {
            let (gamma, n) = (scratch.theta[term.parameter], data[layout.bins + term.auxiliary]);
            let second = match information {
                Information::Exact => n / (gamma * gamma),
                Information::Fisher => term.factor / gamma.max(1e-10),
            };
            self.add_diagonal(layout, term.parameter, second);
        }
    }

    fn add_diagonal(&mut self, layout: &Layout, parameter: usize, second: f64) {
        match layout.elimination.place[parameter] {
            Place::Global(place) => self.dense.row_mut(place as usize)[place as usize] += second,
            Place::Local(local) => {
                let local = local as usize;
                let bin = bin_of(layout, local);
                let locals = &layout.elimination.local_of_bin[bin];
                let (row, count) = (local - locals.start, locals.len());
                self.blocks[self.block_of_bin[bin] + row * count + row] += second;
            }
        }
    }
}

/// The bin of a local parameter.
fn bin_of(layout: &Layout, local: usize) -> usize {
    layout.elimination.local_of_bin.partition_point(|locals| locals.end <= local)
}

struct Collect<'a> {
    curvature: &'a mut Curvature,
    layout: &'a Layout,
    numbers: &'a Numbers,
    scratch: &'a mut Scratch,
    exact: bool,
}

impl WithSimd for Collect<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { curvature, layout, numbers, scratch, exact } = self;
        if exact {
            factor_curvatures(simd, layout, numbers, scratch);
        }
        for (index, block) in layout.blocks.iter().enumerate() {
            curvature.block(simd, layout, numbers, block, index, scratch, exact);
        }
        curvature.transpose(layout);
    }
}

/// Second derivatives of the normsys factors.
#[inline(always)]
fn factor_curvatures<S: Simd>(simd: S, layout: &Layout, numbers: &Numbers, scratch: &mut Scratch) {
    const SECOND: [f64; 5] = [2.0, 6.0, 12.0, 20.0, 30.0];
    let [k2, k3, k4, k5, k6] = SECOND.map(|factor| simd.splat_f64s(factor));
    let entries = layout.normsys_parameter.chunks_exact(LANES).zip(&numbers.polynomial);
    for ((owners, powers), curvatures) in entries.zip(scratch.curvature.chunks_exact_mut(LANES)) {
        let alphas = gather(&scratch.theta, owners);
        let [_, c2, c3, c4, c5, c6] = powers.0.each_ref().map(|power| vectors::<S>(power));
        let pairs = vectors_mut::<S>(curvatures).iter_mut().zip(vectors::<S>(&alphas));
        for (at, (curvature, alpha)) in pairs.enumerate() {
            let mut sum = simd.mul_f64s(k6, c6[at]);
            for (factor, power) in [(k5, c5), (k4, c4), (k3, c3), (k2, c2)] {
                sum = simd.mul_add_e_f64s(sum, *alpha, simd.mul_f64s(factor, power[at]));
            }
            *curvature = sum;
        }
    }
    let code = layout.options.interpolation.normsys;
    for (parameter, &alpha) in scratch.theta[..layout.names.len()].iter().enumerate() {
        if code.is_polynomial(alpha) {
            continue;
        }
        for &entry in layout.normsys_of.of(parameter) {
            let entry = entry as usize;
            let [_, _, second] = exponential(alpha, numbers.ln_hi[entry], numbers.ln_lo[entry]);
            scratch.curvature[entry] = second;
        }
    }
}

impl Curvature {
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what a kernel works on")]
    fn block<S: Simd>(
        &mut self,
        simd: S,
        layout: &Layout,
        numbers: &Numbers,
        block: &Block,
        index: usize,
        scratch: &Scratch,
        exact: bool,
    ) {
        let (bins, width) = (block.bin_count(), padded(block.bin_count()));
        let product = scratch.product[index];
        let yields = block.yields..block.yields + bins;
        let (shapes, gammas) = (&scratch.shape[yields.clone()], &scratch.gamma[yields]);
        let Members { weights, weighted, .. } = &mut self.members;
        weights[..width].fill(0.0);
        weighted[..width].fill(0.0);
        weights[..bins].copy_from_slice(&scratch.weight[block.bins.clone()]);
        let mut pull = 0.0;
        for (bin, weighted) in weighted[..bins].iter_mut().enumerate() {
            *weighted = weights[bin] * gammas[bin];
            pull += *weighted * shapes[bin];
        }
        self.scalar_part(layout, block, scratch, product, pull, exact);
        self.rates(simd, block, scratch);
        self.template_part(simd, layout, numbers, block, scratch, product);
        self.add_rates(simd, layout, block, scratch);
        if block.gamma_count > 0 {
            for bin in 0..bins {
                self.per_bin_factors(layout, block, bin, scratch, product * shapes[bin], exact);
            }
        }
        if exact {
            let places = &layout.elimination.member[block.members.clone()];
            self.add_block(block, places, product, pull);
        }
    }

    /// What the scalar factors give to the members' rates.
    #[inline(always)]
    fn rates<S: Simd>(&mut self, simd: S, block: &Block, scratch: &Scratch) {
        let width = padded(block.bin_count());
        let Members { slope, rates, .. } = &mut self.members;
        let shapes = vectors::<S>(&scratch.shape[block.yields..block.yields + width]);
        let rows = rates.chunks_exact_mut(width.max(1));
        for (row, slope) in rows.zip(&slope[..block.members.len()]) {
            let slope = simd.splat_f64s(*slope);
            for (rate, shape) in vectors_mut::<S>(row).iter_mut().zip(shapes) {
                *rate = simd.mul_f64s(slope, *shape);
            }
        }
    }

    /// What the templates give to the members' rates, to their diagonal and to b.
    #[inline(always)]
    fn template_part<S: Simd>(
        &mut self,
        simd: S,
        layout: &Layout,
        numbers: &Numbers,
        block: &Block,
        scratch: &Scratch,
        product: f64,
    ) {
        let width = padded(block.bin_count());
        let used = block.histosys.start..block.histosys.start + block.histosys_used;
        let owners = &layout.histosys_parameter[used.clone()];
        let member_of = &layout.elimination.member_of_histosys[used];
        let Members { pull, diagonal, rates, weighted, .. } = &mut self.members;
        pull[..block.members.len()].fill(0.0);
        let scale = simd.splat_f64s(product);
        for (first, stream) in block.chunks(&numbers.stream) {
            let stream = vectors::<S>(stream);
            let group = block.width_at(first) / S::F64_LANES;
            let lanes = group * S::F64_LANES;
            let weighted = vectors::<S>(&weighted[first..first + lanes]);
            let templates = stream[group..].chunks_exact(2 * group);
            for ((&member, &owner), templates) in member_of.iter().zip(owners).zip(templates) {
                let (member, owner) = (member as usize, owner as usize);
                let (odd, even) = templates.split_at(group);
                let [dx, dy] = scratch.basis_slope[owner].map(|slope| simd.splat_f64s(slope));
                let start = member * width + first;
                let rates = vectors_mut::<S>(&mut rates[start..start + lanes]);
                let mut pulls = simd.splat_f64s(0.0);
                let mut evens = pulls;
                for at in 0..group {
                    let whole = simd.mul_add_e_f64s(dy, even[at], simd.mul_f64s(dx, odd[at]));
                    rates[at] = simd.mul_add_e_f64s(scale, whole, rates[at]);
                    pulls = simd.mul_add_e_f64s(weighted[at], whole, pulls);
                    evens = simd.mul_add_e_f64s(weighted[at], even[at], evens);
                }
                pull[member] += simd.reduce_sum_f64s(pulls);
                let bend = product * scratch.basis_curvature[owner];
                diagonal[member] += bend * simd.reduce_sum_f64s(evens);
            }
        }
    }

    /// Adds the members' rates, with the per-bin factors, to the Jacobian.
    #[inline(always)]
    fn add_rates<S: Simd>(&mut self, simd: S, layout: &Layout, block: &Block, scratch: &Scratch) {
        let width = padded(block.bin_count());
        let places = &layout.elimination.member[block.members.clone()];
        let gammas = vectors::<S>(&scratch.gamma[block.yields..block.yields + width]);
        let rows = self.members.rates.chunks_exact(width.max(1));
        for (&place, rates) in places.iter().zip(rows) {
            let start = place as usize * layout.padded_bins + block.padded_bins;
            let row = vectors_mut::<S>(&mut self.transposed[start..start + width]);
            let pairs = vectors::<S>(rates).iter().zip(gammas);
            for (sum, (rate, gamma)) in row.iter_mut().zip(pairs) {
                *sum = simd.mul_add_e_f64s(*rate, *gamma, *sum);
            }
        }
    }

    /// The Jacobian, bin by bin.
    #[inline(always)]
    fn transpose(&mut self, layout: &Layout) {
        const TILE: usize = 8;
        let (stride, padded_bins) = (self.dense.stride, layout.padded_bins);
        // Strips of parameters that the nearest cache holds.
        for strip in (0..stride).step_by(TILE) {
            let columns = &self.transposed[strip * padded_bins..(strip + TILE) * padded_bins];
            for channel in &layout.channels {
                let start = layout.blocks.get(channel.blocks.start).map_or(0, |b| b.padded_bins);
                for (bin, place) in channel.bins.clone().zip(start..) {
                    let row = &mut self.jacobian[bin * stride + strip..bin * stride + strip + TILE];
                    for (value, column) in row.iter_mut().zip(columns.chunks_exact(padded_bins)) {
                        *value = column[place];
                    }
                }
            }
        }
    }

    /// Slopes dP of the scalar factors, diagonal terms, and the vectors a and b but for what
    /// the templates add to b.
    #[inline(always)]
    fn scalar_part(
        &mut self,
        layout: &Layout,
        block: &Block,
        scratch: &Scratch,
        product: f64,
        pull: f64,
        exact: bool,
    ) {
        let elimination = &layout.elimination;
        let count = block.members.len();
        let members = &mut self.members;
        members.slope[..count].fill(0.0);
        members.a[..count].fill(0.0);
        members.b[..count].fill(0.0);
        members.diagonal[..count].fill(0.0);
        if !product.is_normal() {
            vanishing_part(layout, block, scratch, pull, members);
            return;
        }
        for entry in block.free_factors.clone() {
            let member = elimination.member_of_free[entry] as usize;
            let slope = product / scratch.theta[layout.free_factors[entry] as usize];
            members.slope[member] = slope;
            members.diagonal[member] -= pull * slope * slope / product;
        }
        for entry in block.normsys.start..block.normsys.start + block.normsys_used {
            let member = elimination.member_of_normsys[entry] as usize;
            let slope = product * scratch.slope[entry] / scratch.factor[entry];
            members.slope[member] = slope;
            if exact {
                let second = product * scratch.curvature[entry] / scratch.factor[entry];
                members.diagonal[member] += pull * (second - slope * slope / product);
            }
        }
    }

    /// Local and global per-bin factors of a block in one bin; `base` is P·T.
    #[inline(always)]
    fn per_bin_factors(
        &mut self,
        layout: &Layout,
        block: &Block,
        bin: usize,
        scratch: &Scratch,
        base: f64,
        exact: bool,
    ) {
        let bins = block.bin_count();
        let here = block.bins.start + bin;
        let weight = scratch.weight[here];
        let stride = self.dense.stride;
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
                    if let (true, Some(row)) = (exact, self.own_row[local as usize]) {
                        let row = &mut self.rows[row * stride..(row + 1) * stride];
                        for (&place, rate) in places.iter().zip(rates) {
                            row[place as usize] += weight * rest * rate;
                        }
                    }
                }
                Place::Global(own) => {
                    let own = own as usize;
                    self.transposed[own * layout.padded_bins + block.padded_bins + bin] +=
                        base * rest;
                    if exact {
                        for (&place, rate) in places.iter().zip(rates) {
                            let place = place as usize;
                            self.dense.values[place.min(own) * stride + place.max(own)] +=
                                weight * rest * rate;
                        }
                    }
                }
            }
            if !exact {
                continue;
            }
            for other in which + 1..block.gamma_count {
                let second = weight * base * others(which, other);
                self.add_pair(layout, here, owner(which), owner(other), second);
            }
        }
    }

    /// Two per-bin factors of one block.
    fn add_pair(&mut self, layout: &Layout, bin: usize, one: usize, two: usize, second: f64) {
        let stride = self.dense.stride;
        match (layout.elimination.place[one], layout.elimination.place[two]) {
            (Place::Global(one), Place::Global(two)) => {
                let (low, high) = (one.min(two) as usize, one.max(two) as usize);
                self.dense.row_mut(low)[high] += second;
            }
            (Place::Local(one), Place::Local(two)) => {
                let locals = &layout.elimination.local_of_bin[bin];
                let (one, two) = (one as usize - locals.start, two as usize - locals.start);
                let start = self.block_of_bin[bin];
                self.blocks[start + one * locals.len() + two] += second;
                self.blocks[start + two * locals.len() + one] += second;
            }
            (Place::Local(local), Place::Global(global))
            | (Place::Global(global), Place::Local(local)) => {
                if let Some(row) = self.own_row[local as usize] {
                    self.rows[row * stride + global as usize] += second;
                }
            }
        }
    }

    /// Adds a bᵀ + b aᵀ and the diagonal to the dense part.
    #[inline(always)]
    fn add_block(&mut self, block: &Block, places: &[u32], product: f64, pull: f64) {
        let count = block.members.len();
        let Members { a, b, slope, diagonal, pull: pulls, line, .. } = &mut self.members;
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
        let stride = self.dense.stride;
        for first in 0..count {
            let place = places[first] as usize;
            let row = &mut self.dense.values[place * stride..(place + 1) * stride];
            row[place] += 2.0 * a[first] * b[first] + diagonal[first];
            let (of_a, of_b) = (a[first], b[first]);
            if of_a == 0.0 && of_b == 0.0 {
                continue;
            }
            let line = &mut line[first + 1..count];
            for ((value, a), b) in line.iter_mut().zip(&a[first + 1..]).zip(&b[first + 1..]) {
                *value = of_a * b + of_b * a;
            }
            scatter(row, &places[first + 1..], line);
        }
    }
}

/// Adds to the places of a row; no two of them are the same.
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
