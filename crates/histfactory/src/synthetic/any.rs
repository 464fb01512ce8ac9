//! Arbitrary workspaces, within the limits of the format.

use super::dice::{Dice, rounded};
use crate::Workspace;
use crate::workspace::{
    Channel, Effect, Measurement, MeasurementConfig, Modifier, Observation, ParameterConfig,
    Sample, VERSION,
};

/// Limits on the size of an arbitrary workspace, and whether it has extreme values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub channels: usize,
    pub bins: usize,
    pub samples: usize,
    pub modifiers: usize,
    /// Empty bins, zero uncertainties, templates without effect, extreme factors.
    pub odd: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { channels: 3, bins: 4, samples: 3, modifiers: 5, odd: true }
    }
}

/// A valid workspace with one measurement; modifiers, sharing and settings are random.
///
/// ```
/// use histfactory::synthetic::{Limits, any};
///
/// let workspace = any(7, Limits::default());
/// assert!(workspace.validate().is_ok());
/// ```
pub fn any(seed: u64, limits: Limits) -> Workspace {
    let mut maker = Maker { dice: Dice::new(seed), limits };
    let channels = maker.channels();
    let observations = channels.iter().map(|channel| maker.observation(channel)).collect();
    let parameters = maker.settings(&channels);
    let config = MeasurementConfig { parameters, poi: "mu".to_owned() };
    let measurements = vec![Measurement { name: "any".to_owned(), config }];
    Workspace { channels, measurements, observations, version: VERSION.to_owned() }
}

struct Maker {
    dice: Dice,
    limits: Limits,
}

impl Maker {
    fn channels(&mut self) -> Vec<Channel> {
        let count = 1 + self.dice.below(self.limits.channels);
        let mut channels: Vec<Channel> = (0..count).map(|index| self.channel(index)).collect();
        // Names are not in order, because the layout sorts them.
        if self.dice.chance(0.5) {
            channels.reverse();
        }
        let first = &mut channels[0].samples[0];
        let mu = Modifier { name: "mu".to_owned(), effect: Effect::Normfactor };
        if first.modifiers.iter().all(|modifier| modifier.name != "mu") {
            first.modifiers.push(mu);
        }
        channels
    }

    fn channel(&mut self, index: usize) -> Channel {
        let name = format!("channel_{index}");
        let bins = 1 + self.dice.below(self.limits.bins);
        let count = 1 + self.dice.below(self.limits.samples);
        let samples = (0..count).map(|sample| self.sample(&name, sample, bins)).collect();
        Channel { name, samples }
    }

    fn sample(&mut self, channel: &str, index: usize, bins: usize) -> Sample {
        let name = format!("sample_{index}");
        let data: Vec<f64> = (0..bins).map(|_| self.nominal()).collect();
        let count = self.dice.below(self.limits.modifiers + 1);
        let mut modifiers: Vec<Modifier> = Vec::new();
        for _ in 0..count {
            let modifier = self.modifier(channel, &name, &data);
            let same =
                |known: &Modifier| known.name == modifier.name && known.kind() == modifier.kind();
            if !modifiers.iter().any(same) {
                modifiers.push(modifier);
            }
        }
        Sample { data, modifiers, name }
    }

    /// A modifier with a name that no modifier of another kind uses.
    fn modifier(&mut self, channel: &str, sample: &str, data: &[f64]) -> Modifier {
        let bins = data.len();
        let number = self.dice.below(3);
        let (name, effect) = match self.dice.below(8) {
            0 => (format!("alpha_{number}"), self.templates(data)),
            1 | 2 => (format!("alpha_{number}"), self.factors()),
            3 => ("lumi".to_owned(), Effect::Lumi),
            4 => ("mu".to_owned(), Effect::Normfactor),
            5 => (format!("free_{number}_{bins}"), Effect::Shapefactor),
            6 => (format!("poisson_{channel}_{sample}"), Effect::Shapesys(self.errors(data))),
            _ => (format!("stat_{channel}"), Effect::Staterror(self.errors(data))),
        };
        Modifier { name, effect }
    }

    fn odd(&mut self) -> bool {
        self.limits.odd && self.dice.chance(0.08)
    }

    fn nominal(&mut self) -> f64 {
        if self.odd() { 0.0 } else { rounded(self.dice.between(0.5, 80.0)) }
    }

    fn errors(&mut self, data: &[f64]) -> Vec<f64> {
        let error = |value: &f64| {
            let relative = self.dice.between(0.02, 0.5);
            if self.odd() { 0.0 } else { rounded(value * relative) }
        };
        data.iter().map(error).collect()
    }

    fn templates(&mut self, data: &[f64]) -> Effect {
        let mut side = |sign: f64| -> Vec<f64> {
            let bin = |value: &f64| {
                let relative = sign * self.dice.between(-0.05, 0.15);
                if self.odd() { *value } else { rounded(value * (1.0 + relative)) }
            };
            data.iter().map(bin).collect()
        };
        Effect::Histosys { lo: side(-1.0), hi: side(1.0) }
    }

    fn factors(&mut self) -> Effect {
        let wide = if self.odd() { 0.9 } else { 0.25 };
        let lo = rounded(1.0 - self.dice.between(-0.05, wide));
        let hi = rounded(1.0 + self.dice.between(-0.05, wide));
        Effect::Normsys { lo, hi }
    }

    fn observation(&mut self, channel: &Channel) -> Observation {
        let total = |bin: usize| channel.samples.iter().map(|sample| sample.data[bin]).sum();
        let data = (0..channel.bins()).map(|bin| self.dice.count(total(bin))).collect();
        Observation { name: channel.name.clone(), data }
    }

    fn settings(&mut self, channels: &[Channel]) -> Vec<ParameterConfig> {
        let samples = channels.iter().flat_map(|channel| &channel.samples);
        let mut names: Vec<&str> = samples
            .flat_map(|sample| &sample.modifiers)
            .map(|modifier| modifier.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut settings = Vec::new();
        if names.contains(&"lumi") {
            settings.push(ParameterConfig {
                name: "lumi".to_owned(),
                auxdata: Some(vec![1.0]),
                bounds: Some(vec![[0.5, 1.5]]),
                inits: Some(vec![1.0]),
                sigmas: Some(vec![rounded(self.dice.between(0.01, 0.1))]),
                ..ParameterConfig::default()
            });
        }
        for name in names.into_iter().filter(|name| name.starts_with("alpha")) {
            if self.dice.chance(0.2) {
                let inits = Some(vec![rounded(self.dice.between(-0.5, 0.5))]);
                let bounds = Some(vec![[-4.0, 4.0]]);
                let name = name.to_owned();
                settings.push(ParameterConfig {
                    bounds,
                    inits,
                    name,
                    ..ParameterConfig::default()
                });
            }
        }
        settings
    }
}
