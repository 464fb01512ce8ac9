//! Settings of `firstlight compare`.

use std::path::PathBuf;

use firstlight_analysis::results::Margins;
use firstlight_schema::suite::Regime;

use super::gate::margins;
use crate::args::{CompareArgs, Format};

#[derive(Debug)]
pub(crate) struct CompareSettings {
    pub(crate) sides: Sides,
    pub(crate) margins: Margins,
    /// Empty means all.
    pub(crate) regimes: Vec<Regime>,
    pub(crate) gate: bool,
    pub(crate) replication: bool,
    pub(crate) format: Format,
}

/// The sides of the comparison.
#[derive(Debug)]
pub(crate) enum Sides {
    /// The second arm with the first.
    Arms(PathBuf, String, String),
    /// Every arm with the reference.
    Reference(PathBuf),
    Results(PathBuf, PathBuf),
}

impl CompareSettings {
    pub(crate) fn resolve(args: CompareArgs, format: Format) -> Self {
        let mut arms = args.arms.into_iter();
        let sides = match (args.second, arms.next(), arms.next()) {
            (Some(second), ..) => Sides::Results(args.first, second),
            (None, Some(first), Some(second)) => Sides::Arms(args.first, first, second),
            (None, ..) => Sides::Reference(args.first),
        };
        Self {
            sides,
            margins: margins(args.margins),
            regimes: args.regimes,
            gate: args.gate,
            replication: args.replication,
            format,
        }
    }
}
