//! Compiles a workspace and a measurement into flat arrays.

use std::collections::HashMap;

use super::elimination::eliminate;
use super::error::ModelError;
use super::factors::Factors;
use super::fronts::Ordering;
use super::layout::{
    Block, Carrier, ChannelLayout, Elimination, Grouped, Layout, Outline, ParameterSet,
    ShapesysBin, StaterrorBin, padded,
};
use super::numbers::Numbers;
use super::parameters::{Density, Requirement, Settled, settle};
use super::sorted::{Sorted, SortedChannel, SortedSample, observations, sort, wrong};
use super::staterror::{Staterror, StaterrorSum, collect_staterrors};
use super::{Constraint, ModelOptions};
use crate::workspace::{Effect, Measurement, ModifierType, Workspace};

pub(super) fn compile(
    workspace: &Workspace,
    options: &ModelOptions,
) -> Result<(Layout, Numbers, Vec<f64>), ModelError> {
    let measurement = workspace.measurement(options.measurement.as_deref())?;
    let sorted = sort(workspace)?;
    let staterrors = collect_staterrors(&sorted)?;
    let required = requirements(&sorted, &staterrors)?;
    let sets = settle(required, &measurement.config.parameters)?;
    if sets.is_empty() {
        return Err(ModelError::NoParameters);
    }
    let mut builder = Builder::new(&sets, options, &sorted);
    builder.blocks(&sorted)?;
    builder.staterrors(&staterrors, &sets);
    let poi = options.poi.as_ref().unwrap_or(&measurement.config.poi);
    builder.poi(poi, measurement)?;
    let main = observations(workspace, &sorted)?;
    let (layout, numbers) = builder.finish(&sets);
    Ok((layout, numbers, main))
}

fn requirements(
    sorted: &Sorted<'_>,
    staterrors: &[Staterror<'_>],
) -> Result<Vec<(String, Requirement)>, ModelError> {
    let mut by_type: Vec<Vec<(String, Requirement)>> = vec![Vec::new(); ModifierType::ALL.len()];
    let mut seen: HashMap<(ModifierType, &str), usize> = HashMap::new();
    for channel in &sorted.channels {
        for sample in &channel.samples {
            for modifier in &sample.modifiers {
                let kind = modifier.kind();
                let bins = channel.bins.len();
                if kind == ModifierType::Staterror {
                    continue;
                }
                if let Some(count) = seen.get(&(kind, modifier.name.as_str())) {
                    let what = match kind {
                        ModifierType::Shapesys => {
                            "a shapesys belongs to one sample of one channel; give it a name of \
                             its own"
                                .to_owned()
                        }
                        ModifierType::Shapefactor if bins > *count => {
                            format!("it has {count} factors from its first channel, not {bins}")
                        }
                        _ => continue,
                    };
                    return Err(wrong(channel.channel, sample.sample, modifier, what));
                }
                seen.insert((kind, &modifier.name), bins);
                let mut requirement = Requirement::new(kind, bins);
                if let Effect::Shapesys(uncertainties) = &modifier.effect {
                    let pairs = sample.sample.data.iter().zip(uncertainties);
                    let factors: Vec<Option<f64>> =
                        pairs.map(|(nominal, delta)| shapesys_factor(*nominal, *delta)).collect();
                    requirement.fixed = factors.iter().map(Option::is_none).collect();
                    let factors: Vec<f64> =
                        factors.into_iter().map(|factor| factor.unwrap_or(1.0)).collect();
                    requirement.density = Density::Poisson { auxiliary: factors.clone(), factors };
                }
                by_type[kind as usize].push((modifier.name.clone(), requirement));
            }
        }
    }
    for staterror in staterrors {
        let mut requirement = Requirement::new(ModifierType::Staterror, staterror.bins.len());
        let sigmas: Vec<f64> = staterror.bins.iter().map(StaterrorSum::sigma).collect();
        requirement.fixed = sigmas.iter().map(|sigma| *sigma == 0.0).collect();
        let sigmas = sigmas.iter().map(|sigma| if *sigma == 0.0 { 1.0 } else { *sigma }).collect();
        let auxiliary = vec![1.0; staterror.bins.len()];
        requirement.density = Density::Normal { auxiliary, sigmas: Some(sigmas) };
        by_type[ModifierType::Staterror as usize].push((staterror.name.to_owned(), requirement));
    }
    Ok(by_type.into_iter().flatten().collect())
}

/// (ν/δ)², if there is a yield and an uncertainty.
pub(super) fn shapesys_factor(nominal: f64, delta: f64) -> Option<f64> {
    (nominal > 0.0 && delta > 0.0).then(|| nominal.powi(2) / delta.powi(2))
}

struct Builder<'a> {
    layout: Layout,
    numbers: Numbers,
    /// First parameter of each set.
    first: HashMap<&'a str, usize>,
    sets: &'a [Settled],
    set_of: HashMap<&'a str, usize>,
    /// The index of the uncertainty of each (yield, staterror) pair.
    staterror_uncertainty: HashMap<(usize, &'a str), usize>,
}

impl<'a> Builder<'a> {
    fn new(sets: &'a [Settled], options: &ModelOptions, sorted: &Sorted<'_>) -> Self {
        let mut next = 0;
        let mut parameter_sets = Vec::new();
        let (mut names, mut init, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        for set in sets {
            let count = set.requirement.count();
            let parameters = next..next + count;
            next += count;
            parameter_sets.push(ParameterSet { name: set.name.clone(), parameters });
            if set.requirement.scalar {
                names.push(set.name.clone());
            } else {
                names.extend((0..count).map(|bin| format!("{}[{bin}]", set.name)));
            }
            init.extend(&set.requirement.init);
            bounds.extend(&set.requirement.bounds);
        }
        let first = sets
            .iter()
            .zip(&parameter_sets)
            .map(|(set, place)| (set.name.as_str(), place.parameters.start))
            .collect();
        let set_of =
            sets.iter().enumerate().map(|(index, set)| (set.name.as_str(), index)).collect();
        let mut samples: Vec<String> = sorted
            .channels
            .iter()
            .flat_map(|channel| &channel.samples)
            .map(|sample| sample.sample.name.clone())
            .collect();
        samples.sort();
        samples.dedup();
        let layout = Layout {
            options: options.clone(),
            channels: Vec::new(),
            samples,
            sets: parameter_sets,
            names,
            init,
            bounds,
            poi: None,
            bins: 0,
            yields: 0,
            shapes: 0,
            auxiliary: 0,
            blocks: Vec::new(),
            outlines: Vec::new(),
            free_factors: Vec::new(),
            free_of: Grouped::default(),
            free_parameters: Vec::new(),
            normsys_parameter: Vec::new(),
            normsys_of: Grouped::default(),
            factors: Factors::default(),
            histosys_parameter: Vec::new(),
            histosys_parameters: Vec::new(),
            gamma_parameter: Vec::new(),
            gamma_first: Vec::new(),
            staterrors: Vec::new(),
            carriers: Vec::new(),
            shapesys: Vec::new(),
            elimination: Elimination::default(),
        };
        Self {
            layout,
            numbers: Numbers::default(),
            first,
            sets,
            set_of,
            staterror_uncertainty: HashMap::new(),
        }
    }

    fn poi(&mut self, poi: &str, measurement: &Measurement) -> Result<(), ModelError> {
        if poi.is_empty() {
            return Ok(());
        }
        let index = self.first.get(poi).copied().ok_or_else(|| ModelError::NoSuchPoi {
            measurement: measurement.name.clone(),
            poi: poi.to_owned(),
        })?;
        self.layout.poi = Some(index);
        Ok(())
    }

    fn blocks(&mut self, sorted: &Sorted<'a>) -> Result<(), ModelError> {
        for channel in &sorted.channels {
            let start = self.layout.blocks.len();
            for sample in &channel.samples {
                self.block(channel, sample);
            }
            self.layout.channels.push(ChannelLayout {
                name: channel.channel.name.clone(),
                bins: channel.bins.clone(),
                blocks: start..self.layout.blocks.len(),
            });
            self.layout.bins = channel.bins.end;
        }
        self.layout.yields = self.numbers.nominal.len();
        match self.layout.bins {
            0 => Err(ModelError::Channel {
                channel: sorted.channels.first().map_or("", |c| &c.channel.name).to_owned(),
                what: "there are no bins".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
    fn block(&mut self, place: &SortedChannel<'a>, sample: &SortedSample<'a>) {
        let bins = place.bins.len();
        let nowhere = self.layout.names.len() as u32;
        let layout = &mut self.layout;
        let numbers = &mut self.numbers;
        numbers.nominal.extend(&sample.sample.data);
        let (free, normsys, histosys) = (
            layout.free_factors.len(),
            layout.normsys_parameter.len(),
            layout.histosys_parameter.len(),
        );
        let gammas = layout.gamma_parameter.len();
        let mut gamma_count = 0;
        let mut templates: Vec<(&[f64], &[f64])> = Vec::new();
        for modifier in &sample.modifiers {
            let parameter = self.first[modifier.name.as_str()];
            match &modifier.effect {
                Effect::Lumi | Effect::Normfactor => layout.free_factors.push(parameter as u32),
                Effect::Normsys { lo, hi } => {
                    layout.normsys_parameter.push(parameter as u32);
                    numbers.normsys_hi.push(*hi);
                    numbers.normsys_lo.push(*lo);
                }
                Effect::Histosys { lo, hi } => {
                    layout.histosys_parameter.push(parameter as u32);
                    templates.push((lo, hi));
                }
                Effect::Shapefactor => {
                    gamma_count += 1;
                    let parameters = (0..bins).map(|bin| (parameter + bin) as u32);
                    layout.gamma_parameter.extend(parameters);
                }
                Effect::Shapesys(uncertainties) => {
                    gamma_count += 1;
                    let set = &self.sets[self.set_of[modifier.name.as_str()]];
                    for (bin, uncertainty) in uncertainties.iter().enumerate() {
                        layout.gamma_parameter.push((parameter + bin) as u32);
                        layout.shapesys.push(ShapesysBin {
                            parameter: parameter + bin,
                            yield_index: sample.yields + bin,
                            uncertainty: numbers.uncertainty.len(),
                            auxiliary_given: set.auxiliary_given,
                            factor_given: set.factors_given,
                            fixed_given: set.fixed_given,
                        });
                        numbers.uncertainty.push(*uncertainty);
                    }
                }
                Effect::Staterror(uncertainties) => {
                    gamma_count += 1;
                    for (bin, uncertainty) in uncertainties.iter().enumerate() {
                        // Filled in when the order of the bins over all channels is known.
                        layout.gamma_parameter.push(nowhere);
                        let key = (sample.yields + bin, modifier.name.as_str());
                        self.staterror_uncertainty.insert(key, numbers.uncertainty.len());
                        numbers.uncertainty.push(*uncertainty);
                    }
                }
            }
        }
        let (used, stride) = (templates.len(), padded(templates.len()));
        layout.histosys_parameter.resize(histosys + stride, nowhere);
        let first_template = numbers.hi.len();
        for bin in 0..bins {
            numbers.lo.extend(templates.iter().map(|(lo, _)| lo[bin]));
            numbers.hi.extend(templates.iter().map(|(_, hi)| hi[bin]));
            numbers.lo.resize(first_template + (bin + 1) * stride, sample.sample.data[bin]);
            numbers.hi.resize(first_template + (bin + 1) * stride, sample.sample.data[bin]);
        }
        let name = &sample.sample.name;
        let stream = layout.blocks.last().map_or(0, |last| last.stream + last.stream_length());
        layout.blocks.push(Block {
            sample: layout.samples.binary_search(name).unwrap_or_default(),
            bins: place.bins.clone(),
            yields: sample.yields,
            shapes: layout.shapes,
            free_factors: free..layout.free_factors.len(),
            normsys: normsys..layout.normsys_parameter.len(),
            histosys: histosys..layout.histosys_parameter.len(),
            histosys_used: used,
            templates: first_template,
            stream,
            front: 0,
            padded_bins: 0,
            gammas,
            gamma_firsts: 0..0,
            gamma_count,
            members: 0..0,
        });
        layout.shapes += padded(bins);
    }

    #[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
    fn staterrors(&mut self, staterrors: &[Staterror<'a>], sets: &[Settled]) {
        let mut parameter_of: HashMap<usize, u32> = HashMap::new();
        for staterror in staterrors {
            let first = self.first[staterror.name];
            let set = &sets[self.set_of[staterror.name]];
            for (bin, sum) in staterror.bins.iter().enumerate() {
                let start = self.layout.carriers.len();
                for (yield_index, _) in &sum.carriers {
                    let uncertainty = self.staterror_uncertainty[&(*yield_index, staterror.name)];
                    parameter_of.insert(uncertainty, (first + bin) as u32);
                    let carrier = Carrier { yield_index: *yield_index, uncertainty };
                    self.layout.carriers.push(carrier);
                }
                self.layout.staterrors.push(StaterrorBin {
                    parameter: first + bin,
                    carriers: start..self.layout.carriers.len(),
                    width_given: set.sigmas_given,
                    fixed_given: set.fixed_given,
                });
            }
        }
        // Uncertainties have the order of the per-bin factors without shapefactors.
        let nowhere = self.layout.names.len() as u32;
        let mut order: Vec<(usize, u32)> = parameter_of.into_iter().collect();
        order.sort_unstable();
        let mut parameters = order.into_iter().map(|(_, parameter)| parameter);
        for slot in &mut self.layout.gamma_parameter {
            if *slot == nowhere {
                *slot = parameters.next().unwrap_or_default();
            }
        }
        self.gamma_firsts();
    }

    /// The parameters of a per-bin factor are adjacent, like its bins.
    fn gamma_firsts(&mut self) {
        let layout = &mut self.layout;
        for block in &mut layout.blocks {
            let start = layout.gamma_first.len();
            let owners = block.gammas..block.gammas + block.gamma_count * block.bin_count();
            for owners in layout.gamma_parameter[owners].chunks_exact(block.bin_count().max(1)) {
                debug_assert!(owners.windows(2).all(|pair| pair[1] == pair[0] + 1));
                layout.gamma_first.push(owners[0]);
            }
            block.gamma_firsts = start..layout.gamma_first.len();
        }
    }

    fn finish(mut self, sets: &[Settled]) -> (Layout, Numbers) {
        let mut auxiliary = 0;
        for set in sets {
            let requirement = &set.requirement;
            for component in 0..requirement.count() {
                let constraint = match &requirement.density {
                    Density::Free => Constraint::Free,
                    Density::Normal { auxiliary: values, sigmas } => {
                        self.numbers.auxiliary.push(values[component]);
                        auxiliary += 1;
                        let sigma = sigmas.as_ref().map_or(1.0, |sigmas| sigmas[component]);
                        Constraint::Normal { auxiliary: auxiliary - 1, sigma }
                    }
                    Density::Poisson { factors, auxiliary: values } => {
                        self.numbers.auxiliary.push(values[component]);
                        auxiliary += 1;
                        Constraint::Poisson { auxiliary: auxiliary - 1, factor: factors[component] }
                    }
                };
                self.numbers.constraints.push(constraint);
                self.numbers.fixed.push(requirement.fixed[component]);
            }
        }
        let layout = &mut self.layout;
        layout.auxiliary = auxiliary;
        let parameters = layout.names.len();
        let entries = layout.normsys_parameter.iter().zip(0_u32..).map(|(key, item)| (*key, item));
        layout.normsys_of = Grouped::new(parameters, entries);
        layout.factors = Factors::new(
            parameters,
            &layout.normsys_parameter,
            &layout.free_factors,
            &layout.blocks,
        );
        let free = layout.blocks.iter().zip(0_u32..).flat_map(|(block, number)| {
            let owners = &layout.free_factors[block.free_factors.clone()];
            owners.iter().map(move |owner| (*owner, number))
        });
        layout.free_of = Grouped::new(parameters, free);
        let distinct = |owners: &[u32]| {
            let mut owners = owners.to_vec();
            owners.sort_unstable();
            owners.dedup();
            owners.retain(|owner| (*owner as usize) < parameters);
            owners
        };
        layout.free_parameters = distinct(&layout.free_factors);
        layout.histosys_parameters = distinct(&layout.histosys_parameter);
        eliminate(layout, Ordering::Cheapest);
        layout.outlines = layout.blocks.iter().map(Outline::new).collect();
        self.numbers.derive(layout);
        (self.layout, self.numbers)
    }
}
