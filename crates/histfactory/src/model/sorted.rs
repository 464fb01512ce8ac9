//! A workspace in pyhf's order, with its numbers checked once.

use std::collections::HashMap;
use std::ops::Range;

use super::error::ModelError;
use crate::workspace::{Channel, Effect, Modifier, Sample, Workspace};

/// A workspace seen in pyhf's order.
pub(super) struct Sorted<'a> {
    pub(super) channels: Vec<SortedChannel<'a>>,
}

pub(super) struct SortedChannel<'a> {
    pub(super) channel: &'a Channel,
    pub(super) bins: Range<usize>,
    pub(super) samples: Vec<SortedSample<'a>>,
}

pub(super) struct SortedSample<'a> {
    pub(super) sample: &'a Sample,
    pub(super) modifiers: Vec<&'a Modifier>,
    pub(super) yields: usize,
}

pub(super) fn sort(workspace: &Workspace) -> Result<Sorted<'_>, ModelError> {
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

pub(super) fn wrong(
    channel: &Channel,
    sample: &Sample,
    modifier: &Modifier,
    what: String,
) -> ModelError {
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

pub(super) fn observations(
    workspace: &Workspace,
    sorted: &Sorted<'_>,
) -> Result<Vec<f64>, ModelError> {
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
