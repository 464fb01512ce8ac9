//! A model as the flat arrays that the kernels read.
//!
//! All arrays lie in one list of integers and one of numbers; a plan has their offsets. Normsys factors lie in rows of
//! blocks, so that neighbouring threads read neighbouring numbers; templates lie twice, by block and by parameter.

use std::ops::Range;

use histfactory::interpolation::{HistosysCode, NormsysCode};
use histfactory::model::{BlockStructure, Constraint};
use histfactory::{Data, Model};

use crate::Unsupported;

/// Rows of blocks are padded to whole warps.
const WARP: usize = 32;
/// Parameters without a constraint make the border of a step's system, which is solved as a dense matrix.
const MOST_BORDER: usize = 64;
/// The system of a step has a row for each bin.
const MOST_BINS: usize = 512;

macro_rules! header {
    ($($name:ident),* $(,)?) => {
        /// The counts and offsets of a plan, as the kernels declare them.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Header { $(pub(crate) $name: i32,)* }

        /// Their names, in order.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

header!(
    parameters,
    bins,
    blocks,
    cells,
    auxiliary,
    poi,
    histosys_code,
    ints_count,
    reals_count,
    lanes,
    depth,
    layers,
    dense,
    border,
    block_cell,
    block_bin,
    cell_block,
    cell_bin,
    bin_start,
    bin_cell,
    free_start,
    free_parameter,
    norm_owner,
    histo_owner,
    gamma_start,
    gamma_first,
    norm_row,
    norm_first,
    norm_end,
    histo_row,
    histo_first,
    histo_end,
    free_of_start,
    free_of_block,
    gamma_of_start,
    gamma_of_cell,
    kind,
    aux,
    fixed,
    column,
    dense_parameter,
    local_bin,
    local_start,
    local_parameter,
    border_parameter,
    border_place,
    stat_count,
    stat_parameter,
    stat_start,
    stat_cell,
    stat_given,
    cell_stat,
    shape_count,
    shape_parameter,
    shape_cell,
    shape_given,
    cell_shape,
    nominal,
    polynomial,
    ln_hi,
    ln_lo,
    templates,
    width,
    init,
    lower,
    upper,
    auxiliary_data,
    stat_uncertainty,
    shape_uncertainty,
);

/// A model's arrays.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) header: Header,
    pub(crate) ints: Vec<i32>,
    pub(crate) reals: Vec<f64>,
    /// Whether several widths follow the same yield, or half of one does, which the kernel of a loss does not know.
    pub(crate) irregular_widths: bool,
}

/// The numbers of values that a row needs: in memory that is read often, and in the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowSize {
    pub(crate) hot: usize,
    pub(crate) cold: usize,
}

/// Lists of several keys, one after the other.
#[derive(Debug, Default)]
struct Lists {
    starts: Vec<i32>,
    items: Vec<i32>,
}

pub(crate) fn int(value: usize) -> i32 {
    i32::try_from(value).expect("a model has fewer numbers than that")
}

impl Lists {
    fn new(lists: &[Vec<usize>]) -> Self {
        let mut made = Self { starts: vec![0], items: Vec::new() };
        for list in lists {
            made.items.extend(list.iter().map(|item| int(*item)));
            made.starts.push(int(made.items.len()));
        }
        made
    }
}

/// Rows of numbers by block, in which parameters with separate ranges of blocks share a row.
#[derive(Debug)]
struct Rows {
    count: usize,
    places: Vec<Option<usize>>,
    ranges: Vec<Range<usize>>,
}

impl Rows {
    /// For the parameters of each block.
    fn new(count: usize, owners: impl Iterator<Item = Vec<usize>>) -> Self {
        let mut ranges = vec![0..0; count];
        for (block, owners) in owners.enumerate() {
            for parameter in owners {
                let range: &mut Range<usize> = &mut ranges[parameter];
                let start = if range.end == 0 { block } else { range.start };
                *range = start..block + 1;
            }
        }
        let mut order: Vec<usize> = (0..count).filter(|at| !ranges[*at].is_empty()).collect();
        order.sort_by_key(|at| ranges[*at].start);
        let mut places = vec![None; count];
        let mut ends: Vec<usize> = Vec::new();
        for parameter in order {
            let range = &ranges[parameter];
            let row = ends.iter().position(|end| *end <= range.start).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(0);
            }
            ends[row] = range.end;
            places[parameter] = Some(row);
        }
        Self { count: ends.len(), places, ranges }
    }

    fn row(&self, parameter: usize) -> usize {
        self.places[parameter].expect("the parameter has a block")
    }
}

impl Plan {
    /// The plan of a model, unless the kernels cannot evaluate it.
    pub fn new(model: &Model) -> Result<Self, Unsupported> {
        let interpolation = model.interpolation();
        if interpolation.normsys != NormsysCode::Code4 {
            return Err(Unsupported::Interpolation { modifier: "normsys" });
        }
        let code = match interpolation.histosys {
            HistosysCode::Code4p => 4,
            HistosysCode::Code2Root => 2,
            _ => return Err(Unsupported::Interpolation { modifier: "histosys" }),
        };
        let blocks = model.structure();
        let mut plan = Self {
            header: Header::default(),
            ints: Vec::new(),
            reals: Vec::new(),
            irregular_widths: false,
        };
        let count = model.parameter_count();
        let cells: usize = blocks.iter().map(|block| block.nominal.len()).sum();
        plan.header.parameters = int(count);
        plan.header.bins = int(model.bin_count());
        plan.header.blocks = int(blocks.len());
        plan.header.cells = int(cells);
        plan.header.auxiliary = int(model.observed().auxiliary().len());
        plan.header.poi = model.poi().map_or(-1, int);
        plan.header.histosys_code = code;
        plan.add_cells(model, &blocks, cells);
        plan.add_factors(&blocks, count);
        plan.add_templates(&blocks, count, cells);
        let gammas = plan.add_gammas(&blocks, count);
        plan.add_columns(model, &blocks, &gammas)?;
        plan.add_constraints(model);
        plan.add_widths(model);
        plan.header.ints_count = int(plan.ints.len());
        plan.header.reals_count = int(plan.reals.len());
        Ok(plan)
    }

    fn ints(&mut self, values: impl IntoIterator<Item = usize>) -> i32 {
        let start = int(self.ints.len());
        self.ints.extend(values.into_iter().map(int));
        start
    }

    fn signed(&mut self, values: impl IntoIterator<Item = Option<usize>>) -> i32 {
        let start = int(self.ints.len());
        self.ints.extend(values.into_iter().map(|value| value.map_or(-1, int)));
        start
    }

    fn lists(&mut self, lists: &[Vec<usize>]) -> [i32; 2] {
        let Lists { starts, items } = Lists::new(lists);
        let start = int(self.ints.len());
        self.ints.extend(starts);
        let first = int(self.ints.len());
        self.ints.extend(items);
        [start, first]
    }

    fn reals(&mut self, values: impl IntoIterator<Item = f64>) -> i32 {
        // Pairs are read as one, so every array begins at an even place.
        if self.reals.len() % 2 == 1 {
            self.reals.push(0.0);
        }
        let start = int(self.reals.len());
        self.reals.extend(values);
        start
    }

    fn add_cells(&mut self, model: &Model, blocks: &[BlockStructure], cells: usize) {
        let firsts = blocks.iter().map(|block| block.first_cell).chain([cells]);
        self.header.block_cell = self.ints(firsts);
        self.header.block_bin = self.ints(blocks.iter().map(|block| block.bins.start));
        let of_cells = |value: fn(usize, &BlockStructure, usize) -> usize| {
            let of_block = move |(index, block): (usize, &BlockStructure)| {
                (0..block.nominal.len()).map(|at| value(index, block, at)).collect::<Vec<_>>()
            };
            blocks.iter().enumerate().flat_map(of_block).collect::<Vec<_>>()
        };
        self.header.cell_block = self.ints(of_cells(|index, _, _| index));
        self.header.cell_bin = self.ints(of_cells(|_, block, at| block.bins.start + at));
        let mut of_bin = vec![Vec::new(); model.bin_count()];
        for block in blocks {
            for (at, bin) in block.bins.clone().enumerate() {
                of_bin[bin].push(block.first_cell + at);
            }
        }
        [self.header.bin_start, self.header.bin_cell] = self.lists(&of_bin);
        self.header.nominal = self.reals(blocks.iter().flat_map(|block| block.nominal.clone()));
    }

    /// Adds the scalar factors.
    fn add_factors(&mut self, blocks: &[BlockStructure], count: usize) {
        let lanes = blocks.len().next_multiple_of(WARP);
        let owners = |block: &BlockStructure| {
            block.normsys.iter().map(|factor| factor.parameter).collect::<Vec<_>>()
        };
        let rows = Rows::new(count, blocks.iter().map(owners));
        (self.header.lanes, self.header.depth) = (int(lanes), int(rows.count));
        let size = lanes * rows.count;
        let mut owner = vec![None; size];
        let mut powers = vec![0.0; 6 * size];
        let mut logarithms = [vec![0.0; size], vec![0.0; size]];
        for (index, block) in blocks.iter().enumerate() {
            for factor in &block.normsys {
                let place = rows.row(factor.parameter) * lanes + index;
                owner[place] = Some(factor.parameter);
                for (power, coefficient) in factor.coefficients.iter().enumerate() {
                    powers[power * size + place] = *coefficient;
                }
                logarithms[0][place] = factor.ln_hi;
                logarithms[1][place] = factor.ln_lo;
            }
        }
        self.header.norm_owner = self.signed(owner);
        self.header.norm_row = self.signed(rows.places.iter().copied());
        self.header.norm_first = self.ints(rows.ranges.iter().map(|range| range.start));
        self.header.norm_end = self.ints(rows.ranges.iter().map(|range| range.end));
        self.header.polynomial = self.reals(powers);
        let [hi, lo] = logarithms;
        self.header.ln_hi = self.reals(hi);
        self.header.ln_lo = self.reals(lo);
        let free: Vec<Vec<usize>> = blocks.iter().map(|block| block.free.clone()).collect();
        [self.header.free_start, self.header.free_parameter] = self.lists(&free);
        let mut free_of = vec![Vec::new(); count];
        for (index, block) in blocks.iter().enumerate() {
            for parameter in &block.free {
                free_of[*parameter].push(index);
            }
        }
        [self.header.free_of_start, self.header.free_of_block] = self.lists(&free_of);
    }

    /// Adds the templates.
    fn add_templates(&mut self, blocks: &[BlockStructure], count: usize, cells: usize) {
        let owners = |block: &BlockStructure| {
            block.histosys.iter().map(|template| template.parameter).collect::<Vec<_>>()
        };
        let rows = Rows::new(count, blocks.iter().map(owners));
        self.header.layers = int(rows.count);
        let mut owner = vec![None; rows.count * blocks.len()];
        let mut templates = vec![0.0; 2 * rows.count * cells];
        for (index, block) in blocks.iter().enumerate() {
            for histosys in &block.histosys {
                let row = rows.row(histosys.parameter);
                owner[row * blocks.len() + index] = Some(histosys.parameter);
                let pairs = histosys.odd.iter().zip(&histosys.even);
                for (cell, (odd, even)) in (block.first_cell..).zip(pairs) {
                    templates[2 * (row * cells + cell)] = *odd;
                    templates[2 * (row * cells + cell) + 1] = *even;
                }
            }
        }
        let cell = |block: usize| blocks.get(block).map_or(cells, |block| block.first_cell);
        self.header.histo_owner = self.signed(owner);
        self.header.histo_row = self.signed(rows.places.iter().copied());
        self.header.histo_first = self.ints(rows.ranges.iter().map(|range| cell(range.start)));
        self.header.histo_end = self.ints(rows.ranges.iter().map(|range| cell(range.end)));
        self.header.templates = self.reals(templates);
    }

    /// Adds the per-bin factors; returns the cells of each parameter.
    fn add_gammas(&mut self, blocks: &[BlockStructure], count: usize) -> Vec<Vec<usize>> {
        let firsts: Vec<Vec<usize>> = blocks.iter().map(|block| block.gammas.clone()).collect();
        [self.header.gamma_start, self.header.gamma_first] = self.lists(&firsts);
        let mut of_parameter = vec![Vec::new(); count];
        for block in blocks {
            for first in &block.gammas {
                for at in 0..block.nominal.len() {
                    of_parameter[first + at].push(block.first_cell + at);
                }
            }
        }
        [self.header.gamma_of_start, self.header.gamma_of_cell] = self.lists(&of_parameter);
        of_parameter
    }

    /// Parameters of one bin, and columns for the others.
    fn add_columns(
        &mut self,
        model: &Model,
        blocks: &[BlockStructure],
        gammas: &[Vec<usize>],
    ) -> Result<(), Unsupported> {
        let count = model.parameter_count();
        let bins = model.bin_count();
        if bins > MOST_BINS {
            return Err(Unsupported::Size { what: "bins", count: bins, most: MOST_BINS });
        }
        let mut bin_of_cell = vec![0; usize::try_from(self.header.cells).unwrap_or(0)];
        let mut has_other_effects = vec![false; count];
        for block in blocks {
            for (at, bin) in block.bins.clone().enumerate() {
                bin_of_cell[block.first_cell + at] = bin;
            }
            let factors = block.normsys.iter().map(|factor| factor.parameter);
            let templates = block.histosys.iter().map(|template| template.parameter);
            for parameter in factors.chain(templates).chain(block.free.iter().copied()) {
                has_other_effects[parameter] = true;
            }
        }
        let local = |parameter: usize| {
            let cells = &gammas[parameter];
            let bin = bin_of_cell[*cells.first()?];
            let is_one = cells.iter().all(|cell| bin_of_cell[*cell] == bin);
            (is_one && !has_other_effects[parameter]).then_some(bin)
        };
        let local_bin: Vec<Option<usize>> = (0..count).map(local).collect();
        let mut of_bin = vec![Vec::new(); bins];
        let mut dense = Vec::new();
        let mut column = vec![None; count];
        for (parameter, bin) in local_bin.iter().enumerate() {
            if let Some(bin) = bin {
                of_bin[*bin].push(parameter);
            } else {
                column[parameter] = Some(dense.len());
                dense.push(parameter);
            }
        }
        let constraints = model.parameters().map(|found| found.constraint).enumerate();
        let is_free =
            |(parameter, constraint)| (constraint == Constraint::Free).then_some(parameter);
        let border: Vec<usize> = constraints.filter_map(is_free).collect();
        if border.len() > MOST_BORDER {
            let what = "parameters without a constraint";
            return Err(Unsupported::Size { what, count: border.len(), most: MOST_BORDER });
        }
        let mut border_place = vec![None; count];
        for (place, parameter) in border.iter().enumerate() {
            border_place[*parameter] = Some(place);
        }
        (self.header.dense, self.header.border) = (int(dense.len()), int(border.len()));
        self.header.column = self.signed(column);
        self.header.dense_parameter = self.ints(dense);
        self.header.local_bin = self.signed(local_bin);
        [self.header.local_start, self.header.local_parameter] = self.lists(&of_bin);
        self.header.border_parameter = self.ints(border);
        self.header.border_place = self.signed(border_place);
        Ok(())
    }

    fn add_constraints(&mut self, model: &Model) {
        let described = |constraint: Constraint| match constraint {
            Constraint::Free => (0, 0, 0.0),
            Constraint::Normal { auxiliary, sigma } => (1, auxiliary, 1.0 / sigma),
            Constraint::Poisson { auxiliary, factor } => (2, auxiliary, factor),
        };
        let all: Vec<_> = model.parameters().collect();
        let constraints: Vec<_> = all.iter().map(|found| described(found.constraint)).collect();
        self.header.kind = self.ints(constraints.iter().map(|(kind, _, _)| *kind));
        self.header.aux = self.ints(constraints.iter().map(|(_, auxiliary, _)| *auxiliary));
        self.header.fixed = self.ints(all.iter().map(|found| usize::from(found.fixed)));
        self.header.width = self.reals(constraints.iter().map(|(_, _, width)| *width));
        self.header.init = self.reals(all.iter().map(|found| found.init));
        self.header.lower = self.reals(all.iter().map(|found| found.bounds[0]));
        self.header.upper = self.reals(all.iter().map(|found| found.bounds[1]));
        self.header.auxiliary_data = self.reals(model.observed().auxiliary().iter().copied());
    }

    /// Widths that follow yields. A flag says that a measurement gives the width, another that it says whether the
    /// parameter is fixed.
    fn add_widths(&mut self, model: &Model) {
        let flags = |width: bool, fixed: bool| usize::from(width) + 2 * usize::from(fixed);
        let cells = usize::try_from(self.header.cells).unwrap_or(0);
        let staterrors: Vec<_> = model.staterrors().collect();
        self.header.stat_count = int(staterrors.len());
        self.header.stat_parameter = self.ints(staterrors.iter().map(|bin| bin.parameter));
        let carriers: Vec<Vec<usize>> = staterrors
            .iter()
            .map(|bin| bin.carriers.iter().map(|(cell, _)| *cell).collect())
            .collect();
        [self.header.stat_start, self.header.stat_cell] = self.lists(&carriers);
        self.header.stat_given =
            self.ints(staterrors.iter().map(|bin| flags(bin.width_given, bin.fixed_given)));
        let uncertainties =
            staterrors.iter().flat_map(|bin| bin.carriers.iter().map(|(_, value)| *value));
        self.header.stat_uncertainty = self.reals(uncertainties);
        let mut of_cell = vec![None; cells];
        for (index, carriers) in carriers.iter().enumerate() {
            for cell in carriers {
                self.irregular_widths |= of_cell[*cell].replace(index).is_some();
            }
        }
        self.header.cell_stat = self.signed(of_cell);
        let shapesys: Vec<_> = model.shapesys().collect();
        self.header.shape_count = int(shapesys.len());
        self.header.shape_parameter = self.ints(shapesys.iter().map(|bin| bin.parameter));
        self.header.shape_cell = self.ints(shapesys.iter().map(|bin| bin.cell));
        let given = shapesys.iter().map(|bin| flags(bin.factor_given, bin.fixed_given));
        self.header.shape_given = self.ints(given);
        self.irregular_widths |= shapesys.iter().any(|bin| bin.factor_given != bin.auxiliary_given);
        self.header.shape_uncertainty = self.reals(shapesys.iter().map(|bin| bin.uncertainty));
        let mut of_cell = vec![None; cells];
        for (index, bin) in shapesys.iter().enumerate() {
            self.irregular_widths |= of_cell[bin.cell].replace(index).is_some();
        }
        self.header.cell_shape = self.signed(of_cell);
    }

    /// The memory of a row, as `divide` in the kernels counts it.
    pub(crate) fn row_size(&self) -> RowSize {
        let count = |value: i32| usize::try_from(value).unwrap_or(0);
        let header = &self.header;
        let [n, b, f] = [header.parameters, header.bins, header.border].map(count);
        let [blocks, cells, aux] = [header.blocks, header.cells, header.auxiliary].map(count);
        let [lanes, depth, dense] = [header.lanes, header.depth, header.dense].map(count);
        let hot = 64
            + 16 * n
            + aux
            + 5 * b
            + 4 * blocks
            + lanes.max(512)
            + 3 * cells
            + b * b
            + 3 * b.max(f)
            + 2 * b * f
            + f * f
            + 2 * f
            + 2 * PAIRS
            + 3 * n.div_ceil(2);
        let cold = 2 * cells + depth * lanes + b * dense + (2 * PAIRS + 2) * n;
        // Pairs of the plan may follow in the same memory.
        RowSize { hot: hot.next_multiple_of(2), cold: cold.next_multiple_of(2) }
    }

    /// The parameters' initial values for data, as the kernels start from them.
    pub(crate) fn data_length(&self) -> usize {
        usize::try_from(self.header.bins + self.header.auxiliary).unwrap_or(0)
    }

    /// The bounds of the parameter of interest.
    pub(crate) fn poi_bounds(&self) -> [f64; 2] {
        let place = |start: i32| usize::try_from(start + self.header.poi).unwrap_or(0);
        if self.header.poi < 0 {
            return [0.0; 2];
        }
        [self.header.lower, self.header.upper].map(|start| self.reals[place(start)])
    }

    pub(crate) fn parameters(&self) -> usize {
        usize::try_from(self.header.parameters).unwrap_or(0)
    }
}

/// The number of pairs of steps and changes of the gradient that a fit keeps.
const PAIRS: usize = 10;

/// The numbers of several data sets, one after the other.
pub(crate) fn rows_of(data: &[Data]) -> Vec<f64> {
    data.iter().flat_map(|data| data.as_slice().iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels declare the same counts and offsets, in the same order.
    #[test]
    fn the_kernels_declare_the_same_plan() {
        let source = include_str!("../kernels/histfactory.cu");
        let start = source.find("typedef struct {\n  const int *ints;").expect("the plan is there");
        let end = start + source[start..].find("} Plan;").expect("it ends");
        let fields = source[start..end].lines().filter(|line| !line.trim_start().starts_with("//"));
        let text: String = fields.collect::<Vec<_>>().join(" ");
        let names: Vec<&str> = text
            .split(';')
            .filter_map(|declaration| declaration.trim().strip_prefix("int "))
            .flat_map(|declared| declared.split(',').map(str::trim))
            .collect();
        assert_eq!(names, NAMES);
    }
}
