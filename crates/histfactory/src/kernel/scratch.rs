//! Memory that evaluations use again and again.

use super::aligned::Aligned;
use crate::model::layout::{LANES, Layout, WIDE};

#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    /// Parameters, a zero for padding, and room to read whole vectors.
    pub(crate) theta: Vec<f64>,
    /// Bases of the histosys parameters: x and y with their slopes, and y's curvature.
    pub(crate) basis: Vec<[f64; 2]>,
    pub(crate) basis_slope: Vec<[f64; 2]>,
    pub(crate) basis_curvature: Vec<f64>,
    /// Values, slopes and curvatures of the normsys factors.
    pub(crate) factor: Aligned,
    pub(crate) slope: Aligned,
    pub(crate) curvature: Aligned,
    /// Π of the scalar factors of each block.
    pub(crate) product: Vec<f64>,
    /// For each yield: nominal plus histosys, and Π of the per-bin factors. Written in whole
    /// vectors, block after block: what one leaves in the next is overwritten by that.
    pub(crate) shape: Vec<f64>,
    pub(crate) gamma: Vec<f64>,
    /// For each bin.
    pub(crate) rate: Vec<f64>,
    /// 1 − n/ν.
    pub(crate) weight: Vec<f64>,
    /// With a place for padding, and room to write whole vectors.
    pub(crate) gradient: Vec<f64>,
    /// For each parameter.
    pub(crate) sums: Vec<Sums>,
    /// P w G of a block's bins.
    pub(crate) scaled: Vec<f64>,
}

/// Σ P w G S and Σ P w G A of a parameter's histosys, lane by lane; in one line of the cache.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Sums(pub(crate) [[f64; LANES]; 2]);

impl Scratch {
    pub(crate) fn new(layout: &Layout) -> Self {
        let parameters = layout.names.len() + 1;
        let of_parameters = || vec![0.0; parameters + WIDE];
        let of_factors = || Aligned::zeros(layout.normsys_parameter.len());
        let of_yields = || vec![0.0; layout.yields + WIDE];
        let of_bins = || vec![0.0; layout.bins + WIDE];
        Self {
            theta: of_parameters(),
            basis: vec![[0.0; 2]; parameters],
            basis_slope: vec![[0.0; 2]; parameters],
            basis_curvature: of_parameters(),
            factor: of_factors(),
            slope: of_factors(),
            curvature: of_factors(),
            product: vec![0.0; layout.blocks.len()],
            shape: of_yields(),
            gamma: of_yields(),
            rate: of_bins(),
            weight: of_bins(),
            gradient: of_parameters(),
            sums: vec![Sums::default(); parameters],
            scaled: of_bins(),
        }
    }
}
