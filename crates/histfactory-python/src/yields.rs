//! Resolves names to numbers of a model.
//!
//! `"signal"` is a sample in all its channels, `"SR/signal"` in one of them. A third part names a
//! modifier of it: `"SR/signal/scale:hi"` and `":lo"` the templates of a histosys,
//! `"SR/signal/stat"` the absolute uncertainties of a shapesys or staterror. `"*/signal/stat"` is
//! all channels again.

use histfactory::model::YieldChange;
use histfactory::{EvaluationError, Model};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods};

use crate::arrays::{Vector, expect_length, numbers};
use crate::error::{Error, Result};

/// The part of a sample that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Nominal,
    High(String),
    Low(String),
    Uncertainty(String),
}

/// A part of a sample in the channels that have it, in the model's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) sample: String,
    pub(crate) channels: Vec<(String, usize)>,
    pub(crate) part: Part,
}

fn missing(what: &'static str, name: &str) -> Error {
    EvaluationError::NoSuchPlace { what, name: name.to_owned() }.into()
}

/// Channels with that sample, each with its number of bins.
fn channels_with(model: &Model, sample: &str) -> Vec<(String, usize)> {
    let has = |channel: &str| model.has_sample(channel, sample);
    let channels = model.channels().filter(|(name, _)| has(name));
    channels.map(|(name, bins)| (name.to_owned(), bins.len())).collect()
}

/// The places that a name refers to.
pub(crate) fn places(model: &Model, name: &str) -> Result<Places> {
    if model.samples().iter().any(|sample| sample == name) {
        let channels = channels_with(model, name);
        return Ok(Places { sample: name.to_owned(), channels, part: Part::Nominal });
    }
    let mut parts = name.splitn(3, '/');
    let (first, Some(sample)) = (parts.next().unwrap_or_default(), parts.next()) else {
        return Err(missing("sample", name));
    };
    let mut channels = channels_with(model, sample);
    if channels.is_empty() {
        return Err(missing("sample", sample));
    }
    if first != "*" {
        channels.retain(|(channel, _)| channel == first);
    }
    if channels.is_empty() {
        let known = model.channels().any(|(channel, _)| channel == first);
        return Err(if known { missing("sample", sample) } else { missing("channel", first) });
    }
    let part = match parts.next() {
        None => Part::Nominal,
        Some(modifier) => match modifier.rsplit_once(':') {
            Some((histosys, "hi")) => Part::High(histosys.to_owned()),
            Some((histosys, "lo")) => Part::Low(histosys.to_owned()),
            _ => Part::Uncertainty(modifier.to_owned()),
        },
    };
    Ok(Places { sample: sample.to_owned(), channels, part })
}

/// The changes in a dictionary of names and numbers.
pub(crate) fn changes(model: &Model, given: &Bound<'_, PyDict>) -> Result<Vec<YieldChange>> {
    let mut changes: Vec<YieldChange> = Vec::new();
    for (name, values) in given.iter() {
        let name: String = name.extract()?;
        let places = places(model, &name)?;
        let values: Vector<'_> = values.extract()?;
        let values = numbers(&values);
        let expected = places.channels.iter().map(|(_, bins)| bins).sum();
        expect_length("yields", values.len(), expected).map_err(|error| {
            EvaluationError::Named { name: name.clone(), what: error.to_string() }
        })?;
        let mut from = 0;
        for (channel, bins) in &places.channels {
            let values = values[from..from + bins].to_vec();
            from += bins;
            add(model, &mut changes, channel, &places, values)?;
        }
    }
    Ok(changes)
}

fn add(
    model: &Model,
    changes: &mut Vec<YieldChange>,
    channel: &str,
    places: &Places,
    values: Vec<f64>,
) -> Result<()> {
    let same = |change: &YieldChange| change.channel == channel && change.sample == places.sample;
    let at = changes.iter().position(same).unwrap_or_else(|| {
        let (channel, sample) = (channel.to_owned(), places.sample.clone());
        changes.push(YieldChange { channel, sample, ..YieldChange::default() });
        changes.len() - 1
    });
    let change = &mut changes[at];
    match &places.part {
        Part::Nominal => change.nominal = Some(values),
        Part::Uncertainty(name) => change.uncertainties.push((name.clone(), values)),
        Part::High(name) | Part::Low(name) => {
            let known = change.templates.iter().position(|(known, ..)| known == name);
            let at = if let Some(at) = known {
                at
            } else {
                let [hi, lo] = model.templates(channel, &places.sample, name)?;
                change.templates.push((name.clone(), hi, lo));
                change.templates.len() - 1
            };
            let (_, hi, lo) = &mut change.templates[at];
            *(if matches!(places.part, Part::High(_)) { hi } else { lo }) = values;
        }
    }
    Ok(())
}
