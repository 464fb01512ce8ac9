//! A workspace and a measurement made into flat arrays.

use std::collections::HashMap;
use std::ops::Range;

use super::error::ModelError;
use super::layout::{
    Block, Carrier, ChannelLayout, Elimination, Grouped, LANES, Layout, ParameterSet, Place,
    ShapesysBin, StaterrorBin, padded,
};
use super::numbers::Numbers;
use super::parameters::{Density, Requirement, Settled, settle};
use super::{Constraint, ModelOptions};
use crate::workspace::{Channel, Effect, Measurement, Modifier, ModifierType, Sample, Workspace};

/// A workspace seen in pyhf's order.
struct Sorted<'a> {
    channels: Vec<SortedChannel<'a>>,
}

struct SortedChannel<'a> {
    channel: &'a Channel,
    bins: Range<usize>,
    samples: Vec<SortedSample<'a>>,
}

struct SortedSample<'a> {
    sample: &'a Sample,
    modifiers: Vec<&'a Modifier>,
    yields: usize,
}

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

fn sort(workspace: &Workspace) -> Result<Sorted<'_>, ModelError> {
    let mut channels: Vec<&Channel> = workspace.channels.iter().collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut bin, mut yields) = (0, 0);
    let channels = channels
        .into_iter()
        .map(|channel| {
            let bins = channel.bins();
            let mut samples: Vec<&Sample> = channel.samples.iter().collect();
            samples.sort_by(|a, b| a.name.cmp(&b.name));
            if let Some(pair) = samples.windows(2).find(|pair| pair[0].name == pair[1].name) {
                let what = format!("two samples have the name `{}`", pair[0].name);
                return Err(ModelError::Channel { channel: channel.name.clone(), what });
            }
            let samples = samples
                .into_iter()
                .map(|sample| {
                    check_sample(channel, sample, bins)?;
                    let mut modifiers: Vec<&Modifier> = sample.modifiers.iter().collect();
                    modifiers.sort_by(|a, b| (&a.name, a.kind()).cmp(&(&b.name, b.kind())));
                    let twice = modifiers.windows(2).find(|pair| {
                        pair[0].name == pair[1].name && pair[0].kind() == pair[1].kind()
                    });
                    if let Some(pair) = twice {
                        let what = format!("a {} of this name is there twice", pair[0].kind());
                        return Err(wrong(channel, sample, pair[0], what));
                    }
                    let sorted = SortedSample { sample, modifiers, yields };
                    yields += bins;
                    Ok(sorted)
                })
                .collect::<Result<Vec<_>, _>>()?;
            let sorted = SortedChannel { channel, bins: bin..bin + bins, samples };
            bin += bins;
            Ok(sorted)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let twice = channels.windows(2).find(|pair| pair[0].channel.name == pair[1].channel.name);
    if let Some(pair) = twice {
        let what = "there are two channels of this name".to_owned();
        return Err(ModelError::Channel { channel: pair[0].channel.name.clone(), what });
    }
    Ok(Sorted { channels })
}

fn wrong(channel: &Channel, sample: &Sample, modifier: &Modifier, what: String) -> ModelError {
    ModelError::Modifier {
        channel: channel.name.clone(),
        sample: sample.name.clone(),
        modifier: modifier.name.clone(),
        what,
    }
}

fn check_sample(channel: &Channel, sample: &Sample, bins: usize) -> Result<(), ModelError> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if sample.data.len() != bins || !finite(&sample.data) {
        let what = format!("sample `{}` does not have {bins} finite yields", sample.name);
        return Err(ModelError::Channel { channel: channel.name.clone(), what });
    }
    for modifier in &sample.modifiers {
        let fits = |values: &[f64]| values.len() == bins && finite(values);
        let what = match &modifier.effect {
            Effect::Histosys { lo, hi } if !(fits(lo) && fits(hi)) => {
                format!("its templates are not {bins} finite numbers each")
            }
            Effect::Shapesys(data) | Effect::Staterror(data) if !fits(data) => {
                format!("its uncertainties are not {bins} finite numbers")
            }
            Effect::Normsys { lo, hi } if !(*lo > 0.0 && *hi > 0.0 && finite(&[*lo, *hi])) => {
                format!("its factors are {lo} and {hi}; an exponential needs positive ones")
            }
            Effect::Lumi if modifier.name != "lumi" => {
                "the luminosity's parameter is always called `lumi`".to_owned()
            }
            Effect::Histosys { .. }
            | Effect::Lumi
            | Effect::Normfactor
            | Effect::Normsys { .. }
            | Effect::Shapefactor
            | Effect::Shapesys(_)
            | Effect::Staterror(_) => continue,
        };
        return Err(wrong(channel, sample, modifier, what));
    }
    Ok(())
}

/// A staterror: for each of its bins, in the order of its channels, who carries it.
struct Staterror<'a> {
    name: &'a str,
    bins: Vec<StaterrorSum>,
}

#[derive(Default, Clone)]
struct StaterrorSum {
    nominal: f64,
    /// Yield and uncertainty of each carrier.
    carriers: Vec<(usize, f64)>,
}

impl StaterrorSum {
    fn sigma(&self) -> f64 {
        relative_width(self.nominal, self.carriers.iter().map(|(_, uncertainty)| *uncertainty))
    }
}

/// √Σ(δ/N)², zero where the carriers expect nothing: then there is nothing to constrain.
pub(super) fn relative_width(nominal: f64, uncertainties: impl Iterator<Item = f64>) -> f64 {
    if nominal > 0.0 {
        uncertainties.map(|uncertainty| (uncertainty / nominal).powi(2)).sum::<f64>().sqrt()
    } else {
        0.0
    }
}

fn collect_staterrors<'a>(sorted: &Sorted<'a>) -> Result<Vec<Staterror<'a>>, ModelError> {
    let mut order: Vec<Staterror<'a>> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    // Who carries it where: pyhf wants the same channels of each carrier.
    let mut places: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, channel) in sorted.channels.iter().enumerate() {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for sample in &channel.samples {
            for modifier in &sample.modifiers {
                let Effect::Staterror(uncertainties) = &modifier.effect else { continue };
                let name = modifier.name.as_str();
                let at = *by_name.entry(name).or_insert_with(|| {
                    order.push(Staterror { name, bins: Vec::new() });
                    order.len() - 1
                });
                places.entry((name, &sample.sample.name)).or_default().push(index);
                let bins = &mut order[at].bins;
                let start = *first.entry(name).or_insert_with(|| {
                    let start = bins.len();
                    bins.resize(start + channel.bins.len(), StaterrorSum::default());
                    start
                });
                for (bin, uncertainty) in uncertainties.iter().enumerate() {
                    let sum = &mut bins[start + bin];
                    sum.nominal += sample.sample.data[bin];
                    sum.carriers.push((sample.yields + bin, *uncertainty));
                }
            }
        }
    }
    let mut known: HashMap<&str, (&str, &Vec<usize>)> = HashMap::new();
    for ((name, sample), channels) in &places {
        let (other, expected) = *known.entry(name).or_insert((sample, channels));
        if expected != channels {
            let what = format!(
                "a staterror must be carried in the same channels by all its samples; \
                 `{sample}` and `{other}` differ"
            );
            return Err(ModelError::Parameter { parameter: (*name).to_owned(), what });
        }
    }
    order.sort_by(|a, b| a.name.cmp(b.name));
    Ok(order)
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
                let mut requirement = Requirement::of(kind, bins);
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
        let mut requirement = Requirement::of(ModifierType::Staterror, staterror.bins.len());
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

fn observations(workspace: &Workspace, sorted: &Sorted<'_>) -> Result<Vec<f64>, ModelError> {
    let by_name: HashMap<&str, &Vec<f64>> =
        workspace.observations.iter().map(|seen| (seen.name.as_str(), &seen.data)).collect();
    let mut main = Vec::new();
    for channel in &sorted.channels {
        let error = |what| Err(ModelError::Channel { channel: channel.channel.name.clone(), what });
        let Some(data) = by_name.get(channel.channel.name.as_str()) else {
            return error("there is no observation of it".to_owned());
        };
        if data.len() != channel.bins.len() {
            let (got, bins) = (data.len(), channel.bins.len());
            return error(format!("its observation has {got} bins, its samples {bins}"));
        }
        if let Some(count) = data.iter().find(|count| !(count.is_finite() && **count >= 0.0)) {
            return error(format!("a count of {count} was observed"));
        }
        main.extend(*data);
    }
    Ok(main)
}

struct Builder<'a> {
    layout: Layout,
    numbers: Numbers,
    /// First parameter of each set.
    first: HashMap<&'a str, usize>,
    sets: &'a [Settled],
    set_of: HashMap<&'a str, usize>,
    /// Where each (yield, staterror) pair has its uncertainty.
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
            auxiliary: 0,
            blocks: Vec::new(),
            free_factors: Vec::new(),
            normsys_parameter: Vec::new(),
            normsys_of: Grouped::default(),
            histosys_parameter: Vec::new(),
            histosys_parameters: Vec::new(),
            gamma_parameter: Vec::new(),
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
        let (mut gamma_count, mut normsys_used) = (0, 0);
        let mut templates: Vec<(&[f64], &[f64])> = Vec::new();
        for modifier in &sample.modifiers {
            let parameter = self.first[modifier.name.as_str()];
            match &modifier.effect {
                Effect::Lumi | Effect::Normfactor => layout.free_factors.push(parameter as u32),
                Effect::Normsys { lo, hi } => {
                    layout.normsys_parameter.push(parameter as u32);
                    numbers.normsys_hi.push(*hi);
                    numbers.normsys_lo.push(*lo);
                    normsys_used += 1;
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
                        // Filled in once the order of the bins over all channels is known.
                        layout.gamma_parameter.push(nowhere);
                        let key = (sample.yields + bin, modifier.name.as_str());
                        self.staterror_uncertainty.insert(key, numbers.uncertainty.len());
                        numbers.uncertainty.push(*uncertainty);
                    }
                }
            }
        }
        while !layout.normsys_parameter.len().is_multiple_of(LANES) {
            layout.normsys_parameter.push(nowhere);
            numbers.normsys_hi.push(1.0);
            numbers.normsys_lo.push(1.0);
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
        layout.blocks.push(Block {
            sample: layout.samples.binary_search(name).unwrap_or_default(),
            bins: place.bins.clone(),
            yields: sample.yields,
            free_factors: free..layout.free_factors.len(),
            normsys: normsys..layout.normsys_parameter.len(),
            normsys_used,
            histosys: histosys..layout.histosys_parameter.len(),
            histosys_used: used,
            templates: first_template,
            gammas,
            gamma_count,
            members: 0..0,
        });
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
        // Uncertainties were numbered as the per-bin factors were laid out, shapefactors aside.
        let nowhere = self.layout.names.len() as u32;
        let mut order: Vec<(usize, u32)> = parameter_of.into_iter().collect();
        order.sort_unstable();
        let mut parameters = order.into_iter().map(|(_, parameter)| parameter);
        for slot in &mut self.layout.gamma_parameter {
            if *slot == nowhere {
                *slot = parameters.next().unwrap_or_default();
            }
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
        let mut with_histosys: Vec<u32> = layout.histosys_parameter.clone();
        with_histosys.sort_unstable();
        with_histosys.dedup();
        with_histosys.retain(|parameter| (*parameter as usize) < parameters);
        layout.histosys_parameters = with_histosys;
        eliminate(layout);
        self.numbers.derive(layout);
        (self.layout, self.numbers)
    }
}

/// Finds the parameters that touch one bin, and where the others go.
#[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
fn eliminate(layout: &mut Layout) {
    let parameters = layout.names.len();
    // The only bin of a parameter, if it is a per-bin factor with one.
    let mut bin_of: Vec<Option<Option<usize>>> = vec![None; parameters];
    let mut carried: Vec<usize> = vec![0; parameters];
    for block in &layout.blocks {
        for gamma in 0..block.gamma_count {
            for bin in 0..block.bin_count() {
                let slot = block.gammas + gamma * block.bin_count() + bin;
                let parameter = layout.gamma_parameter[slot] as usize;
                let here = block.bins.start + bin;
                carried[parameter] += 1;
                bin_of[parameter] = match bin_of[parameter] {
                    None => Some(Some(here)),
                    Some(Some(known)) if known == here => Some(Some(here)),
                    Some(_) => Some(None),
                };
            }
        }
    }
    let mut locals: Vec<(usize, u32)> = (0..parameters)
        .filter_map(|parameter| Some((bin_of[parameter]??, parameter as u32)))
        .collect();
    locals.sort_unstable();
    let mut out =
        Elimination { place: vec![Place::Global(0); parameters], ..Elimination::default() };
    let mut next = 0;
    for bin in 0..layout.bins {
        let start = next;
        while next < locals.len() && locals[next].0 == bin {
            next += 1;
        }
        out.local_of_bin.push(start..next);
    }
    for (index, (bin, parameter)) in locals.iter().enumerate() {
        out.place[*parameter as usize] = Place::Local(index as u32);
        out.local.push(*parameter);
        let channel = layout.channels.iter().find(|channel| channel.bins.contains(bin));
        let blocks = channel.map_or(0, |channel| channel.blocks.len());
        out.covers_bin.push(carried[*parameter as usize] == blocks);
    }
    for parameter in 0..parameters {
        if bin_of[parameter].flatten().is_none() {
            out.place[parameter] = Place::Global(out.global.len() as u32);
            out.global.push(parameter as u32);
        }
    }
    members(layout, &mut out);
    layout.elimination = out;
}

/// The distinct dense parameters of each block, and which of them each entry belongs to.
fn members(layout: &mut Layout, out: &mut Elimination) {
    let parameters = layout.names.len();
    out.member_of_free = vec![0; layout.free_factors.len()];
    out.member_of_normsys = vec![0; layout.normsys_parameter.len()];
    out.member_of_histosys = vec![0; layout.histosys_parameter.len()];
    let mut number: Vec<u32> = vec![0; parameters];
    for block in &mut layout.blocks {
        let start = out.member.len();
        let normsys = block.normsys.start..block.normsys.start + block.normsys_used;
        let histosys = block.histosys.start..block.histosys.start + block.histosys_used;
        let entries = [
            (block.free_factors.clone(), &layout.free_factors, &mut out.member_of_free),
            (normsys, &layout.normsys_parameter, &mut out.member_of_normsys),
            (histosys, &layout.histosys_parameter, &mut out.member_of_histosys),
        ];
        let mut seen: Vec<u32> = Vec::new();
        for (range, parameter, _) in &entries {
            seen.extend(&parameter[range.clone()]);
        }
        // In the order of the dense part, so that pairs fall in its upper triangle.
        seen.sort_unstable();
        seen.dedup();
        for (parameter, member) in seen.iter().zip(0_u32..) {
            number[*parameter as usize] = member;
        }
        for (range, parameter, member) in entries {
            for entry in range {
                member[entry] = number[parameter[entry] as usize];
            }
        }
        for parameter in seen {
            if let Place::Global(place) = out.place[parameter as usize] {
                out.member.push(place);
            }
        }
        block.members = start..out.member.len();
    }
}
