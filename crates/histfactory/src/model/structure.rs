//! The structure and the numbers of a model as plain lists, for code that evaluates it elsewhere.

use std::ops::Range;

use super::Model;
use super::layout::Block;

/// A sample in a channel: its rates are the product of its factors times the sum of its templates.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockStructure {
    /// Bins of the model.
    pub bins: Range<usize>,
    /// The first of its cells. A cell is a bin of a block; cells of one block are adjacent.
    pub first_cell: usize,
    pub nominal: Vec<f64>,
    /// Parameters that are factors of all its bins.
    pub free: Vec<usize>,
    pub normsys: Vec<NormsysStructure>,
    pub histosys: Vec<HistosysStructure>,
    /// Per-bin factors: the parameter of the first bin; those of the others follow it.
    pub gammas: Vec<usize>,
}

/// A factor of a block that depends on a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormsysStructure {
    pub parameter: usize,
    /// Of α … α⁶, inside |α| < 1.
    pub coefficients: [f64; 6],
    /// Logarithms of the factors at 1 and −1.
    pub ln_hi: f64,
    pub ln_lo: f64,
}

/// Templates that are added: x(α) S + y(α) A.
#[derive(Debug, Clone, PartialEq)]
pub struct HistosysStructure {
    pub parameter: usize,
    /// (hi − lo)/2 and (hi + lo − 2 nominal)/16 of each bin.
    pub odd: Vec<f64>,
    pub even: Vec<f64>,
}

/// A staterror's factor in one bin. Its relative width is the root of the squared uncertainties divided by the sum of
/// its cells' nominal yields.
#[derive(Debug, Clone, PartialEq)]
pub struct StaterrorStructure {
    pub parameter: usize,
    /// Cells with their absolute uncertainties.
    pub carriers: Vec<(usize, f64)>,
    /// Whether a measurement gives the width, so that it does not follow the yields.
    pub width_given: bool,
    /// Whether a measurement says if the parameter is fixed; otherwise a width of zero fixes it.
    pub fixed_given: bool,
}

/// A shapesys' factor in one bin. Its auxiliary count is the squared ratio of yield and uncertainty.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapesysStructure {
    pub parameter: usize,
    pub cell: usize,
    pub uncertainty: f64,
    /// Whether a measurement gives the factor, and the auxiliary count.
    pub factor_given: bool,
    pub auxiliary_given: bool,
    /// Whether a measurement says if the parameter is fixed; otherwise a yield of zero fixes it.
    pub fixed_given: bool,
}

impl Model {
    /// All blocks, channel by channel.
    pub fn structure(&self) -> Vec<BlockStructure> {
        self.layout.blocks.iter().map(|block| self.block(block)).collect()
    }

    fn block(&self, block: &Block) -> BlockStructure {
        let (layout, numbers) = (&*self.layout, &self.numbers);
        let bins = block.bin_count();
        let normsys = block.normsys.clone().map(|entry| NormsysStructure {
            parameter: layout.normsys_parameter[entry] as usize,
            coefficients: numbers.coefficients(layout, entry),
            ln_hi: numbers.ln_hi[entry],
            ln_lo: numbers.ln_lo[entry],
        });
        let places: Vec<Vec<[usize; 2]>> =
            (0..bins).map(|bin| block.templates_in_stream(bin).collect()).collect();
        let histosys = (0..block.histosys_used).map(|entry| {
            let of = |side: usize| {
                places.iter().map(|places| numbers.stream[places[entry][side]]).collect()
            };
            let parameter = layout.histosys_parameter[block.histosys.start + entry] as usize;
            HistosysStructure { parameter, odd: of(0), even: of(1) }
        });
        let indices = |values: &[u32]| values.iter().map(|value| *value as usize).collect();
        BlockStructure {
            bins: block.bins.clone(),
            first_cell: block.yields,
            nominal: numbers.nominal[block.yields..block.yields + bins].to_vec(),
            free: indices(&layout.free_factors[block.free_factors.clone()]),
            normsys: normsys.collect(),
            histosys: histosys.collect(),
            gammas: indices(&layout.gamma_first[block.gamma_firsts.clone()]),
        }
    }

    /// The staterrors whose widths may follow yields.
    pub fn staterrors(&self) -> impl Iterator<Item = StaterrorStructure> {
        self.layout.staterrors.iter().map(|bin| StaterrorStructure {
            parameter: bin.parameter,
            carriers: self.layout.carriers[bin.carriers.clone()]
                .iter()
                .map(|carrier| (carrier.yield_index, self.numbers.uncertainty[carrier.uncertainty]))
                .collect(),
            width_given: bin.width_given,
            fixed_given: bin.fixed_given,
        })
    }

    /// The shapesys whose auxiliary counts may follow yields.
    pub fn shapesys(&self) -> impl Iterator<Item = ShapesysStructure> {
        self.layout.shapesys.iter().map(|bin| ShapesysStructure {
            parameter: bin.parameter,
            cell: bin.yield_index,
            uncertainty: self.numbers.uncertainty[bin.uncertainty],
            factor_given: bin.factor_given,
            auxiliary_given: bin.auxiliary_given,
            fixed_given: bin.fixed_given,
        })
    }
}
