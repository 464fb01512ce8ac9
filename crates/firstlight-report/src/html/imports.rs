//! The nested imports of a typical process: each package inside the one that imported it.

use firstlight_analysis::frames::import_frames;
use firstlight_schema::run::CaseResult;
use maud::{Markup, html};

use super::name;
use crate::model::typical;
use crate::svg::imports as picture;

pub(super) fn imports(id: &str, case: &CaseResult) -> Markup {
    let regimes = case.arms.iter().flat_map(|arm| {
        // All regimes of an arm import the same packages, so the first one is enough.
        arm.regimes
            .iter()
            .filter(|regime| regime.regime.is_cold())
            .take(1)
            .map(move |one| (arm, one))
    });
    let drawn: Vec<Markup> = regimes
        .enumerate()
        .filter_map(|(index, (arm, regime))| {
            let sample = typical(regime)?;
            let title = format!("Imports of {} in the regime {}", arm.name, regime.regime);
            let frames = import_frames(&sample.raw);
            let picture = picture(&format!("{id}-imports-{index}"), &title, &frames)?;
            Some(html! {
                figure {
                    figcaption {
                        (name(&arm.name)) span class="soft" { ", process " (sample.number) ", close to the median" }
                    }
                    (picture)
                }
            })
        })
        .collect();
    if drawn.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Imports" }
        p class="note" {
            "A package lies below the one that imported it. Its width is its time, with its own imports. Packages below 1 % of the time are not drawn."
        }
        @for one in &drawn { (one) }
    }
}
