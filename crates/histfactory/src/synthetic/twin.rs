//! Twins: generated workspaces with the structure of published ones.

use super::dice::{Dice, rounded};
use super::systematics::{
    Kind, Systematic, histosys, lumi, normfactor, normsys, sources, staterror,
};
use crate::Workspace;
use crate::workspace::{
    Channel, Effect, Fixed, Measurement, MeasurementConfig, Modifier, Observation, ParameterConfig,
    Sample, VERSION,
};

/// A workspace with the structure of a published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    /// Two channels of two bins, one of each modifier except shapesys: 8 parameters.
    Small,
    /// Many channels, samples and systematics, like a measurement in several regions: 184 parameters, 41
    /// bins.
    Combination,
    /// One channel of many bins with an uncorrelated uncertainty in each: 257 parameters.
    Shapes,
    /// Nearly all systematics as templates, like a search: 66 parameters, 9 bins.
    Search,
}

impl Twin {
    pub const ALL: [Self; 4] = [Self::Small, Self::Combination, Self::Shapes, Self::Search];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Combination => "combination",
            Self::Shapes => "shapes",
            Self::Search => "search",
        }
    }

    /// The workspace for a seed.
    ///
    /// ```
    /// use histfactory::synthetic::Twin;
    ///
    /// let workspace = Twin::Combination.workspace(1);
    /// assert_eq!(workspace.channels.len(), 11);
    /// assert!(workspace.validate().is_ok());
    /// ```
    pub fn workspace(self, seed: u64) -> Workspace {
        let mut dice = Dice::new(seed);
        match self {
            Self::Small => small(&mut dice),
            Self::Combination => combination(&mut dice),
            Self::Shapes => shapes(&mut dice),
            Self::Search => search(&mut dice),
        }
    }
}

fn small(dice: &mut Dice) -> Workspace {
    let signal = yields(2, 11.0, 1.0, dice);
    let background = yields(2, 100.0, 1.0, dice);
    let control = yields(2, 500.0, 1.0, dice);
    let shape = histosys("background_shape", &background, dice);
    let stat = staterror("SR", &background, dice);
    let theory = normsys("signal_theory", dice);
    let free = Modifier { name: "shape_CR".to_owned(), effect: Effect::Shapefactor };
    let region = [
        sample("signal", signal, vec![normfactor("mu"), lumi(), theory]),
        sample("background", background, vec![lumi(), shape, stat]),
    ];
    let channels = vec![
        Channel { name: "SR".to_owned(), samples: region.into() },
        Channel {
            name: "CR".to_owned(),
            samples: vec![sample("background", control, vec![lumi(), free])],
        },
    ];
    workspace(channels, "mu", vec![luminosity(0.02, None)], 1.0, dice)
}

/// Channels with their number of bins and the samples that they lack.
const REGIONS: [(&str, usize, &[usize]); 11] = [
    ("SR2l_decay", 4, &[]),
    ("SR2l_production", 4, &[]),
    ("CR2l_HF_e", 1, &[9]),
    ("CR2l_HF_mu", 1, &[8, 10]),
    ("CR2l_ttV", 3, &[]),
    ("SR3l_production", 6, &[10]),
    ("SR3l_decay", 6, &[10]),
    ("CR3l_HF_e", 3, &[9, 10]),
    ("CR3l_HF_mu", 3, &[8, 10]),
    ("CR3l_ttW", 5, &[10]),
    ("CR3l_ttZ", 5, &[10]),
];

/// Samples with their typical yield and their free factor.
const PROCESSES: [(&str, f64, Option<&str>); 12] = [
    ("signal_decay", 4.0, Some("mu")),
    ("signal_production", 2.0, Some("mu")),
    ("ttH", 12.0, None),
    ("ttW", 45.0, Some("norm_ttW")),
    ("ttZ", 30.0, Some("norm_ttZ")),
    ("diboson", 18.0, Some("norm_diboson")),
    ("tWZ", 4.0, None),
    ("tZq", 6.0, None),
    ("HF_e", 20.0, Some("norm_HF_e")),
    ("HF_mu", 28.0, Some("norm_HF_mu")),
    ("charge_flip", 24.0, None),
    ("others", 35.0, None),
];

fn combination(dice: &mut Dice) -> Workspace {
    let systematics = sources(91, 18, 27);
    let mut channels = Vec::new();
    for (name, bins, absent) in REGIONS {
        let mut samples = Vec::new();
        for (index, (process, typical, factor)) in PROCESSES.into_iter().enumerate() {
            if absent.contains(&index) {
                continue;
            }
            let nominal = yields(bins, typical * dice.between(0.4, 1.6), 0.85, dice);
            let mut modifiers = vec![lumi(), staterror(name, &nominal, dice)];
            modifiers.extend(factor.map(normfactor));
            for source in &systematics {
                let wanted = (dice.chance(0.159), dice.chance(0.114));
                add(source, wanted, &nominal, &mut modifiers, dice);
            }
            samples.push(sample(process, nominal, modifiers));
        }
        channels.push(Channel { name: name.to_owned(), samples });
    }
    everyone_acts(&systematics, &mut channels, dice);
    let mut parameters = vec![luminosity(0.1, Some(Fixed::All(true)))];
    parameters.push(bounded("mu", -100.0, 100.0));
    for factor in ["norm_ttW", "norm_ttZ", "norm_diboson"] {
        parameters.push(bounded(factor, 0.0, 10.0));
    }
    parameters.push(bounded("norm_HF_e", 0.0, 100.0));
    parameters.push(bounded("norm_HF_mu", 0.0, 100.0));
    workspace(channels, "mu", parameters, 1.0, dice)
}

fn shapes(dice: &mut Dice) -> Workspace {
    const BINS: usize = 256;
    let signal = yields(BINS, 5.0, 1.0, dice);
    let background = yields(BINS, 60.0, 0.995, dice);
    let uncertainty = background.iter().map(|y| rounded(y * dice.between(0.04, 0.15))).collect();
    let shapesys =
        Modifier { name: "uncorrelated".to_owned(), effect: Effect::Shapesys(uncertainty) };
    let samples = vec![
        sample("signal", signal, vec![normfactor("mu")]),
        sample("background", background, vec![shapesys]),
    ];
    let channels = vec![Channel { name: "SR".to_owned(), samples }];
    workspace(channels, "mu", Vec::new(), 0.5, dice)
}

fn search(dice: &mut Dice) -> Workspace {
    let systematics = sources(37, 2, 15);
    let processes = [
        ("signal", 3.0),
        ("diboson", 1.5),
        ("W", 4.0),
        ("Z", 7.0),
        ("ttZ", 2.5),
        ("ttW", 1.0),
        ("single_top", 6.0),
        ("ttbar", 40.0),
        ("ttH", 1.2),
    ];
    let mut channels = Vec::new();
    for (name, scale) in [("SR_meff", 0.4), ("VR_meff", 1.0), ("CR_meff", 3.0)] {
        let mut samples = Vec::new();
        for (process, typical) in processes {
            if process == "signal" && name == "CR_meff" {
                continue;
            }
            let scale = if process == "signal" { 1.0 } else { scale };
            let nominal = yields(3, typical * scale, 0.8, dice);
            let mut modifiers = vec![staterror(name, &nominal, dice)];
            match process {
                "ttbar" => modifiers.push(normfactor("norm_ttbar")),
                "signal" => modifiers.extend([normfactor("mu"), lumi()]),
                _ => modifiers.push(lumi()),
            }
            for source in &systematics {
                let norm = dice.chance(if process == "ttbar" { 0.8 } else { 0.05 });
                add(source, (norm, dice.chance(0.9)), &nominal, &mut modifiers, dice);
            }
            samples.push(sample(process, nominal, modifiers));
        }
        channels.push(Channel { name: name.to_owned(), samples });
    }
    everyone_acts(&systematics, &mut channels, dice);
    workspace(channels, "mu", vec![luminosity(0.017, None)], 1.0, dice)
}

/// Yields that fall from bin to bin or stay level.
pub(super) fn yields(bins: usize, first: f64, ratio: f64, dice: &mut Dice) -> Vec<f64> {
    let mut level = first;
    let bin = |_| {
        let value = rounded(level * dice.between(0.8, 1.2));
        level *= ratio;
        value
    };
    (0..bins).map(bin).collect()
}

pub(super) fn sample(name: &str, data: Vec<f64>, modifiers: Vec<Modifier>) -> Sample {
    Sample { name: name.to_owned(), data, modifiers }
}

/// Adds a systematic to a sample, in the drawn ways that it has.
pub(super) fn add(
    source: &Systematic,
    (norm, shape): (bool, bool),
    nominal: &[f64],
    modifiers: &mut Vec<Modifier>,
    dice: &mut Dice,
) {
    if norm && source.kind != Kind::Shape {
        modifiers.push(normsys(&source.name, dice));
    }
    if shape && source.kind != Kind::Norm {
        modifiers.push(histosys(&source.name, nominal, dice));
    }
}

/// A source that no sample drew acts on one sample, so that the number of parameters is the same for every
/// seed.
pub(super) fn everyone_acts(systematics: &[Systematic], channels: &mut [Channel], dice: &mut Dice) {
    for source in systematics {
        let all = channels.iter().flat_map(|channel| &channel.samples);
        if all.flat_map(|sample| &sample.modifiers).all(|modifier| modifier.name != source.name) {
            let channel = dice.below(channels.len());
            let samples = &mut channels[channel].samples;
            let chosen = dice.below(samples.len());
            let Sample { data, modifiers, .. } = &mut samples[chosen];
            add(source, (true, true), data, modifiers, dice);
        }
    }
}

pub(super) fn luminosity(sigma: f64, fixed: Option<Fixed>) -> ParameterConfig {
    ParameterConfig {
        name: "lumi".to_owned(),
        auxdata: Some(vec![1.0]),
        bounds: Some(vec![[rounded(1.0 - 5.0 * sigma), rounded(1.0 + 5.0 * sigma)]]),
        inits: Some(vec![1.0]),
        sigmas: Some(vec![sigma]),
        fixed,
        ..ParameterConfig::default()
    }
}

pub(super) fn bounded(name: &str, low: f64, high: f64) -> ParameterConfig {
    ParameterConfig {
        name: name.to_owned(),
        bounds: Some(vec![[low, high]]),
        inits: Some(vec![1.0]),
        ..ParameterConfig::default()
    }
}

/// The workspace with counts around the expectation with some of the signal.
pub(super) fn workspace(
    channels: Vec<Channel>,
    poi: &str,
    parameters: Vec<ParameterConfig>,
    strength: f64,
    dice: &mut Dice,
) -> Workspace {
    let mut observe = |channel: &Channel| {
        let expected = |bin: usize| -> f64 {
            let part = |sample: &Sample| {
                let signal = sample.modifiers.iter().any(|modifier| modifier.name == poi);
                sample.data[bin] * if signal { strength } else { 1.0 }
            };
            channel.samples.iter().map(part).sum()
        };
        let data = (0..channel.bins()).map(|bin| dice.count(expected(bin))).collect();
        Observation { name: channel.name.clone(), data }
    };
    let observations = channels.iter().map(&mut observe).collect();
    let config = MeasurementConfig { parameters, poi: poi.to_owned() };
    let measurements = vec![Measurement { name: "measurement".to_owned(), config }];
    Workspace { channels, measurements, observations, version: VERSION.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Channel, Twin};
    use crate::Workspace;
    use crate::workspace::{Algorithm, ModifierType, digest};

    /// Distinct parameters, the per-bin ones counted per bin.
    fn parameters(workspace: &Workspace) -> usize {
        let mut names = BTreeSet::new();
        for channel in &workspace.channels {
            for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
                let per_bin =
                    [ModifierType::Shapefactor, ModifierType::Shapesys, ModifierType::Staterror];
                let wide = per_bin.contains(&modifier.kind());
                let components = if wide { channel.bins() } else { 1 };
                names.extend((0..components).map(|bin| (modifier.name.clone(), bin)));
            }
        }
        names.len()
    }

    #[test]
    fn twins_have_the_published_structure_for_every_seed() {
        for seed in 0..5 {
            for (twin, expected, bins) in [
                (Twin::Small, 8, 4),
                (Twin::Combination, 184, 41),
                (Twin::Shapes, 257, 256),
                (Twin::Search, 66, 9),
            ] {
                let workspace = twin.workspace(seed);
                workspace.validate().unwrap();
                workspace.check_measurement(&workspace.measurements[0]).unwrap();
                assert_eq!(parameters(&workspace), expected, "{}", twin.as_str());
                let counted: usize = workspace.channels.iter().map(Channel::bins).sum();
                assert_eq!(counted, bins);
            }
        }
    }

    /// The goldens depend on exactly these numbers, on every platform.
    #[test]
    fn a_seed_always_gives_the_same_workspace() {
        let digests = Twin::ALL.map(|twin| digest(&twin.workspace(1).to_value(), Algorithm::Md5));
        let expected = [
            "02d5c38aba50760c0387ba1e37cfe380",
            "5eb921fd34db48ee287ddba70fb3ba28",
            "d7c41ed826583718d149335bd5384edd",
            "53e79f6dcf5d7a5f8748f0e1bc106ddb",
        ];
        assert_eq!(digests, expected);
    }
}
