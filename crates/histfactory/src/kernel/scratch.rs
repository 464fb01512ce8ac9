//! Memory that evaluations reuse.

use super::aligned::Aligned;
use crate::model::layout::{LANES, Layout, WIDE, padded};

#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    /// Parameters, a zero for padding, and room to read whole vectors.
    pub(crate) theta: Vec<f64>,
    /// Bases of the histosys parameters, as x, x, y, y: with their slopes, and y's curvature.
    pub(crate) basis: Vec<Lanes>,
    pub(crate) basis_slope: Vec<Lanes>,
    pub(crate) basis_curvature: Vec<f64>,
    /// Values of the scalar factors in their slots.
    pub(crate) factor: Aligned,
    /// Their relative slopes by parameter.
    pub(crate) relative: Aligned,
    /// Π of the scalar factors of each block, and room for whole vectors.
    pub(crate) product: Vec<f64>,
    /// Σ w G T of each block, then P times that, and a zero for padding.
    pub(crate) pull: Vec<f64>,
    /// For each yield: nominal plus histosys, and Π of the per-bin factors. Each block begins with
    /// a whole vector.
    pub(crate) shape: Aligned,
    pub(crate) gamma: Aligned,
    /// For each bin.
    pub(crate) rate: Vec<f64>,
    /// 1 − n/ν.
    pub(crate) weight: Vec<f64>,
    /// With a place for padding, and room to write whole vectors.
    pub(crate) gradient: Vec<f64>,
    /// The contributions of each parameter's normsys and histosys to the gradient, lane by lane.
    pub(crate) sums: Vec<Lanes>,
    /// Whether the latest evaluation was one of value and gradient at `theta`.
    pub(crate) has_slopes: bool,
}

/// A vector within one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub(crate) struct Lanes(pub(crate) [f64; LANES]);

impl Scratch {
    pub(crate) fn new(layout: &Layout) -> Self {
        let parameters = layout.names.len() + 1;
        let of_parameters = || vec![0.0; parameters + WIDE];
        let mut factor = Aligned::zeros(layout.factors.slots);
        factor.fill(1.0);
        let of_shapes = || Aligned::zeros(layout.shapes);
        let of_bins = || vec![0.0; layout.bins + WIDE];
        Self {
            theta: of_parameters(),
            basis: vec![Lanes::default(); parameters],
            basis_slope: vec![Lanes::default(); parameters],
            basis_curvature: of_parameters(),
            factor,
            relative: Aligned::zeros(layout.factors.count()),
            product: vec![0.0; padded(layout.blocks.len())],
            pull: vec![0.0; layout.blocks.len() + 1],
            shape: of_shapes(),
            gamma: of_shapes(),
            rate: of_bins(),
            weight: of_bins(),
            gradient: of_parameters(),
            sums: vec![Lanes::default(); parameters],
            has_slopes: false,
        }
    }

    pub(super) fn clear_gradient(&mut self) {
        self.gradient.fill(0.0);
        self.sums.fill(Lanes::default());
        self.pull.fill(0.0);
    }

    /// Adds the contributions of normsys and histosys to the gradient.
    #[inline(always)]
    pub(super) fn add_sums(&mut self) {
        for (gradient, Lanes([a, b, c, d])) in self.gradient.iter_mut().zip(&self.sums) {
            *gradient += (a + b) + (c + d);
        }
    }
}
