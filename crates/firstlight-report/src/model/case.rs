//! One case: its rows, its processes as points, its warm series, its findings.

use std::rc::Rc;

use firstlight_plot::palette::Cast;
use firstlight_schema::diagnosis::Diagnosis;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;
use firstlight_schema::summary::PhaseMean;

use super::calls::Distribution;
use super::memory::MemoryOf;
use super::points::Points;
use super::rerun::rerun;
use super::series::WarmArm;
use crate::words::arrays::arrays;
use crate::words::findings::{FindingText, of_the_case};
use crate::words::regime::label;
use crate::words::row::{Row, about};

#[derive(Debug)]
pub struct Case<'a> {
    pub of: &'a CaseResult,
    /// Its anchor in a page; cases of the same name are numbered.
    pub anchor: String,
    /// Parameters and work as text.
    pub about: String,
    /// Sizes and element types, by arms.
    pub arrays: Vec<(String, String)>,
    pub rows: Vec<Row<'a>>,
    pub ledgers: Vec<Ledger<'a>>,
    /// By regime: its arms can be compared on one axis.
    pub points: Vec<(Regime, Vec<Points<'a>>)>,
    pub warm: Vec<WarmArm<'a>>,
    /// Every call of the steady parts, arm by arm.
    pub calls: Option<Distribution<'a>>,
    pub findings: Vec<FindingText>,
    pub memory: Vec<MemoryOf<'a>>,
    /// The command that measures this case again.
    pub rerun: Vec<String>,
    /// How the arms are drawn.
    pub cast: Rc<Cast>,
}

/// The phases up to the first result, of one arm in one cold regime.
#[derive(Debug)]
pub struct Ledger<'a> {
    pub arm: &'a str,
    pub regime: &'static str,
    pub phases: &'a [PhaseMean],
    /// The sum of the phases.
    pub mean_ns: f64,
    /// Its largest parts.
    pub diagnosis: &'a [Diagnosis],
}

impl<'a> Case<'a> {
    pub(super) fn new(
        document: &RunDocument,
        of: &'a CaseResult,
        anchor: String,
        cast: &Rc<Cast>,
    ) -> Self {
        let all = || of.arms.iter().flat_map(|arm| arm.regimes.iter().map(move |one| (arm, one)));
        let warm: Vec<WarmArm<'a>> =
            all().filter(|(_, of)| !of.regime.is_cold()).map(WarmArm::new).collect();
        Self {
            of,
            anchor,
            about: about(of),
            arrays: arrays(of),
            rows: all().map(|(arm, regime)| Row::new(arm, regime)).collect(),
            ledgers: all().filter_map(Ledger::new).collect(),
            points: points(of),
            calls: Distribution::new(&warm),
            warm,
            findings: of_the_case(of),
            memory: all().filter_map(MemoryOf::new).collect(),
            rerun: rerun(document, of),
            cast: Rc::clone(cast),
        }
    }
}

impl<'a> Ledger<'a> {
    fn new((arm, regime): (&'a ArmResult, &'a RegimeResult)) -> Option<Self> {
        let summary = regime.summary.as_ref().filter(|_| regime.regime.is_cold())?;
        let phases = summary.first_result_phases.as_deref().unwrap_or(&summary.phases);
        let mean_ns = phases.iter().map(|row| row.mean_ns).sum();
        let diagnosis = &regime.diagnosis;
        Some(Self { arm: &arm.name, regime: label(regime), phases, mean_ns, diagnosis })
    }
}

fn points(case: &CaseResult) -> Vec<(Regime, Vec<Points<'_>>)> {
    let of_regime = |regime: Regime| -> Vec<Points<'_>> {
        let arms = case.arms.iter().map(|arm| (arm, false));
        let again = case.again.iter().map(|arm| (arm, true));
        arms.chain(again)
            .filter_map(|(arm, control)| {
                let found = arm.regimes.iter().find(|known| known.regime == regime)?;
                (!found.samples.is_empty()).then(|| Points::new(&arm.name, control, found))
            })
            .collect()
    };
    Regime::ALL
        .into_iter()
        .map(|regime| (regime, of_regime(regime)))
        .filter(|(_, arms)| !arms.is_empty())
        .collect()
}
