//! A ledger as one stacked bar: a part for each phase, with its letter where there is room.

use firstlight_schema::phase::Phase;
use maud::{Markup, html};

use super::frame::{Picture, pc, px};
use crate::bar::letter;
use crate::format::{duration, share};
use crate::model::Ledger;

const HEIGHT: f64 = 30.0;
/// A part narrower than this share of the width has no letter.
const ROOM_FOR_A_LETTER: f64 = 0.045;

/// The bar of one arm and regime; the whole width stands for `longest`.
pub(crate) fn ledger_bar(id: &str, of: &Ledger<'_>, longest: f64) -> Markup {
    let mut from = 0.0;
    let parts: Vec<(f64, f64, &firstlight_schema::summary::PhaseMean)> = of
        .phases
        .iter()
        .map(|row| {
            let width = row.mean_ns / longest;
            from += width;
            (from - width, width, row)
        })
        .collect();
    let title = format!("Ledger of {} in the regime {}", of.arm, of.regime);
    let picture = Picture { id, title: &title, description: &in_words(of), height: HEIGHT };
    picture.draw(
        "ledger",
        &html! {
            @for (from, width, row) in parts {
                rect class={ "part " (phase_class(row.name)) } x=(pc(from)) y="0" width=(pc(width))
                    height=(px(HEIGHT)) {
                    title { (row.name) ": " (duration(row.mean_ns)) ", " (share(row.share)) }
                }
                @if width > ROOM_FOR_A_LETTER {
                    text class={ "letter " (phase_class(row.name)) } x=(pc(from + width / 2.0)) y="20"
                        text-anchor="middle" { (letter(row.name)) }
                }
            }
        },
    )
}

fn in_words(of: &Ledger<'_>) -> String {
    let mut rows: Vec<_> = of.phases.iter().collect();
    rows.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns));
    let parts: Vec<String> = rows
        .iter()
        .take(4)
        .map(|row| format!("{} {} ({})", row.name, duration(row.mean_ns), share(row.share)))
        .collect();
    format!("{} in all; most of it {}", duration(of.mean_ns), parts.join(", "))
}

/// A small square in a phase's colour, with its letter.
pub(crate) fn swatch(phase: Phase) -> Markup {
    html! {
        svg class="swatch" width="18" height="18" aria-hidden="true" {
            rect class={ "part " (phase_class(phase)) } width="18" height="18" rx="3" {}
            text class={ "letter " (phase_class(phase)) } x="9" y="13.5" text-anchor="middle" {
                (letter(phase))
            }
        }
    }
}

/// The class that gives a phase its colour, which it shares with phases like it.
pub(crate) fn phase_class(phase: Phase) -> &'static str {
    match phase {
        Phase::Spawn | Phase::Launcher | Phase::Children => "p-outside",
        Phase::Interpreter | Phase::Probe | Phase::Teardown => "p-own",
        Phase::Import => "p-import",
        Phase::DeviceInit | Phase::Setup => "p-setup",
        Phase::Trace => "p-trace",
        Phase::Lower => "p-lower",
        Phase::Compile => "p-compile",
        Phase::CacheRead | Phase::CacheWrite => "p-cache",
        Phase::FirstRun | Phase::WarmUp | Phase::Window | Phase::Run => "p-run",
        Phase::Unattributed => "p-unattributed",
    }
}
