//! The same model with other yields, templates or uncertainties, as changed by a training step.

use std::sync::Arc;

use super::layout::Layout;
use super::{Data, EvaluationError, Model};

/// New numbers of one sample in one channel; `None` leaves the old ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct YieldChange {
    pub channel: String,
    pub sample: String,
    pub nominal: Option<Vec<f64>>,
    /// High and low templates of a histosys, by name.
    pub templates: Vec<(String, Vec<f64>, Vec<f64>)>,
    /// Absolute uncertainties of a shapesys or staterror, by name.
    pub uncertainties: Vec<(String, Vec<f64>)>,
}

impl Model {
    /// This model with other numbers. Widths of constraints and auxiliary data follow, as if the workspace
    /// had been changed and compiled again.
    pub fn with_yields(&self, changes: &[YieldChange]) -> Result<Self, EvaluationError> {
        let mut numbers = self.numbers.clone();
        for change in changes {
            let block = self.layout.block_index(&change.channel, &change.sample)?;
            let place = &self.layout.blocks[block];
            let bins = place.bin_count();
            let fits = |values: &[f64]| {
                if values.len() != bins {
                    return Err(EvaluationError::Bins {
                        channel: change.channel.clone(),
                        sample: change.sample.clone(),
                        got: values.len(),
                        expected: bins,
                    });
                }
                match values.iter().position(|value| !value.is_finite()) {
                    None => Ok(()),
                    Some(index) => {
                        let value = values[index];
                        Err(EvaluationError::NotFinite { what: "yield", index, value })
                    }
                }
            };
            if let Some(nominal) = &change.nominal {
                fits(nominal)?;
                numbers.nominal[place.yields..place.yields + bins].copy_from_slice(nominal);
            }
            for (name, hi, lo) in &change.templates {
                fits(hi)?;
                fits(lo)?;
                let entry = self.layout.histosys_entry(block, name)?;
                for bin in 0..bins {
                    let template = place.templates + bin * place.stride() + entry;
                    (numbers.hi[template], numbers.lo[template]) = (hi[bin], lo[bin]);
                }
            }
            for (name, values) in &change.uncertainties {
                fits(values)?;
                for (bin, value) in values.iter().enumerate() {
                    let index = self.layout.uncertainty_index(name, place.yields + bin)?;
                    numbers.uncertainty[index] = *value;
                }
            }
            numbers.derive_templates(&self.layout, block);
        }
        numbers.derive_constraints(&self.layout);
        let mut model = Self {
            layout: Arc::clone(&self.layout),
            numbers,
            observed: Data { values: Vec::new(), bins: self.layout.bins, constant: 0.0 },
        };
        let auxiliary = &model.numbers.auxiliary;
        let values = self.observed.main().iter().chain(auxiliary).copied().collect();
        model.observed = Data::new(&model, values)?;
        Ok(model)
    }

    /// Whether a channel has a sample.
    pub fn has_sample(&self, channel: &str, sample: &str) -> bool {
        self.layout.block_index(channel, sample).is_ok()
    }

    /// The high and the low template of a histosys.
    pub fn templates(
        &self,
        channel: &str,
        sample: &str,
        name: &str,
    ) -> Result<[Vec<f64>; 2], EvaluationError> {
        let index = self.layout.block_index(channel, sample)?;
        let entry = self.layout.histosys_entry(index, name)?;
        let block = &self.layout.blocks[index];
        let of_bins = |values: &[f64]| {
            let template = |bin| block.templates + bin * block.stride() + entry;
            (0..block.bin_count()).map(|bin| values[template(bin)]).collect()
        };
        Ok([of_bins(&self.numbers.hi), of_bins(&self.numbers.lo)])
    }

    /// This model with other observed data.
    #[must_use]
    pub fn with_observed(&self, data: Data) -> Self {
        Self { observed: data, ..self.clone() }
    }
}

impl Layout {
    pub(crate) fn block_index(
        &self,
        channel: &str,
        sample: &str,
    ) -> Result<usize, EvaluationError> {
        let missing =
            |what, name: &str| EvaluationError::NoSuchPlace { what, name: name.to_owned() };
        let found = self.channels.iter().find(|known| known.name == channel);
        let place = found.ok_or_else(|| missing("channel", channel))?;
        let mut blocks = place.blocks.clone();
        blocks
            .find(|block| self.samples[self.blocks[*block].sample] == sample)
            .ok_or_else(|| missing("sample", sample))
    }

    /// The position of a histosys of this name within the block.
    pub(crate) fn histosys_entry(
        &self,
        block: usize,
        name: &str,
    ) -> Result<usize, EvaluationError> {
        let place = &self.blocks[block];
        let entries = &self.histosys_parameter[place.histosys.clone()];
        entries[..place.histosys_used]
            .iter()
            .position(|parameter| self.names[*parameter as usize] == name)
            .ok_or_else(|| EvaluationError::NoSuchPlace { what: "histosys", name: name.to_owned() })
    }

    /// The entry of a block's normsys of this name.
    pub(crate) fn normsys_entry(&self, block: usize, name: &str) -> Result<usize, EvaluationError> {
        let place = &self.blocks[block];
        let entries = place.normsys.clone();
        let missing = || EvaluationError::NoSuchPlace { what: "normsys", name: name.to_owned() };
        entries
            .into_iter()
            .find(|entry| self.names[self.normsys_parameter[*entry] as usize] == name)
            .ok_or_else(missing)
    }

    pub(crate) fn uncertainty_index(
        &self,
        name: &str,
        yield_index: usize,
    ) -> Result<usize, EvaluationError> {
        let set = self.sets.iter().find(|set| set.name == name);
        let missing =
            || EvaluationError::NoSuchPlace { what: "uncertainty", name: name.to_owned() };
        let parameters = set.ok_or_else(missing)?.parameters.clone();
        let shapesys = self
            .shapesys
            .iter()
            .find(|bin| parameters.contains(&bin.parameter) && bin.yield_index == yield_index);
        let staterrors = self.staterrors.iter();
        let mut of_set = staterrors.filter(|bin| parameters.contains(&bin.parameter));
        let mut carrier = || {
            of_set.find_map(|bin| {
                let carriers = &self.carriers[bin.carriers.clone()];
                carriers.iter().find(|carrier| carrier.yield_index == yield_index)
            })
        };
        shapesys
            .map(|bin| bin.uncertainty)
            .or_else(|| carrier().map(|carrier| carrier.uncertainty))
            .ok_or_else(missing)
    }
}
