//! The uncertainties of a twin: the samples that have each one, and its size.

use super::dice::{Dice, rounded};
use crate::workspace::{Effect, Modifier};

/// The effect of a systematic uncertainty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Norm,
    Shape,
    Both,
}

/// A source of uncertainty: a parameter of many samples.
pub(super) struct Systematic {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// Numbered sources, by kind.
pub(super) fn sources(both: usize, norm: usize, shape: usize) -> Vec<Systematic> {
    let kinds = [(Kind::Both, both), (Kind::Norm, norm), (Kind::Shape, shape)];
    let all = kinds.into_iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, count));
    let named = |(index, kind)| Systematic { name: format!("syst_{index:03}"), kind };
    all.enumerate().map(named).collect()
}

pub(super) fn normsys(name: &str, dice: &mut Dice) -> Modifier {
    let size = 0.002 + 0.06 * dice.unit() * dice.unit();
    let size = if dice.chance(0.3) { -size } else { size };
    let hi = rounded(1.0 + size);
    let lo = rounded(1.0 - size * dice.between(0.7, 1.3));
    Modifier { name: name.to_owned(), effect: Effect::Normsys { lo, hi } }
}

/// Templates around the nominal: a tilt and noise, with a separate size for each side.
pub(super) fn histosys(name: &str, nominal: &[f64], dice: &mut Dice) -> Modifier {
    let tilt = dice.between(-0.06, 0.06);
    let mut side = |sign: f64| -> Vec<f64> {
        let size = dice.between(0.6, 1.4);
        let bins = f64::from(u32::try_from(nominal.len()).expect("the number of bins fits"));
        let mut position = 0.5;
        let bin = |value: &f64| {
            let slope = (2.0 * position - bins) / bins.max(2.0);
            position += 1.0;
            let relative = sign * size * tilt * (0.4 + slope) + dice.between(-0.004, 0.004);
            rounded((value * (1.0 + relative)).max(0.0))
        };
        nominal.iter().map(bin).collect()
    };
    let (lo, hi) = (side(-1.0), side(1.0));
    Modifier { name: name.to_owned(), effect: Effect::Histosys { lo, hi } }
}

pub(super) fn staterror(channel: &str, nominal: &[f64], dice: &mut Dice) -> Modifier {
    let bin = |value: &f64| rounded(value.max(0.0001) * dice.between(0.01, 0.06));
    let data = nominal.iter().map(bin).collect();
    Modifier { name: format!("staterror_{channel}"), effect: Effect::Staterror(data) }
}

pub(super) fn normfactor(name: &str) -> Modifier {
    Modifier { name: name.to_owned(), effect: Effect::Normfactor }
}

pub(super) fn lumi() -> Modifier {
    Modifier { name: "lumi".to_owned(), effect: Effect::Lumi }
}
