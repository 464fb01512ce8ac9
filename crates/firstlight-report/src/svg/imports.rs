//! Imports as a waterfall: a package is below its importer, with a width proportional to its time.

use firstlight_analysis::frames::Frame;
use maud::{Markup, html};

use super::frame::{Picture, pc, px};
use crate::words::format::{duration, fit};

const ROW: f64 = 20.0;
/// A package narrower than this share of the picture is not drawn.
const NARROWEST: f64 = 0.01;
/// The share of the picture that a letter needs.
const LETTER: f64 = 0.0085;

const FEWEST_LETTERS: usize = 4;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a hundred")]
fn letters(share: f64) -> usize {
    (share / LETTER - 1.0).max(0.0) as usize
}

/// All imports of one process; the whole width goes from the first to the end of the last.
pub(crate) fn imports(id: &str, title: &str, frames: &[Frame]) -> Option<Markup> {
    let from = frames.first()?.begin.as_f64();
    let to = frames.iter().map(|frame| frame.end.as_f64()).fold(from, f64::max);
    let width = (to - from).max(1.0);
    let shown: Vec<&Frame> =
        frames.iter().filter(|frame| frame.length().as_f64() / width >= NARROWEST).collect();
    let depth = shown.iter().map(|frame| frame.depth).max()?;
    let height = super::real(depth + 1) * ROW;
    let picture = Picture { id, title, description: &in_words(&shown), height };
    Some(picture.draw(
        "imports",
        &html! {
            @for frame in &shown {
                @let share = frame.length().as_f64() / width;
                @let left = (frame.begin.as_f64() - from) / width;
                @let top = super::real(frame.depth) * ROW;
                @let name = frame.label.as_deref().unwrap_or("import");
                rect class={ "part p-import level-" (frame.depth % 3) } x=(pc(left)) y=(px(top))
                    width=(pc(share)) height=(px(ROW)) {
                    title { (name) ": " (duration(frame.length().as_f64())) " with its imports" }
                }
                // As many letters as fit: whether a name is drawn does not depend on its length.
                @let room = letters(share);
                @if room >= FEWEST_LETTERS {
                    text class="letter p-import" x=(pc(left + 0.003)) y=(px(top + 14.0)) {
                        (fit(name, room))
                    }
                }
            }
        },
    ))
}

fn in_words(frames: &[&Frame]) -> String {
    let mut outer: Vec<&&Frame> = frames.iter().filter(|frame| frame.depth == 0).collect();
    outer.sort_by_key(|frame| std::cmp::Reverse(frame.length()));
    let parts: Vec<String> = outer
        .iter()
        .take(4)
        .map(|frame| {
            let name = frame.label.as_deref().unwrap_or("import");
            format!("{name} {}", duration(frame.length().as_f64()))
        })
        .collect();
    format!("longest with their imports: {}", parts.join(", "))
}
