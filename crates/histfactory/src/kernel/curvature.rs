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

use super::dispatch::{Simd, WithSimd, dispatch, vectors, vectors_mut};
use super::evaluate::{products_of_others, scalar_factors};
use super::scratch::Scratch;
use crate::interpolation::exponential;
use crate::linalg::Symmetric;
use crate::model::layout::{Block, Layout, Place};
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
    pub(crate) jacobian: Vec<f64>,
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
    pub(crate) scaled: Vec<f64>,
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
    /// ∂ν_sb of each bin, without the per-bin factors.
    rates: Vec<f64>,
    /// Of the block's histosys: slopes of the bases, of the templates in a bin, and weighted sums
    /// over bins.
    dx: Vec<f64>,
    dy: Vec<f64>,
    entries: Vec<f64>,
    pulls: Vec<f64>,
    evens: Vec<f64>,
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
        let entries = layout.blocks.iter().map(Block::stride).max().unwrap_or(0);
        let of_members = || vec![0.0; widest];
        let of_entries = || vec![0.0; entries];
        let rates = layout.blocks.iter().map(|block| block.members.len() * block.bin_count()).max();
        let rates = rates.unwrap_or(0);
        Self {
            jacobian: vec![0.0; layout.bins * dense.stride],
            v: vec![0.0; layout.bins],
            slope: vec![0.0; locals],
            multiple: vec![0.0; locals],
            own_row: vec![None; locals],
            rows: Vec::new(),
            blocks: vec![0.0; start],
            block_of_bin,
            scaled: Vec::new(),
            members: Members {
                a: of_members(),
                b: of_members(),
                slope: of_members(),
                diagonal: of_members(),
                pull: of_members(),
                rates: vec![0.0; rates],
                dx: of_entries(),
                dy: of_entries(),
                entries: of_entries(),
                pulls: of_entries(),
                evens: of_entries(),
            },
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
        self.jacobian.fill(0.0);
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
    }
}

/// Second derivatives of the normsys factors.
#[inline(always)]
fn factor_curvatures<S: Simd>(simd: S, layout: &Layout, numbers: &Numbers, scratch: &mut Scratch) {
    const SECOND: [f64; 6] = [0.0, 2.0, 6.0, 12.0, 20.0, 30.0];
    let alphas = vectors::<S>(&scratch.alpha);
    let curvatures = &mut vectors_mut::<S>(&mut scratch.curvature)[..alphas.len()];
    let [_, c2, c3, c4, c5, c6] =
        numbers.polynomial.each_ref().map(|power| &vectors::<S>(power)[..alphas.len()]);
    let [_, k2, k3, k4, k5, k6] = SECOND.map(|factor| simd.splat_f64s(factor));
    for at in 0..alphas.len() {
        let alpha = alphas[at];
        let mut sum = simd.mul_f64s(k6, c6[at]);
        sum = simd.mul_add_e_f64s(sum, alpha, simd.mul_f64s(k5, c5[at]));
        sum = simd.mul_add_e_f64s(sum, alpha, simd.mul_f64s(k4, c4[at]));
        sum = simd.mul_add_e_f64s(sum, alpha, simd.mul_f64s(k3, c3[at]));
        curvatures[at] = simd.mul_add_e_f64s(sum, alpha, simd.mul_f64s(k2, c2[at]));
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
        let elimination = &layout.elimination;
        let (bins, count) = (block.bin_count(), block.members.len());
        let product = scratch.product[index];
        let yields = block.yields..block.yields + bins;
        let (shapes, gammas) = (&scratch.shape[yields.clone()], &scratch.gamma[yields]);
        let weights = &scratch.weight[block.bins.clone()];
        let pull: f64 = weights
            .iter()
            .zip(shapes)
            .zip(gammas)
            .map(|((weight, shape), gamma)| weight * gamma * shape)
            .sum();
        self.scalar_part(layout, block, scratch, product, pull, exact);

        let stride = block.stride();
        let owners = &layout.histosys_parameter[block.histosys.clone()];
        let places = &elimination.member[block.members.clone()];
        let used = block.histosys.start..block.histosys.start + block.histosys_used;
        let member_of = &elimination.member_of_histosys[used];
        let Members { dx, dy, pulls, evens, slope, rates, entries, .. } = &mut self.members;
        let (dx, dy) = (&mut dx[..stride], &mut dy[..stride]);
        for ((dx, dy), &owner) in dx.iter_mut().zip(dy.iter_mut()).zip(owners) {
            [*dx, *dy] = scratch.basis_slope[owner as usize];
        }
        pulls[..stride].fill(0.0);
        evens[..stride].fill(0.0);
        let rates = &mut rates[..count * bins];
        for bin in 0..bins {
            let (shape, gamma, weight) = (shapes[bin], gammas[bin], weights[bin]);
            let templates = block.templates + bin * stride..block.templates + (bin + 1) * stride;
            let odd = vectors::<S>(&numbers.odd[templates.clone()]);
            let even = vectors::<S>(&numbers.even[templates]);
            let scale = simd.splat_f64s(weight * gamma);
            let (xs, ys) = (vectors::<S>(dx), vectors::<S>(dy));
            let slopes = &mut vectors_mut::<S>(entries)[..xs.len()];
            let pulls = &mut vectors_mut::<S>(pulls)[..xs.len()];
            let evens = &mut vectors_mut::<S>(evens)[..xs.len()];
            for at in 0..xs.len() {
                let of_odd = simd.mul_f64s(xs[at], odd[at]);
                let whole = simd.mul_add_e_f64s(ys[at], even[at], of_odd);
                slopes[at] = whole;
                pulls[at] = simd.mul_add_e_f64s(scale, whole, pulls[at]);
                evens[at] = simd.mul_add_e_f64s(scale, even[at], evens[at]);
            }
            // ∂ν_sb without the per-bin factors.
            let rates = &mut rates[bin * count..(bin + 1) * count];
            for (rate, slope) in rates.iter_mut().zip(&slope[..count]) {
                *rate = shape * slope;
            }
            for (&member, entry) in member_of.iter().zip(entries.iter()) {
                rates[member as usize] += product * entry;
            }
            let here = block.bins.start + bin;
            let row = &mut self.jacobian[here * self.dense.stride..(here + 1) * self.dense.stride];
            for (&place, rate) in places.iter().zip(rates.iter()) {
                row[place as usize] += gamma * rate;
            }
        }
        if block.gamma_count > 0 {
            for bin in 0..bins {
                self.per_bin_factors(layout, block, bin, scratch, product * shapes[bin], exact);
            }
        }
        if exact {
            self.template_part(block, owners, member_of, scratch, product);
            self.add_block(block, places, product, pull);
        }
    }

    /// Gathers what the templates add to the members' diagonal and to b.
    #[inline(always)]
    fn template_part(
        &mut self,
        block: &Block,
        owners: &[u32],
        member_of: &[u32],
        scratch: &Scratch,
        product: f64,
    ) {
        let Members { pull, diagonal, pulls, evens, .. } = &mut self.members;
        pull[..block.members.len()].fill(0.0);
        for (((&member, &owner), of_pull), even) in
            member_of.iter().zip(owners).zip(pulls.iter()).zip(evens.iter())
        {
            pull[member as usize] = *of_pull;
            diagonal[member as usize] += product * scratch.basis_curvature[owner as usize] * even;
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
            let rates = &self.members.rates[bin * places.len()..(bin + 1) * places.len()];
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
                    self.jacobian[here * stride + own] += base * rest;
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
        let stride = self.dense.stride;
        for first in 0..count {
            let place = places[first] as usize;
            let row = &mut self.dense.values[place * stride..(place + 1) * stride];
            row[place] += 2.0 * a[first] * b[first] + diagonal[first];
            let (of_a, of_b) = (a[first], b[first]);
            if of_a == 0.0 && of_b == 0.0 {
                continue;
            }
            let rest = places[first + 1..].iter().zip(&a[first + 1..]).zip(&b[first + 1..]);
            for ((&other, a), b) in rest {
                row[other as usize] += of_a * b + of_b * a;
            }
        }
    }
}

/// The same for a product that vanishes: with one factor z at zero, P = z·Q and
/// ∂²P = e_z kᵀ + k e_zᵀ with k = ∂z ∂Q; with two, ∂²P = ∂z₁ ∂z₂ Q (e₁e₂ᵀ + e₂e₁ᵀ).
#[inline(never)]
fn vanishing_part(
    layout: &Layout,
    block: &Block,
    scratch: &Scratch,
    pull: f64,
    members: &mut Members,
) {
    let elimination = &layout.elimination;
    let factors = scalar_factors(layout, block, scratch);
    let free = block.free_factors.clone().map(|entry| (elimination.member_of_free[entry], 0.0));
    let first = block.normsys.start;
    let normsys = (first..first + block.normsys_used)
        .map(|entry| (elimination.member_of_normsys[entry], scratch.curvature[entry]));
    let places: Vec<(u32, f64)> = free.chain(normsys).collect();
    let others = products_of_others(&factors);
    for ((factor, others), (member, second)) in factors.iter().zip(&others).zip(&places) {
        members.slope[*member as usize] = factor.slope * others;
        members.diagonal[*member as usize] += pull * second * others;
    }
    let zeros: Vec<usize> = (0..factors.len()).filter(|&at| factors[at].value == 0.0).collect();
    match *zeros.as_slice() {
        [zero] => {
            let member = places[zero].0 as usize;
            members.a[member] = 1.0;
            for (at, factor) in factors.iter().enumerate() {
                if at != zero {
                    let slope = factors[zero].slope * others[zero];
                    members.b[places[at].0 as usize] += pull * slope * factor.slope / factor.value;
                }
            }
        }
        [one, two] => {
            let mut rest = 1.0;
            for (at, factor) in factors.iter().enumerate() {
                if at != one && at != two {
                    rest *= factor.value;
                }
            }
            members.a[places[one].0 as usize] = 1.0;
            members.b[places[two].0 as usize] +=
                pull * factors[one].slope * factors[two].slope * rest;
        }
        _ => {}
    }
}
