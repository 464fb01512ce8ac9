//! Ratios with their intervals, one below the other, with the margin.

use firstlight_schema::comparison::{Comparison, Verdict};
use maud::{Markup, html};

use super::frame::{Picture, below, pc, px};
use crate::words::format::fit;
use crate::words::verdict::{times, verdict};
use firstlight_plot::scale::Scale;

const ROW: f64 = 26.0;
const LONGEST_NAME: usize = 30;

/// The common scale of a forest's rows.
pub(crate) struct Forest {
    scale: Scale,
}

impl Forest {
    /// `None` if there is no ratio.
    pub(crate) fn new(comparisons: &[Comparison]) -> Option<Self> {
        let with_ratio =
            comparisons.iter().filter_map(|comparison| Some((comparison, comparison.ratio?)));
        let values = with_ratio.flat_map(|(comparison, ratio)| {
            let ends = ratio.interval.map_or([ratio.point; 2], |ends| [ends.low, ends.high]);
            [
                ratio.point,
                ends[0],
                ends[1],
                1.0 + comparison.margin,
                1.0 / (1.0 + comparison.margin),
                1.0,
            ]
        });
        Some(Self { scale: Scale::over_ratios(values)? })
    }
}

pub(crate) fn forest_row(id: &str, comparison: &Comparison, forest: &Forest) -> Markup {
    let at = |value: f64| forest.scale.at(value);
    let (from, to) = (at(1.0 / (1.0 + comparison.margin)), at(1.0 + comparison.margin));
    let title = format!(
        "{} against {} in the regime {}",
        comparison.arm, comparison.against, comparison.regime
    );
    let picture = Picture { id, title: &title, description: &verdict(comparison), height: ROW };
    picture.draw(
        &format!("forest {}", verdict_class(comparison.verdict)),
        &html! {
            rect class="margin" x=(pc(from)) width=(pc(to - from)) y="0" height=(px(ROW)) {
                title { "margin: a difference of " (comparison.margin * 100.0) " % does not matter" }
            }
            line class="even" x1=(pc(at(1.0))) x2=(pc(at(1.0))) y1="0" y2=(px(ROW)) {}
            @if let Some(ratio) = comparison.ratio {
                @if let Some(interval) = ratio.interval {
                    line class="interval" x1=(pc(at(interval.low))) x2=(pc(at(interval.high)))
                        y1=(px(ROW / 2.0)) y2=(px(ROW / 2.0)) {
                        title { "interval " (times(interval.low)) " to " (times(interval.high)) }
                    }
                }
                circle class="point" cx=(pc(at(ratio.point))) cy=(px(ROW / 2.0)) r="5" {
                    title { (times(ratio.point)) " times as long, " (ratio.n) " pairs" }
                }
            }
        },
    )
}

/// The axis below the rows, of ratios to an arm.
pub(crate) fn forest_axis(forest: &Forest, reference: &str) -> Markup {
    let mut ticks: Vec<(f64, String)> = forest
        .scale
        .ticks(5)
        .into_iter()
        .map(|value| (value, format!("{}×", firstlight_plot::scale::number(value))))
        .collect();
    if !ticks.iter().any(|(value, _)| (value - 1.0).abs() < 1e-9) {
        ticks.retain(|(value, _)| (forest.scale.at(*value) - forest.scale.at(1.0)).abs() > 0.12);
        ticks.push((1.0, "1×".to_owned()));
    }
    html! {
        svg class="chart" width="100%" height="36" aria-hidden="true" {
            (below(&ticks, &forest.scale, 4.0))
            text class="axis" x="50%" y="33" text-anchor="middle" {
                "time over the time of " (fit(reference, LONGEST_NAME))
            }
        }
    }
}

pub(crate) fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "v-faster",
        Verdict::Slower => "v-slower",
        Verdict::Equivalent => "v-equivalent",
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed => "v-inconclusive",
        Verdict::Invalid => "v-invalid",
    }
}
