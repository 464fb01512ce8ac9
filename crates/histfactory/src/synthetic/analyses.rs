//! Combinations of many analyses, of any size.
//!
//! Each analysis has separate channels, samples and uncertainties. All analyses share the luminosity, the
//! signal strength and some of the systematic uncertainties. The number of shared uncertainties does not grow
//! with the combination.

use super::dice::{Dice, rounded};
use super::systematics::{Kind, Systematic, lumi, normfactor, staterror};
use super::twin::{add, bounded, everyone_acts, luminosity, sample, workspace, yields};
use crate::Workspace;
use crate::workspace::{Channel, Effect, Modifier};

/// The approximate number of parameters of an analysis.
const TYPICAL: usize = 210;
/// The number of shared uncertainties, and the probability that an analysis has one of them.
const SHARED: usize = 40;
const TAKES_PART: f64 = 0.6;
/// Channels with their number of bins and whether they have the signal.
const CHANNELS: [(&str, usize, bool); 7] = [
    ("SR_high", 6, true),
    ("SR_low", 5, true),
    ("CR_top", 5, false),
    ("CR_boson", 4, false),
    ("CR_fakes", 4, false),
    ("VR_high", 4, true),
    ("VR_low", 3, true),
];
/// Samples with their typical yield, their free factor, and whether each bin has a separate uncertainty.
const SAMPLES: [(&str, f64, Option<&str>, bool); 8] = [
    ("signal", 4.0, None, false),
    ("top", 60.0, Some("norm_top"), false),
    ("boson", 35.0, Some("norm_boson"), false),
    ("diboson", 14.0, None, false),
    ("rare_top", 6.0, None, false),
    ("higgs", 3.0, None, false),
    ("fakes", 20.0, None, true),
    ("others", 9.0, None, false),
];

/// A combination with exactly this many parameters, at least 181, for a seed.
///
/// ```
/// use histfactory::synthetic::combination_of_analyses;
///
/// let workspace = combination_of_analyses(611, 1);
/// let model = histfactory::Model::new(&workspace, &Default::default())?;
/// assert_eq!(model.parameter_count(), 611);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn combination_of_analyses(parameters: usize, seed: u64) -> Workspace {
    let mut dice = Dice::new(seed);
    let count = ((parameters + TYPICAL / 2) / TYPICAL).max(1);
    let shared = numbered("shared", SHARED);
    // The luminosity and the signal strength in addition to the shared uncertainties.
    let rest = parameters.saturating_sub(SHARED + 2);
    let mut channels = Vec::new();
    for index in 0..count {
        let share = rest / count + usize::from(index < rest % count);
        channels.extend(analysis(index, share, &shared, &mut dice));
    }
    everyone_acts(&shared, &mut channels, &mut dice);
    let mut configured = vec![luminosity(0.02, None), bounded("mu", -10.0, 20.0)];
    for index in 0..count {
        for (_, _, factor, _) in SAMPLES {
            configured.extend(factor.map(|factor| bounded(&qualified(index, factor), 0.0, 10.0)));
        }
    }
    workspace(channels, "mu", configured, 1.0, &mut dice)
}

fn qualified(analysis: usize, name: &str) -> String {
    format!("a{analysis:02}_{name}")
}

fn numbered(name: &str, count: usize) -> Vec<Systematic> {
    let kind = |index| match index % 5 {
        0 => Kind::Norm,
        1 => Kind::Shape,
        _ => Kind::Both,
    };
    (0..count)
        .map(|index| Systematic { name: format!("{name}_{index:03}"), kind: kind(index) })
        .collect()
}

/// The channels of an analysis with this many separate parameters.
fn analysis(
    index: usize,
    parameters: usize,
    shared: &[Systematic],
    dice: &mut Dice,
) -> Vec<Channel> {
    let bins: usize = CHANNELS.iter().map(|(_, bins, _)| bins).sum();
    let with_shapesys: usize = CHANNELS[..2].iter().map(|(_, bins, _)| bins).sum();
    let factors = SAMPLES.iter().filter(|(_, _, factor, _)| factor.is_some()).count();
    let own = parameters.saturating_sub(bins + with_shapesys + factors);
    let own = numbered(&qualified(index, "syst"), own);
    let taking_part: Vec<&Systematic> = shared.iter().filter(|_| dice.chance(TAKES_PART)).collect();
    let mut channels = Vec::new();
    for (number, (channel, bins, has_signal)) in CHANNELS.into_iter().enumerate() {
        let channel = qualified(index, channel);
        let mut samples = Vec::new();
        for (name, typical, factor, per_bin) in SAMPLES {
            let is_signal = name == "signal";
            if is_signal && !has_signal {
                continue;
            }
            let nominal = yields(bins, typical * dice.between(0.4, 1.6), 0.8, dice);
            let mut modifiers = vec![lumi(), staterror(&channel, &nominal, dice)];
            modifiers.extend(is_signal.then(|| normfactor("mu")));
            modifiers.extend(factor.map(|factor| normfactor(&qualified(index, factor))));
            if per_bin && number < 2 {
                modifiers.push(shapesys(&channel, &nominal, dice));
            }
            for source in &own {
                let wanted = (dice.chance(0.12), dice.chance(0.08));
                add(source, wanted, &nominal, &mut modifiers, dice);
            }
            for source in &taking_part {
                let wanted = (dice.chance(0.3), dice.chance(0.2));
                add(source, wanted, &nominal, &mut modifiers, dice);
            }
            samples.push(sample(name, nominal, modifiers));
        }
        channels.push(Channel { name: channel, samples });
    }
    everyone_acts(&own, &mut channels, dice);
    channels
}

fn shapesys(channel: &str, nominal: &[f64], dice: &mut Dice) -> Modifier {
    let data = nominal.iter().map(|y| rounded(y * dice.between(0.05, 0.25))).collect();
    Modifier { name: format!("fakes_{channel}"), effect: Effect::Shapesys(data) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Algorithm, digest};
    use crate::{Model, ModelOptions};

    #[test]
    fn a_combination_has_the_requested_number_of_parameters() {
        for parameters in [181, 611, 1060, 2098] {
            let workspace = combination_of_analyses(parameters, 3);
            workspace.validate().unwrap();
            let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
            assert_eq!(model.parameter_count(), parameters);
        }
    }

    #[test]
    fn a_seed_always_gives_the_same_combination() {
        let found = digest(&combination_of_analyses(400, 1).to_value(), Algorithm::Md5);
        assert_eq!(found, "f21daa316aac3926d7c8465d675cb391");
        let other = digest(&combination_of_analyses(400, 2).to_value(), Algorithm::Md5);
        assert_ne!(found, other);
    }
}
