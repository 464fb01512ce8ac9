//! The inputs of an objective, and their places in a model.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::derivative::Convention;
use crate::model::{Data, EvaluationError, Model};

/// Numbers that an objective is a function of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// All parameters of the model, for a quantity that is not profiled.
    Parameters,
    /// The nominal yields of a sample in a channel.
    Nominal { channel: String, sample: String },
    /// The high template of a histosys.
    High { channel: String, sample: String, modifier: String },
    /// The low template of a histosys.
    Low { channel: String, sample: String, modifier: String },
    /// The absolute uncertainties of a shapesys or staterror.
    Uncertainty { channel: String, sample: String, modifier: String },
    /// The observed counts of a channel.
    Counts { channel: String },
}

/// Inputs that are nominal yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NominalInputs {
    /// Cells as in [`Model::structure`].
    pub cells: Vec<usize>,
    /// Whether the templates of these cells move with them.
    pub templates_ride: bool,
}

/// A number of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    Parameter(usize),
    Nominal(usize),
    High(usize),
    Low(usize),
    Uncertainty(usize),
    Count(usize),
}

/// All inputs of an objective, in order, and the numbers derived from them.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "the slots are what it holds")]
pub(super) struct Slots {
    pub(super) slots: Vec<Slot>,
    pub(super) ranges: Vec<Range<usize>>,
    blocks: Vec<usize>,
    /// Templates that move with a nominal yield, by its place in `slots`.
    pub(super) riding: Vec<(usize, Slot)>,
    /// All templates of the nominal yields, by their places in `slots`.
    pub(super) templates: Vec<(usize, usize)>,
}

impl Slots {
    pub(super) fn new(
        model: &Model,
        inputs: &[Input],
        convention: Convention,
    ) -> Result<Self, EvaluationError> {
        let mut slots = Vec::new();
        let mut ranges = Vec::new();
        let mut blocks = Vec::new();
        for input in inputs {
            let start = slots.len();
            slots.extend(resolve(model, input, &mut blocks)?);
            ranges.push(start..slots.len());
        }
        blocks.sort_unstable();
        blocks.dedup();
        let mut once = HashSet::new();
        if let Some(twice) = inputs.iter().zip(&ranges).find_map(|(input, range)| {
            slots[range.clone()].iter().any(|slot| !once.insert(*slot)).then_some(input)
        }) {
            return Err(EvaluationError::Twice { what: format!("{twice:?}") });
        }
        let templates = templates(model, &slots, &blocks);
        let mut riding = Vec::new();
        if convention == Convention::TemplatesRide {
            for &(place, template) in &templates {
                riding.extend([(place, Slot::High(template)), (place, Slot::Low(template))]);
            }
        }
        riding.retain(|(_, template)| !once.contains(template));
        Ok(Self { slots, ranges, blocks, riding, templates })
    }

    /// The model with these numbers.
    pub(super) fn changed(&self, model: &Model, x: &[f64]) -> Result<Model, EvaluationError> {
        if x.len() != self.slots.len() {
            let (got, expected) = (x.len(), self.slots.len());
            return Err(EvaluationError::Length { what: "inputs", got, expected });
        }
        if let Some(index) = x.iter().position(|value| !value.is_finite()) {
            let value = x[index];
            return Err(EvaluationError::NotFinite { what: "input", index, value });
        }
        let mut numbers = model.numbers.clone();
        let mut main = model.observed.main().to_vec();
        for &(place, template) in &self.riding {
            let Slot::Nominal(index) = self.slots[place] else { continue };
            let moved = x[place] - model.numbers.nominal[index];
            match template {
                Slot::High(index) => numbers.hi[index] += moved,
                Slot::Low(index) => numbers.lo[index] += moved,
                Slot::Parameter(_) | Slot::Nominal(_) | Slot::Uncertainty(_) | Slot::Count(_) => {}
            }
        }
        for (slot, &value) in self.slots.iter().zip(x) {
            match *slot {
                Slot::Parameter(_) => {}
                Slot::Nominal(index) => numbers.nominal[index] = value,
                Slot::High(index) => numbers.hi[index] = value,
                Slot::Low(index) => numbers.lo[index] = value,
                Slot::Uncertainty(index) => numbers.uncertainty[index] = value,
                Slot::Count(index) => main[index] = value,
            }
        }
        for block in &self.blocks {
            numbers.derive_templates(&model.layout, *block);
        }
        numbers.derive_constraints(&model.layout);
        let observed = Data { values: Vec::new(), bins: model.layout.bins, constant: 0.0 };
        let mut changed = Model { layout: Arc::clone(&model.layout), numbers, observed };
        main.extend_from_slice(&changed.numbers.auxiliary);
        changed.observed = Data::new(&changed, main)?;
        Ok(changed)
    }

    /// The present values of these numbers in the model.
    pub(super) fn current(&self, model: &Model) -> Vec<f64> {
        let numbers = &model.numbers;
        let value = |slot: &Slot| match *slot {
            Slot::Parameter(index) => model.layout.init[index],
            Slot::Nominal(index) => numbers.nominal[index],
            Slot::High(index) => numbers.hi[index],
            Slot::Low(index) => numbers.lo[index],
            Slot::Uncertainty(index) => numbers.uncertainty[index],
            Slot::Count(index) => model.observed.main()[index],
        };
        self.slots.iter().map(value).collect()
    }

    /// The cells of these numbers, if all are nominal yields.
    pub(super) fn nominal(&self) -> Option<NominalInputs> {
        let cell = |slot: &Slot| match *slot {
            Slot::Nominal(index) => Some(index),
            Slot::Parameter(_)
            | Slot::High(_)
            | Slot::Low(_)
            | Slot::Uncertainty(_)
            | Slot::Count(_) => None,
        };
        let cells = self.slots.iter().map(cell).collect::<Option<_>>()?;
        Some(NominalInputs { cells, templates_ride: !self.riding.is_empty() })
    }

    /// The parameters among the inputs.
    pub(super) fn parameters<'a>(&self, x: &'a [f64]) -> Option<&'a [f64]> {
        let whole =
            |range: &&Range<usize>| matches!(self.slots.get(range.start), Some(Slot::Parameter(_)));
        self.ranges.iter().find(whole).map(|range| &x[range.clone()])
    }
}

fn resolve(
    model: &Model,
    input: &Input,
    blocks: &mut Vec<usize>,
) -> Result<Vec<Slot>, EvaluationError> {
    let layout = &*model.layout;
    let mut templates = |channel: &str, sample: &str, modifier: &str, slot: fn(usize) -> Slot| {
        let index = layout.block_index(channel, sample)?;
        let entry = layout.histosys_entry(index, modifier)?;
        blocks.push(index);
        let block = &layout.blocks[index];
        let place = |bin| slot(block.templates + bin * block.stride() + entry);
        Ok((0..block.bin_count()).map(place).collect())
    };
    match input {
        Input::Parameters => Ok((0..model.parameter_count()).map(Slot::Parameter).collect()),
        Input::Nominal { channel, sample } => {
            let index = layout.block_index(channel, sample)?;
            blocks.push(index);
            let block = &layout.blocks[index];
            Ok((block.yields..block.yields + block.bin_count()).map(Slot::Nominal).collect())
        }
        Input::High { channel, sample, modifier } => {
            templates(channel, sample, modifier, Slot::High)
        }
        Input::Low { channel, sample, modifier } => templates(channel, sample, modifier, Slot::Low),
        Input::Uncertainty { channel, sample, modifier } => {
            let block = &layout.blocks[layout.block_index(channel, sample)?];
            (block.yields..block.yields + block.bin_count())
                .map(|place| layout.uncertainty_index(modifier, place).map(Slot::Uncertainty))
                .collect()
        }
        Input::Counts { channel } => {
            let found = layout.channels.iter().find(|known| known.name == *channel);
            let missing =
                || EvaluationError::NoSuchPlace { what: "channel", name: channel.clone() };
            Ok(found.ok_or_else(missing)?.bins.clone().map(Slot::Count).collect())
        }
    }
}

/// Nominal yields among the slots, each with the templates of its bin.
fn templates(model: &Model, slots: &[Slot], blocks: &[usize]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for block in blocks.iter().map(|index| &model.layout.blocks[*index]) {
        let yields = block.yields..block.yields + block.bin_count();
        for (place, slot) in slots.iter().enumerate() {
            let Slot::Nominal(index) = *slot else { continue };
            if yields.contains(&index) {
                let start = block.templates + (index - block.yields) * block.stride();
                pairs.extend((start..start + block.histosys_used).map(|index| (place, index)));
            }
        }
    }
    pairs
}
