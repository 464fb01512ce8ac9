//! Collects staterrors, which all their carriers share, before parameters are counted.

use std::collections::HashMap;

use super::error::ModelError;
use super::sorted::Sorted;
use crate::workspace::Effect;

/// A staterror: the samples that carry it, for each of its bins in the order of its channels.
pub(super) struct Staterror<'a> {
    pub(super) name: &'a str,
    pub(super) bins: Vec<StaterrorSum>,
}

#[derive(Default, Clone)]
pub(super) struct StaterrorSum {
    pub(super) nominal: f64,
    /// Yield and uncertainty of each carrier.
    pub(super) carriers: Vec<(usize, f64)>,
}

impl StaterrorSum {
    pub(super) fn sigma(&self) -> f64 {
        relative_width(self.nominal, self.carriers.iter().map(|(_, uncertainty)| *uncertainty))
    }
}

/// √Σ(δ/N)², or zero if the carriers expect no events and there is nothing to constrain.
pub(super) fn relative_width(nominal: f64, uncertainties: impl Iterator<Item = f64>) -> f64 {
    if nominal > 0.0 {
        uncertainties.map(|uncertainty| (uncertainty / nominal).powi(2)).sum::<f64>().sqrt()
    } else {
        0.0
    }
}

pub(super) fn collect_staterrors<'a>(
    sorted: &Sorted<'a>,
) -> Result<Vec<Staterror<'a>>, ModelError> {
    let mut order: Vec<Staterror<'a>> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    // The channels of each carrier: pyhf requires the same for all.
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
