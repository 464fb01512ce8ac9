//! The phases of a cold start: a bar for every arm, its phases one after another.

use firstlight_plot::palette::GRID;
use firstlight_plot::scale::Scale;
use firstlight_plot::svg::{Anchor, Stroke};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

use super::{RIGHT, TOP, WIDTH, titled};
use crate::svg::phases::{Kind, kind};
use crate::words::format::duration;

/// Names of arms are longer than numbers.
const LEFT: f64 = 190.0;
const BAR: f64 = 18.0;
const STEP: f64 = 26.0;
/// Room after the longest bar, for its number.
const NUMBER: f64 = 70.0;
/// Phases with a smaller share in every bar are drawn together.
const SMALL: f64 = 0.01;
const REST: &str = "other";

/// The colours of the report's ledgers, on white.
fn colour(phase: Option<Phase>) -> &'static str {
    phase.map_or(Kind::Unattributed, kind).fills().0
}

/// The means of one arm's phases, in the order of the ledger.
struct Bar<'a> {
    arm: &'a str,
    parts: Vec<(Phase, f64)>,
}

impl Bar<'_> {
    fn whole(&self) -> f64 {
        self.parts.iter().map(|(_, ns)| ns).sum()
    }

    fn time(&self, phase: Phase) -> f64 {
        self.parts.iter().filter(|(name, _)| *name == phase).map(|(_, ns)| ns).sum()
    }
}

/// The time to the first result of every arm, phase by phase; `None` without a cold regime.
pub fn phases(case: &CaseResult, cold: Regime) -> Option<String> {
    let bars: Vec<Bar<'_>> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let regime = arm.regimes.iter().find(|result| result.regime == cold)?;
            let rows = regime.summary.as_ref()?.first_result_phases.as_ref()?;
            let parts = rows.iter().map(|row| (row.name, row.mean_ns)).collect();
            Some(Bar { arm: &arm.name, parts })
        })
        .collect();
    draw(&format!("{}, {cold}: where the time to the first result goes", case.name), &bars)
}

#[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
fn draw(title: &str, bars: &[Bar<'_>]) -> Option<String> {
    let shown: Vec<Phase> = Phase::ALL
        .into_iter()
        .filter(|&phase| bars.iter().any(|bar| bar.time(phase) > SMALL * bar.whole()))
        .collect();
    if bars.is_empty() {
        return None;
    }
    let x = Scale::from_zero(bars.iter().map(Bar::whole))?;
    let wide = |ns: f64| x.at(ns) * (WIDTH - LEFT - RIGHT - NUMBER);
    let height = (bars.len() as f64 * STEP).max((shown.len() + 1) as f64 * 20.0);
    let mut svg = titled(title, height);
    for kind in Kind::ALL {
        let (light, dark) = kind.fills();
        svg.set_on_dark(light, dark);
    }
    for (tick, label) in x.durations(6) {
        let place = LEFT + wide(tick);
        svg.line([place, TOP], [place, TOP + height], Stroke::thin(GRID));
        svg.text([place, TOP + height + 18.0], Anchor::Middle, &label);
    }
    let mut rest_is_shown = false;
    for (index, bar) in bars.iter().enumerate() {
        let top = TOP + index as f64 * STEP + (STEP - BAR) / 2.0;
        svg.text([LEFT - 8.0, top + BAR - 5.0], Anchor::End, bar.arm);
        let mut at = 0.0;
        let known = shown.iter().map(|&phase| (Some(phase), bar.time(phase)));
        let rest = bar.whole() - shown.iter().map(|&phase| bar.time(phase)).sum::<f64>();
        for (phase, ns) in known.chain([(None, rest)]) {
            if wide(ns) >= 0.05 {
                svg.rectangle([LEFT + wide(at), top], [wide(ns), BAR], colour(phase));
                rest_is_shown |= phase.is_none();
            }
            at += ns;
        }
        svg.text([LEFT + wide(at) + 6.0, top + BAR - 5.0], Anchor::Start, &duration(at));
    }
    let names = shown.iter().map(|&phase| (Some(phase), phase.to_string()));
    let rest = rest_is_shown.then(|| (None, REST.to_owned()));
    for (index, (phase, name)) in names.chain(rest).enumerate() {
        let y = TOP + 2.0 + index as f64 * 20.0;
        svg.rectangle([WIDTH - RIGHT + 10.0, y], [12.0, 12.0], colour(phase));
        svg.text([WIDTH - RIGHT + 28.0, y + 10.0], Anchor::Start, &name);
    }
    Some(svg.finish())
}

#[cfg(test)]
mod tests {
    use firstlight_schema::phase::Phase;

    use super::{Bar, draw};

    #[test]
    fn every_arm_has_its_bar_with_phases_end_to_end_and_small_ones_together() {
        let parts = vec![(Phase::Import, 1e9), (Phase::Lower, 1e6), (Phase::Compile, 3e9)];
        let bars = [Bar { arm: "a", parts }, Bar { arm: "b", parts: vec![(Phase::Import, 2e9)] }];
        let svg = draw("t", &bars).unwrap();
        assert!(svg.contains(">a</text>") && svg.contains(">compile</text>"), "{svg}");
        assert!(!svg.contains(">lower</text>") && svg.contains(">other</text>"), "{svg}");
        // White below, then import, compile and the rest of `a`, import of `b`, three entries.
        assert_eq!(svg.matches("<rect").count(), 1 + 3 + 1 + 3);
        assert_eq!(draw("t", &[]), None);
    }
}
