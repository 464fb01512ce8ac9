//! Memory that evaluations use again and again.

use crate::model::layout::{Block, Layout};

#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    /// Parameters, and a zero for padding.
    pub(crate) theta: Vec<f64>,
    /// Bases of the histosys parameters: x and y with their slopes, and y's curvature.
    pub(crate) basis: Vec<[f64; 2]>,
    pub(crate) basis_slope: Vec<[f64; 2]>,
    pub(crate) basis_curvature: Vec<f64>,
    /// Parameters, values, slopes and curvatures of the normsys factors.
    pub(crate) alpha: Vec<f64>,
    pub(crate) factor: Vec<f64>,
    pub(crate) slope: Vec<f64>,
    pub(crate) curvature: Vec<f64>,
    /// Π of the scalar factors of each block.
    pub(crate) product: Vec<f64>,
    /// For each yield: nominal plus histosys, and Π of the per-bin factors.
    pub(crate) shape: Vec<f64>,
    pub(crate) gamma: Vec<f64>,
    /// For each bin.
    pub(crate) rate: Vec<f64>,
    /// 1 − n/ν.
    pub(crate) weight: Vec<f64>,
    /// With a place for padding.
    pub(crate) gradient: Vec<f64>,
    /// Of a block: for its histosys, bins and normsys.
    pub(crate) gathered: [Vec<f64>; 2],
    pub(crate) scaled: Vec<f64>,
    pub(crate) parts: Vec<f64>,
}

impl Scratch {
    pub(crate) fn new(layout: &Layout) -> Self {
        let parameters = layout.names.len() + 1;
        let of_parameters = || vec![0.0; parameters];
        let of_factors = || vec![0.0; layout.normsys_parameter.len()];
        let of_yields = || vec![0.0; layout.yields];
        let of_bins = || vec![0.0; layout.bins];
        let widest = layout.blocks.iter().map(Block::stride).max();
        let of_entries = || vec![0.0; widest.unwrap_or(0)];
        Self {
            theta: of_parameters(),
            basis: vec![[0.0; 2]; parameters],
            basis_slope: vec![[0.0; 2]; parameters],
            basis_curvature: of_parameters(),
            alpha: of_factors(),
            factor: of_factors(),
            slope: of_factors(),
            curvature: of_factors(),
            product: vec![0.0; layout.blocks.len()],
            shape: of_yields(),
            gamma: of_yields(),
            rate: of_bins(),
            weight: of_bins(),
            gradient: of_parameters(),
            gathered: [of_entries(), of_entries()],
            scaled: of_bins(),
            parts: of_factors(),
        }
    }
}
