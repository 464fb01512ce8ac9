//! pyhf's rules for sharing a parameter: modifiers may share it if their requirements are the same.

use std::collections::{BTreeSet, HashMap};

use super::error::{Place, Problem};
use super::{Channel, Modifier, ModifierType};

/// A modifier's requirements on the parameter it names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// A number with a unit normal constraint: normsys and histosys.
    Alpha,
    Lumi,
    Factor,
    /// A factor for each bin.
    Shape {
        bins: usize,
    },
    Poisson,
    /// Per bin of all channels that have it.
    Statistical,
}

impl Demand {
    fn new(modifier: &Modifier, bins: usize) -> Self {
        match modifier.kind() {
            ModifierType::Histosys | ModifierType::Normsys => Self::Alpha,
            ModifierType::Lumi => Self::Lumi,
            ModifierType::Normfactor => Self::Factor,
            ModifierType::Shapefactor => Self::Shape { bins },
            ModifierType::Shapesys => Self::Poisson,
            ModifierType::Staterror => Self::Statistical,
        }
    }
}

/// The first use of a parameter.
struct First<'a> {
    demand: Demand,
    kind: ModifierType,
    channel: &'a str,
    sample: &'a str,
    bins: usize,
}

/// The channels in which each sample carries each staterror.
type Carriers<'a> = HashMap<&'a str, HashMap<&'a str, BTreeSet<&'a str>>>;

pub(super) fn check(channels: &[Channel], problems: &mut Vec<Problem>) {
    let mut firsts: HashMap<&str, First<'_>> = HashMap::new();
    let mut carriers = Carriers::new();
    for channel in channels {
        for sample in &channel.samples {
            for modifier in &sample.modifiers {
                if modifier.kind() == ModifierType::Staterror {
                    let samples = carriers.entry(&modifier.name).or_default();
                    samples.entry(&sample.name).or_default().insert(&channel.name);
                }
                let bins = channel.bins();
                let demand = Demand::new(modifier, bins);
                let Some(first) = firsts.get(modifier.name.as_str()) else {
                    let (channel, sample) = (channel.name.as_str(), sample.name.as_str());
                    let kind = modifier.kind();
                    let first = First { demand, kind, channel, sample, bins };
                    firsts.insert(&modifier.name, first);
                    continue;
                };
                if let Some(what) = conflict(first, demand, modifier.kind(), bins) {
                    let place = Place {
                        sample: Some(sample.name.clone()),
                        modifier: Some(modifier.name.clone()),
                        ..Place::of_channel(channel)
                    };
                    problems.push(Problem { place, what });
                }
            }
        }
    }
    check_carriers(&carriers, problems);
}

fn conflict(first: &First<'_>, demand: Demand, kind: ModifierType, bins: usize) -> Option<String> {
    let there = format!("channel `{}`, sample `{}`", first.channel, first.sample);
    match (first.demand, demand) {
        (Demand::Poisson, Demand::Poisson) => {
            Some(format!("a shapesys cannot be shared, and {there} has it too"))
        }
        (Demand::Shape { .. }, Demand::Shape { .. }) if first.demand != demand => {
            let other = first.bins;
            Some(format!("a shapefactor for {bins} bins here, for {other} in {there}"))
        }
        (before, now) if before == now => None,
        _ => Some(format!("a {kind} here, a {} in {there}: they cannot share it", first.kind)),
    }
}

/// Checks that all samples with a staterror have it in the same channels.
fn check_carriers(carriers: &Carriers<'_>, problems: &mut Vec<Problem>) {
    let mut found = Vec::new();
    for (modifier, samples) in carriers {
        let mut sorted: Vec<_> = samples.iter().collect();
        sorted.sort();
        let Some((first, channels)) = sorted.first() else { continue };
        for (sample, others) in sorted.iter().filter(|(_, others)| others != channels) {
            let channel = others.symmetric_difference(channels).next().copied();
            let place = Place {
                channel: channel.map(str::to_owned),
                sample: Some((**sample).to_owned()),
                modifier: Some((*modifier).to_owned()),
                ..Place::default()
            };
            let what = format!(
                "samples that share a staterror carry it in the same channels, and `{first}` does not"
            );
            found.push(Problem { place, what });
        }
    }
    found.sort_by_key(Problem::to_string);
    problems.append(&mut found);
}
