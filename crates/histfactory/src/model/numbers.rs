//! The numbers of a compiled model: those of the workspace, and numbers derived from them.

use super::Constraint;
use super::compile::shapesys_factor;
use super::layout::{Block, LANES, Layout};
use super::staterror::relative_width;
use crate::interpolation::polynomial;
use crate::kernel::Aligned;

#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    /// Of the workspace, block by block.
    pub(crate) nominal: Vec<f64>,
    pub(crate) hi: Vec<f64>,
    pub(crate) lo: Vec<f64>,
    pub(crate) normsys_hi: Vec<f64>,
    pub(crate) normsys_lo: Vec<f64>,
    /// Of shapesys and staterror.
    pub(crate) uncertainty: Vec<f64>,
    /// Auxiliary measurements.
    pub(crate) auxiliary: Vec<f64>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) fixed: Vec<bool>,
    /// Derived, in the order of the layout: nominal yields, S = (hi − lo)/2 and A = (hi + lo − 2·nominal)/16.
    pub(crate) stream: Aligned,
    /// For each vector of factors.
    pub(crate) polynomial: Vec<Powers>,
    pub(crate) ln_hi: Vec<f64>,
    pub(crate) ln_lo: Vec<f64>,
    pub(crate) normal: Vec<NormalTerm>,
    pub(crate) poisson: Vec<PoissonTerm>,
    /// Σ ln(σ√2π) of the normal constraints.
    pub(crate) normal_constant: f64,
}

/// The coefficients of α, of α² … of α⁶.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Powers(pub(crate) [[f64; LANES]; 6]);

#[derive(Debug, Clone, Copy)]
pub(crate) struct NormalTerm {
    pub(crate) parameter: usize,
    pub(crate) auxiliary: usize,
    pub(crate) inverse_sigma: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PoissonTerm {
    pub(crate) parameter: usize,
    pub(crate) auxiliary: usize,
    pub(crate) factor: f64,
}

impl Numbers {
    /// Derives all numbers that follow from those of the workspace.
    pub(crate) fn derive(&mut self, layout: &Layout) {
        self.stream = Aligned::zeros(layout.blocks.iter().map(Block::stream_length).sum());
        for block in 0..layout.blocks.len() {
            self.derive_templates(layout, block);
        }
        self.derive_factors(layout);
        self.derive_terms();
    }

    pub(crate) fn derive_templates(&mut self, layout: &Layout, block: usize) {
        let block = &layout.blocks[block];
        for bin in 0..block.bin_count() {
            let start = block.templates + bin * block.stride();
            let nominal = self.nominal[block.yields + bin];
            self.stream[block.nominal_in_stream(bin)] = nominal;
            for (entry, [odd, even]) in block.templates_in_stream(bin).enumerate() {
                let (hi, lo) = (self.hi[start + entry], self.lo[start + entry]);
                self.stream[odd] = 0.5 * (hi - lo);
                self.stream[even] = ((hi - nominal) + (lo - nominal)) / 16.0;
            }
        }
    }

    /// S and A of every template, in the layout of the workspace's own templates.
    pub(crate) fn templates(&self, layout: &Layout) -> [Vec<f64>; 2] {
        let mut both = [vec![0.0; self.hi.len()], vec![0.0; self.hi.len()]];
        for block in &layout.blocks {
            for bin in 0..block.bin_count() {
                let start = block.templates + bin * block.stride();
                for (entry, places) in block.templates_in_stream(bin).enumerate() {
                    for (kind, place) in both.iter_mut().zip(places) {
                        kind[start + entry] = self.stream[place];
                    }
                }
            }
        }
        both
    }

    fn derive_factors(&mut self, layout: &Layout) {
        self.ln_hi = self.normsys_hi.iter().map(|hi| hi.ln()).collect();
        self.ln_lo = self.normsys_lo.iter().map(|lo| lo.ln()).collect();
        self.polynomial = vec![Powers::default(); layout.factors.owner.len()];
        let sides = self.normsys_hi.iter().zip(&self.normsys_lo);
        for (&place, (hi, lo)) in layout.factors.place.iter().zip(sides) {
            let place = place as usize;
            let Powers(powers) = &mut self.polynomial[place / LANES];
            for (power, coefficient) in powers.iter_mut().zip(polynomial(*hi, *lo)) {
                power[place % LANES] = coefficient;
            }
        }
    }

    /// The coefficients of a block's factor.
    pub(crate) fn coefficients(&self, layout: &Layout, entry: usize) -> [f64; 6] {
        let place = layout.factors.place[entry] as usize;
        self.polynomial[place / LANES].0.map(|power| power[place % LANES])
    }

    fn derive_terms(&mut self) {
        self.normal.clear();
        self.poisson.clear();
        self.normal_constant = 0.0;
        for (parameter, constraint) in self.constraints.iter().enumerate() {
            match *constraint {
                Constraint::Free => {}
                Constraint::Normal { auxiliary, sigma } => {
                    let inverse_sigma = 1.0 / sigma;
                    self.normal.push(NormalTerm { parameter, auxiliary, inverse_sigma });
                    self.normal_constant += (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
                }
                Constraint::Poisson { auxiliary, factor } => {
                    self.poisson.push(PoissonTerm { parameter, auxiliary, factor });
                }
            }
        }
    }

    /// Widths, factors and auxiliary counts that follow from yields and uncertainties.
    pub(crate) fn derive_constraints(&mut self, layout: &Layout) {
        for staterror in &layout.staterrors {
            let carriers = &layout.carriers[staterror.carriers.clone()];
            let nominal = carriers.iter().map(|carrier| self.nominal[carrier.yield_index]).sum();
            let uncertainties =
                carriers.iter().map(|carrier| self.uncertainty[carrier.uncertainty]);
            let width = relative_width(nominal, uncertainties);
            if !staterror.fixed_given {
                self.fixed[staterror.parameter] = width == 0.0;
            }
            if let Constraint::Normal { sigma, .. } = &mut self.constraints[staterror.parameter]
                && !staterror.width_given
            {
                *sigma = if width == 0.0 { 1.0 } else { width };
            }
        }
        for bin in &layout.shapesys {
            let nominal = self.nominal[bin.yield_index];
            let tau = shapesys_factor(nominal, self.uncertainty[bin.uncertainty]);
            if !bin.fixed_given {
                self.fixed[bin.parameter] = tau.is_none();
            }
            if let Constraint::Poisson { auxiliary, factor } = &mut self.constraints[bin.parameter]
            {
                if !bin.factor_given {
                    *factor = tau.unwrap_or(1.0);
                }
                if !bin.auxiliary_given {
                    self.auxiliary[*auxiliary] = tau.unwrap_or(1.0);
                }
            }
        }
        self.derive_terms();
    }
}
