//! Colours, dashes and markers of series, by name. No two looks are confused by readers who cannot
//! distinguish red from green or blue from yellow. Dashes and markers differ as well, so that a picture can
//! be read without colours.

use std::collections::BTreeMap;

pub const INK: &str = "#1f2933";
pub const FAINT: &str = "#9aa5b1";
pub const GRID: &str = "#e4e7eb";
pub(crate) const PAGE: &str = "#ffffff";

/// The colours that replace these on a dark page.
pub(crate) const ON_DARK: [(&str, &str); 4] =
    [(INK, "#e6edf3"), (FAINT, "#7d8894"), (GRID, "#2c353e"), (PAGE, "#0f1318")];

/// The look of one series wherever it appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// On a white page.
    pub light: &'static str,
    /// On a dark page.
    pub dark: &'static str,
    /// Lengths of dashes and gaps; empty for an unbroken line.
    pub dashes: &'static str,
    pub marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Plus,
    Wedge,
}

impl Marker {
    /// An outline around the origin, about eight units wide.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Circle => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
            Self::Square => "M-3.5 -3.5h7v7h-7z",
            Self::Triangle => "M0 -4.5L4.5 3.5H-4.5z",
            Self::Diamond => "M0 -5L5 0L0 5L-5 0z",
            Self::Plus => "M-1.6 -4.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9v-3.2h2.9z",
            Self::Wedge => "M0 4.5L4.5 -3.5H-4.5z",
        }
    }
}

const fn look(
    light: &'static str,
    dark: &'static str,
    dashes: &'static str,
    marker: Marker,
) -> Look {
    Look { light, dark, dashes, marker }
}

pub const LOOKS: [Look; 12] = [
    look("#4663ff", "#1897ff", "", Marker::Circle),
    look("#cc4400", "#ef8c1e", "7 3", Marker::Square),
    look("#074036", "#05986f", "2 3", Marker::Triangle),
    look("#b74981", "#ff518a", "10 3 2 3", Marker::Diamond),
    look("#7e7249", "#fdca32", "", Marker::Plus),
    look("#257ea5", "#a9e3fb", "7 3", Marker::Wedge),
    look("#59429c", "#877cb7", "2 3", Marker::Circle),
    look("#4528ec", "#a1b5f3", "10 3 2 3", Marker::Square),
    look("#7b1013", "#f91744", "", Marker::Triangle),
    look("#232370", "#defff3", "7 3", Marker::Diamond),
    look("#116348", "#b6d482", "2 3", Marker::Plus),
    look("#4a595e", "#98a3af", "10 3 2 3", Marker::Wedge),
];

/// Chosen so that no two arms of one of firstlight's own suites prefer the same look: they keep theirs on
/// every page, whichever arms a run selected.
const SEED: u64 = 18_807_950;

/// The looks of names that appear together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cast(BTreeMap<String, usize>);

impl Cast {
    /// A name gets its preferred look. If two prefer the same, the one that sorts later gets the next free
    /// look; if there are more names than looks, some share one.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut looks: BTreeMap<String, usize> =
            names.into_iter().map(|name| (name.to_owned(), preferred(name))).collect();
        let mut taken = [false; LOOKS.len()];
        let mut moved = Vec::new();
        for (name, look) in &looks {
            if std::mem::replace(&mut taken[*look], true) {
                moved.push((name.clone(), *look));
            }
        }
        for (name, first) in moved {
            let mut others = (1..LOOKS.len()).map(|step| (first + step) % LOOKS.len());
            if let Some(free) = others.find(|&look| !taken[look]) {
                taken[free] = true;
                looks.insert(name, free);
            }
        }
        Self(looks)
    }

    /// The number of a name's look in [`LOOKS`].
    pub fn number(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_else(|| preferred(name))
    }

    pub fn look(&self, name: &str) -> Look {
        LOOKS[self.number(name)]
    }
}

/// FNV-1a with a mixing step, so that short names use all looks.
fn preferred(name: &str) -> usize {
    let spread = name
        .bytes()
        .fold(SEED, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (spread ^ (spread >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    usize::try_from(mixed % LOOKS.len() as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Cast, LOOKS, preferred};

    const SUITES: [&[&str]; 5] = [
        &["jax", "numpy"],
        &[
            "jax-jit",
            "jax-buckets",
            "jax-vmap",
            "jax-cached",
            "jax-exported",
            "jax-no-jit",
            "jax-autotuned",
            "numpy",
            "torch-eager",
            "torch-compile",
        ],
        &["pytrees", "filter-jit", "partition", "nnx-jit", "linen", "pytrees-autotuned"],
        &[
            "growing",
            "growing-cache",
            "buckets",
            "static-cache",
            "int8",
            "static-cache-autotuned",
            "static-cache-tf32",
            "static-cache-deterministic",
            "static-cache-preallocated",
        ],
        &[
            "histfactory",
            "histfactory-python",
            "histfactory-jax",
            "histfactory-torch",
            "plain-jax",
            "pyhf-numpy",
            "pyhf-jax",
            "nextstat",
        ],
    ];

    #[test]
    fn an_arm_of_our_suites_looks_the_same_beside_any_other_arms() {
        for suite in SUITES {
            let all = Cast::new(suite.iter().copied());
            for arm in suite {
                assert_eq!(all.number(arm), preferred(arm), "{arm}");
                assert_eq!(Cast::new([*arm]).look(arm), all.look(arm), "{arm}");
            }
        }
    }

    #[test]
    fn as_many_names_as_looks_all_look_different() {
        let names: Vec<String> = (0..LOOKS.len()).map(|n| format!("arm-{n}")).collect();
        let cast = Cast::new(names.iter().map(String::as_str));
        let looks: BTreeSet<usize> = names.iter().map(|name| cast.number(name)).collect();
        assert_eq!(looks.len(), LOOKS.len());
        let reversed = Cast::new(names.iter().rev().map(String::as_str));
        assert_eq!(cast, reversed, "the order of arms in a document changes nothing");
    }

    #[test]
    fn no_two_looks_share_both_dashes_and_marker() {
        for (place, one) in LOOKS.iter().enumerate() {
            for other in &LOOKS[..place] {
                assert!(one.dashes != other.dashes || one.marker != other.marker, "{one:?}");
            }
        }
    }
}
