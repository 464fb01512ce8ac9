//! Where a cold start goes: a bar for every arm, its phases one after another.

use firstlight_schema::phase::Phase;
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

use super::scale::{Axis, Scale};
use super::svg::{RIGHT, Svg, TOP, WIDTH};
use crate::format::duration;

/// Names of arms are longer than numbers.
const LEFT: f64 = 190.0;
const BAR: f64 = 18.0;
const STEP: f64 = 26.0;
/// Behind the longest bar, for its number.
const NUMBER: f64 = 70.0;
/// Phases that are nowhere longer than this share of a bar are drawn together.
const SMALL: f64 = 0.01;
const REST: &str = "other";

/// The colours of the report's ledgers, on white.
fn colour(phase: Option<Phase>) -> &'static str {
    match phase {
        None => "#eaeef2",
        Some(phase) => match phase {
            Phase::Spawn | Phase::Launcher | Phase::Children => "#c9d1d9",
            Phase::Interpreter | Phase::Probe | Phase::Teardown => "#6e7781",
            Phase::Import => "#0072b2",
            Phase::DeviceInit => "#2f4b7c",
            Phase::Setup => "#7fc4e8",
            Phase::Trace => "#f3dd55",
            Phase::Lower => "#e69f00",
            Phase::Compile => "#b8430a",
            Phase::CacheRead | Phase::CacheWrite => "#a8457d",
            Phase::FirstRun | Phase::WarmUp | Phase::Window | Phase::Run => "#00795a",
            Phase::Unattributed => "#d8dee4",
        },
    }
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

    fn of(&self, phase: Phase) -> f64 {
        self.parts.iter().filter(|(name, _)| *name == phase).map(|(_, ns)| ns).sum()
    }
}

/// The time to the first result of every arm, phase by phase; none without a cold regime.
pub fn phases(case: &CaseResult, cold: Regime) -> Option<String> {
    let bars: Vec<Bar<'_>> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let of = arm.regimes.iter().find(|of| of.regime == cold)?;
            let rows = of.summary.as_ref()?.first_result_phases.as_ref()?;
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
        .filter(|&phase| bars.iter().any(|bar| bar.of(phase) > SMALL * bar.whole()))
        .collect();
    let x = Scale::over(Axis::Plain, &bars.iter().map(Bar::whole).collect::<Vec<_>>())?;
    let zero = x.at(0.0);
    let wide = |ns: f64| (x.at(ns) - zero) / (1.0 - zero) * (WIDTH - LEFT - RIGHT - NUMBER);
    let height = (bars.len() as f64 * STEP).max((shown.len() + 1) as f64 * 20.0);
    let mut svg = Svg::new(title, height);
    for tick in x.ticks() {
        svg.rule(LEFT + wide(tick), TOP, LEFT + wide(tick), TOP + height);
        svg.text(LEFT + wide(tick), TOP + height + 18.0, "middle", &duration(tick));
    }
    let mut rest_is_shown = false;
    for (index, bar) in bars.iter().enumerate() {
        let top = TOP + index as f64 * STEP + (STEP - BAR) / 2.0;
        svg.text(LEFT - 8.0, top + BAR - 5.0, "end", bar.arm);
        let mut at = 0.0;
        let known = shown.iter().map(|&phase| (Some(phase), bar.of(phase)));
        let rest = bar.whole() - shown.iter().map(|&phase| bar.of(phase)).sum::<f64>();
        for (phase, ns) in known.chain([(None, rest)]) {
            if wide(ns) >= 0.05 {
                svg.bar(LEFT + wide(at), top, wide(ns), BAR, colour(phase));
                rest_is_shown |= phase.is_none();
            }
            at += ns;
        }
        svg.text(LEFT + wide(at) + 6.0, top + BAR - 5.0, "start", &duration(at));
    }
    let names = shown.iter().map(|&phase| (Some(phase), phase.to_string()));
    let rest = rest_is_shown.then(|| (None, REST.to_owned()));
    for (index, (phase, name)) in names.chain(rest).enumerate() {
        svg.entry(index, colour(phase), &name);
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
        // White below, then import, compile and the rest of `a`, import of `b`.
        assert_eq!(svg.matches("<rect").count(), 1 + 3 + 1);
        assert_eq!(draw("t", &[]), None);
    }
}
