//! A ledger as one stacked bar: a part for each phase, with its letter if there is room.

use firstlight_schema::phase::Phase;
use maud::{Markup, html};

use super::frame::{Picture, pc, px};
use crate::model::Ledger;
use crate::svg::phases::{kind, letter};
use crate::words::format::{duration, share};

const HEIGHT: f64 = 30.0;
/// A part narrower than this share of the width has no letter.
const ROOM_FOR_A_LETTER: f64 = 0.018;
/// The share of the width that a character takes on a narrow screen.
pub(super) const ROOM_FOR_A_CHARACTER: f64 = 0.0105;

/// The bar of one arm and regime; the whole width stands for `longest`.
pub(crate) fn ledger_bar(id: &str, ledger: &Ledger<'_>, longest: f64) -> Markup {
    let mut from = 0.0;
    let parts: Vec<(f64, f64, &firstlight_schema::summary::PhaseMean)> = ledger
        .phases
        .iter()
        .map(|row| {
            let width = row.mean_ns / longest;
            from += width;
            (from - width, width, row)
        })
        .collect();
    let title = format!("Ledger of {} in the regime {}", ledger.arm, ledger.regime);
    let picture = Picture { id, title: &title, description: &in_words(ledger), height: HEIGHT };
    picture.draw(
        "ledger",
        &html! {
            @for (from, width, row) in parts {
                rect class={ "part " (kind(row.name).class()) } x=(pc(from)) y="0" width=(pc(width))
                    height=(px(HEIGHT)) {
                    title { (row.name) ": " (duration(row.mean_ns)) ", " (share(row.share)) }
                }
                @if let Some(words) = inside(row, width) {
                    text class={ "letter " (kind(row.name).class()) } x=(pc(from + width / 2.0)) y="20"
                        text-anchor="middle" { (words) }
                }
            }
        },
    )
}

/// The text that fits in a part: its name and time, its name, its letter, or nothing.
fn inside(row: &firstlight_schema::summary::PhaseMean, width: f64) -> Option<String> {
    let name = row.name.to_string();
    let long = format!("{name} {}", duration(row.mean_ns));
    let room = |text: &str| super::real(text.chars().count() + 2) * ROOM_FOR_A_CHARACTER;
    let fits = [long, name].into_iter().find(|text| room(text) < width);
    fits.or_else(|| (width > ROOM_FOR_A_LETTER).then(|| letter(row.name).to_string()))
}

fn in_words(ledger: &Ledger<'_>) -> String {
    let mut rows: Vec<_> = ledger.phases.iter().collect();
    rows.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns));
    let parts: Vec<String> = rows
        .iter()
        .take(4)
        .map(|row| format!("{} {} ({})", row.name, duration(row.mean_ns), share(row.share)))
        .collect();
    format!("{} in all; most of it {}", duration(ledger.mean_ns), parts.join(", "))
}

/// A small square in a phase's colour, with its letter.
pub(crate) fn swatch(phase: Phase) -> Markup {
    html! {
        svg class="swatch" width="18" height="18" aria-hidden="true" {
            rect class={ "part " (kind(phase).class()) } width="18" height="18" rx="3" {}
            text class={ "letter " (kind(phase).class()) } x="9" y="13.5" text-anchor="middle" {
                (letter(phase))
            }
        }
    }
}
