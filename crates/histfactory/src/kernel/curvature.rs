//! Second derivatives of the likelihood, stored in the structure of the model.
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

mod block;
mod vanishing;

use block::{Collect, Pairs};

use super::aligned::Aligned;
use super::dispatch::dispatch;
use super::scratch::Scratch;
use crate::linalg::Symmetric;
use crate::model::layout::{Block, Front, Layout, Place, padded};
use crate::model::numbers::Numbers;

/// The kind of second derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Information {
    /// Those of the likelihood on the given data.
    Exact,
    /// Their expectation, without curvature of the rates: never indefinite.
    Fisher,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Curvature {
    /// Of the global parameters, front by front.
    pub(crate) parts: Vec<Part>,
    /// The expected information of a model with far fewer bins than parameters. It only has `constraint`
    /// beside Σ v ∂ν ∂νᵀ and is solved in bins.
    pub(crate) narrow: bool,
    /// Second derivatives of the constraints of the global parameters.
    pub(crate) constraint: Vec<f64>,
    pub(crate) v: Vec<f64>,
    /// ∂ν_b in the local parameters.
    pub(crate) slope: Vec<f64>,
    /// Rows of the local parameters: a multiple of the bin's gradient …
    pub(crate) multiple: Vec<f64>,
    /// … or, if that is not sufficient, `Some` row of its front.
    pub(crate) own_row: Vec<Option<usize>>,
    /// Local times local, without v·slope·slope: for each bin, a full square.
    pub(crate) blocks: Vec<f64>,
    pub(crate) block_of_bin: Vec<usize>,
    /// Memory for products.
    pub(crate) scaled: Aligned,
    /// For the normsys factors η: η″/η − (η′/η)².
    bend: Aligned,
    members: Members,
    pairs: Pairs,
}

/// The terms of a front's channels for its parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// Everything but Σ v ∂ν ∂νᵀ and the constraints, upper triangle; not filled in if the curvature is
    /// `narrow`.
    pub(crate) dense: Symmetric,
    /// ∂ν_b, rows of the dense part's stride.
    pub(crate) jacobian: Aligned,
    /// The same by parameter; each channel's bins begin with a whole vector.
    pub(crate) transposed: Aligned,
    /// Rows of the local parameters that are not a multiple of a bin's gradient.
    pub(crate) rows: Vec<f64>,
}

impl Part {
    fn new(front: &Front) -> Self {
        if front.bins.is_empty() {
            return Self::default();
        }
        let dense = Symmetric::new(front.len());
        let jacobian = Aligned::zeros(front.bins.len() * dense.stride);
        let transposed = Aligned::zeros(dense.stride * front.padded_bins);
        Self { dense, jacobian, transposed, rows: Vec::new() }
    }

    /// ∂ν of a bin, by its number in the front.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.jacobian[row * self.dense.stride..(row + 1) * self.dense.stride]
    }

    /// The separate row of a local parameter.
    #[inline(always)]
    pub(crate) fn own_row(&self, row: usize) -> &[f64] {
        &self.rows[row * self.dense.stride..(row + 1) * self.dense.stride]
    }
}

/// A block's members, as defined at the top of the file.
#[derive(Debug, Clone, Default)]
struct Members {
    a: Vec<f64>,
    b: Vec<f64>,
    slope: Vec<f64>,
    diagonal: Vec<f64>,
    pull: Vec<f64>,
    /// ∂ν_sb in the bins of each, padded, without the per-bin factors.
    rates: Aligned,
    /// w G of the block's bins, padded with zeros.
    weighted: Vec<f64>,
}

impl Curvature {
    pub(crate) fn new(layout: &Layout) -> Self {
        let elimination = &layout.elimination;
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
        let rates =
            layout.blocks.iter().map(|block| block.members.len() * padded(block.bin_count()));
        Self {
            parts: elimination.fronts.iter().map(Part::new).collect(),
            v: vec![0.0; layout.bins],
            narrow: false,
            constraint: vec![0.0; elimination.global.len()],
            slope: vec![0.0; locals],
            multiple: vec![0.0; locals],
            own_row: vec![None; locals],
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
                weighted: vec![0.0; padded(most_bins)],
            },
            pairs: Pairs::new(layout, widest),
            bend: Aligned::zeros(layout.factors.count()),
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
        self.narrow = information == Information::Fisher && is_narrow(layout, numbers);
        self.clear(layout, data, scratch, information);
        match information {
            Information::Exact => {
                dispatch(Collect::<true> { curvature: self, layout, numbers, scratch });
                self.scale_multiples(layout, scratch);
            }
            Information::Fisher => {
                dispatch(Collect::<false> { curvature: self, layout, numbers, scratch });
            }
        }
        self.constraints(layout, numbers, data, scratch, information);
    }

    fn clear(
        &mut self,
        layout: &Layout,
        data: &[f64],
        scratch: &Scratch,
        information: Information,
    ) {
        for part in &mut self.parts {
            if !self.narrow {
                part.dense.values.fill(0.0);
            }
            part.transposed.fill(0.0);
            part.rows.clear();
        }
        self.constraint.fill(0.0);
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
        for (bin, locals) in elimination.local_of_bin.iter().enumerate() {
            let part = &mut self.parts[elimination.front_of_bin[bin] as usize];
            for local in locals.clone() {
                let value = scratch.theta[elimination.local[local] as usize];
                self.own_row[local] = None;
                if !(elimination.covers_bin[local] && value.is_normal()) {
                    self.own_row[local] = Some(part.rows.len() / part.dense.stride.max(1));
                    part.rows.resize(part.rows.len() + part.dense.stride, 0.0);
                }
            }
        }
    }

    /// The bins' gradients in the global parameters, with the front that each belongs to.
    pub(crate) fn rows<'a>(
        &'a self,
        layout: &'a Layout,
    ) -> impl Iterator<Item = (usize, &'a Front, &'a [f64])> {
        self.parts.iter().zip(&layout.elimination.fronts).flat_map(|(part, front)| {
            let bins = front.bins.iter().enumerate();
            bins.map(move |(row, bin)| (*bin as usize, front, part.row(row)))
        })
    }

    /// A factor that covers its bin: w ∂²ν/∂γ∂θ = (w/γ) ∂ν/∂θ.
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
            Place::Global(place) => {
                self.constraint[place as usize] += second;
            }
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

/// Whether solving in bins, with a border for unconstrained parameters, is the smaller problem.
pub(crate) fn is_narrow(layout: &Layout, numbers: &Numbers) -> bool {
    let constrained = numbers.normal.len() + numbers.poisson.len();
    let border = layout.names.len().saturating_sub(constrained);
    layout.elimination.fronts.len() < 2
        && 2 * (layout.bins + border) <= layout.elimination.global.len()
}

/// The bin of a local parameter.
fn bin_of(layout: &Layout, local: usize) -> usize {
    layout.elimination.local_of_bin.partition_point(|locals| locals.end <= local)
}
