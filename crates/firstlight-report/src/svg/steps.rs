//! A step of a trace as one bar along its time: a rectangle for each interval.

use firstlight_schema::trace::{Bucket, Part, Step};
use maud::{Markup, html};

use super::frame::{Picture, pc, px};
use super::ledger::ROOM_FOR_A_CHARACTER;
use crate::words::format::{duration, share};

const HEIGHT: f64 = 20.0;

/// The whole width stands for `longest` nanoseconds.
pub(crate) fn step_bar(id: &str, step: &Step, longest: f64) -> Markup {
    let title = format!("Timeline of step {}", step.number);
    let picture = Picture { id, title: &title, description: &in_words(step), height: HEIGHT };
    picture.draw(
        "steps",
        &html! {
            @for stretch in &step.timeline {
                rect class={ "part " (part_class(stretch.part)) } y="0" height=(px(HEIGHT))
                    x=(pc(stretch.start_ns.as_f64() / longest))
                    width=(pc(stretch.duration_ns.as_f64() / longest)) {
                    title {
                        (stretch.part.bucket()) ", " (stretch.part) ": " (duration(stretch.duration_ns.as_f64()))
                        " from " (duration(stretch.start_ns.as_f64()))
                    }
                }
                @if let Some(words) = inside(stretch.part, stretch.duration_ns.as_f64() / longest) {
                    text class={ "letter " (part_class(stretch.part)) } y="14.5" text-anchor="middle"
                        x=(pc((stretch.start_ns.as_f64() + stretch.duration_ns.as_f64() / 2.0) / longest)) {
                        (words)
                    }
                }
            }
        },
    )
}

/// The name of a part, or of its bucket, if there is room for it.
fn inside(part: Part, width: f64) -> Option<String> {
    let bucket = part.bucket().to_string();
    let names = [format!("{bucket}, {part}"), bucket];
    let room = |text: &str| super::real(text.chars().count() + 2) * ROOM_FOR_A_CHARACTER;
    names
        .into_iter()
        .skip(usize::from(part.name() == part.bucket().name()))
        .find(|name| room(name) < width)
}

fn in_words(step: &Step) -> String {
    let whole = step.duration_ns.as_f64().max(1.0);
    let parts: Vec<String> = Bucket::ALL
        .into_iter()
        .map(|bucket| (bucket, step.bucket(bucket).as_f64()))
        .filter(|(_, ns)| *ns > 0.0)
        .map(|(bucket, ns)| format!("{bucket} {} ({})", duration(ns), share(ns / whole)))
        .collect();
    format!("{} in all: {}", duration(whole), parts.join(", "))
}

pub(crate) fn step_swatch(part: Part) -> Markup {
    html! {
        svg class="swatch" width="18" height="18" aria-hidden="true" {
            rect class={ "part " (part_class(part)) } width="18" height="18" rx="3" {}
        }
    }
}

/// The class for a bucket's colour: that of its main content.
pub(super) fn bucket_class(bucket: Bucket) -> &'static str {
    part_class(match bucket {
        Bucket::Compile => Part::Compile,
        Bucket::Callback => Part::Callback,
        Bucket::Execute => Part::Compiled,
        Bucket::Transfer => Part::Transfer,
        Bucket::Dispatch => Part::Call,
        Bucket::Wait => Part::Blocked,
        Bucket::Host => Part::Between,
    })
}

/// The class that gives a part its colour.
pub(super) fn part_class(part: Part) -> &'static str {
    match part {
        Part::Autotune | Part::Callback => "p-setup",
        Part::Trace => "p-trace",
        Part::Lower => "p-lower",
        Part::Compile => "p-compile",
        Part::Compiled | Part::Eager => "p-run",
        Part::Transfer => "p-cache",
        Part::Call | Part::Guards | Part::Prologue => "p-import",
        Part::Blocked => "p-outside",
        Part::Fetch => "p-fetch",
        Part::Before | Part::Between | Part::After => "p-own",
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::trace::Part;

    use super::part_class;

    #[test]
    fn the_two_kinds_of_waiting_have_different_colours() {
        assert_ne!(part_class(Part::Blocked), part_class(Part::Fetch));
    }
}
