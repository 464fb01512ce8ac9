//! Total time against calls for all arms of a case, labelled at the ends of the curves.

use firstlight_analysis::cheapest::{Cost, cost};
use firstlight_plot::palette::Cast;
use firstlight_plot::scale::{Scale, real};
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::frame::{AXIS, Picture, TITLE, below, beside, line, px, stretched, titles, up};
use super::looks::arm_class;
use crate::words::format::{calls, duration};
use crate::words::headline::headline;

const PLOT: f64 = 220.0;
const POINTS: usize = 60;
/// Labels closer than this would overlap.
const LINE_HEIGHT: f64 = 14.0;
/// The largest number of calls in the picture.
const MOST_CALLS: f64 = 1e5;

/// `None` if fewer than two arms have a first result and warm calls.
pub(crate) fn totals(id: &str, case: &CaseResult, cold: Regime, looks: &Cast) -> Option<Markup> {
    let arms: Vec<_> =
        case.arms.iter().filter_map(|arm| Some((arm.name.as_str(), cost(arm, cold)?))).collect();
    if arms.len() < 2 {
        return None;
    }
    let numbers: Vec<f64> =
        (0..=POINTS).map(|step| MOST_CALLS.powf(real(step) / real(POINTS))).collect();
    let all = || arms.iter().flat_map(|(_, cost)| numbers.iter().map(|&n| cost.total(n)));
    let (x, y) = (Scale::over_ratios(numbers.iter().copied())?, Scale::over_ratios(all())?);
    let title = format!("Total time of every arm against calls, {cold}");
    let words: Vec<String> = arms
        .iter()
        .map(|(name, cost)| {
            format!(
                "{name}: first call {}, each further call {}",
                duration(cost.first_ns),
                duration(cost.call_ns)
            )
        })
        .collect();
    let description = words.join("; ");
    let picture =
        Picture { id, title: &title, description: &description, height: PLOT + AXIS + TITLE };
    let ends: Vec<f64> =
        arms.iter().map(|(_, cost)| up(y.at(cost.total(MOST_CALLS)), PLOT)).collect();
    let places = apart(&ends, PLOT);
    Some(picture.draw(
        "beside labelled totals",
        &html! {
            (below(&x.numbers(6), &x, PLOT))
            (beside(&y.durations(5), &y, PLOT))
            (titles("calls", "total time from the start", PLOT))
            (stretched(PLOT, &html! {
                @for (name, _) in &arms {
                    @if let Some([low, high]) = edges(case, name, cold) {
                        @let upper = numbers.iter().map(|&n| (x.at(n), up(y.at(high.total(n)), PLOT)));
                        @let lower = numbers.iter().rev().map(|&n| (x.at(n), up(y.at(low.total(n)), PLOT)));
                        path class={ "spread " (arm_class(looks, name)) } d=(line(upper.chain(lower)) + "Z") {}
                    }
                }
                @for (name, cost) in &arms {
                    path class={ "curve " (arm_class(looks, name)) }
                        d=(line(numbers.iter().map(|&n| (x.at(n), up(y.at(cost.total(n)), PLOT))))) {
                    }
                }
            }))
            @for ((name, cost), place) in arms.iter().zip(places) {
                text class={ "end " (arm_class(looks, name)) } x="100%" dx="6" y=(px(place + 4.0)) {
                    (name)
                    title { (calls(MOST_CALLS)) ": " (duration(cost.total(MOST_CALLS))) }
                }
            }
        },
    ))
}

/// The smallest and largest cost of an arm: both ends of the interval of its first result, and of each call.
fn edges(case: &CaseResult, arm: &str, cold: Regime) -> Option<[Cost; 2]> {
    let regimes = &case.arms.iter().find(|known| known.name == arm)?.regimes;
    let ends =
        |regime: Regime| headline(regimes.iter().find(|known| known.regime == regime)?)?.interval;
    let (first, call) = (ends(cold)?, ends(Regime::Warm)?);
    let cost = |first_ns: f64, call_ns: f64| Cost { first_ns, call_ns };
    Some([cost(first.low, call.low), cost(first.high, call.high)])
}

/// Moves labels down until none overlaps, and all up again if the last would leave the picture.
pub(super) fn apart(ends: &[f64], height: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|&a, &b| ends[a].total_cmp(&ends[b]));
    let mut places = vec![0.0; ends.len()];
    let mut free = 0.0_f64;
    for &index in &order {
        places[index] = ends[index].max(free);
        free = places[index] + LINE_HEIGHT;
    }
    let beyond = (free - LINE_HEIGHT - height).max(0.0);
    places.iter().map(|place| place - beyond).collect()
}

#[cfg(test)]
mod tests {
    use super::{LINE_HEIGHT, PLOT, apart};

    #[test]
    fn labels_do_not_overlap_and_stay_in_the_picture() {
        let places = apart(&[100.0, 101.0, 219.0, 218.0], PLOT);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LINE_HEIGHT - 1e-9));
        assert!(sorted[3] <= PLOT && places[0] < places[1] && places[3] < places[2]);
    }
}
