//! A whole recording: its steps as columns, the same along its time, and the memory in use.

use firstlight_schema::trace::{Bucket, MemoryRow, Step};
use maud::{Markup, html};

use super::frame::{Picture, pc, px};
use super::steps::{bucket_class, part_class};
use crate::words::format::{bytes, duration};

/// The height of the columns, with room for lengths above and for numbers below.
const COLUMNS: f64 = 120.0;
const ABOVE: f64 = 16.0;
const BELOW: f64 = 16.0;
/// The smallest height, so that a very short step is still visible.
const LEAST: f64 = 2.0;
/// With more columns there is no room for their lengths and numbers.
const MOST_LENGTHS: usize = 12;
const MOST_NUMBERS: usize = 30;
const STRIP: f64 = 28.0;
const MEMORY: f64 = 60.0;
/// With more steps, only the longest of each few is drawn.
const MOST_COLUMNS: usize = 240;
/// Intervals with a smaller share of the recording are not drawn: zooming shows the same detail as the
/// drawing of their step.
const SHORTEST: f64 = 1.0 / 20_000.0;

/// Every step as a column of its buckets; the tallest is the longest.
pub(crate) fn step_columns(id: &str, steps: &[Step], marked: Option<usize>) -> Markup {
    let each = steps.len().div_ceil(MOST_COLUMNS).max(1);
    let drawn: Vec<usize> = (0..steps.len())
        .step_by(each)
        .filter_map(|from| {
            let several = from..(from + each).min(steps.len());
            several.max_by_key(|&place| (steps[place].duration_ns, Some(place) == marked))
        })
        .collect();
    let longest = steps.iter().map(|step| step.duration_ns.as_f64()).fold(1.0, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "few columns")]
    let slot = 1.0 / drawn.len().max(1) as f64;
    let description = format!("{} steps; the longest takes {}", steps.len(), duration(longest));
    let height = ABOVE + COLUMNS + BELOW;
    let picture = Picture { id, title: "Steps by their length", description: &description, height };
    let mut x = 0.0;
    let columns = drawn.iter().map(|&place| {
        let (step, shown) = (&steps[place], Some(place) == marked);
        let own = html! {
            (column(step, x + slot * 0.1, slot * 0.8, longest))
            @if drawn.len() <= MOST_NUMBERS || shown {
                text class="tick" x=(pc(x + slot / 2.0)) y=(px(height - 3.0)) text-anchor="middle" {
                    (step.number)
                }
            }
            @if drawn.len() <= MOST_LENGTHS || shown {
                text class=(if shown { "tick length marked" } else { "tick length" })
                    x=(pc(x + slot / 2.0)) text-anchor="middle"
                    y=(px(ABOVE + COLUMNS - tall(step, longest) - 4.0)) {
                    (duration(step.duration_ns.as_f64()))
                }
            }
        };
        x += slot;
        own
    });
    let columns: Vec<Markup> = columns.collect();
    picture.draw("columns", &html! { @for column in &columns { (column) } })
}

fn tall(step: &Step, longest: f64) -> f64 {
    (step.duration_ns.as_f64() / longest * COLUMNS).max(LEAST)
}

fn column(step: &Step, x: f64, width: f64, longest: f64) -> Markup {
    let whole = step.duration_ns.as_f64().max(1.0);
    let mut top = ABOVE + COLUMNS;
    let rows: Vec<(Bucket, f64, f64)> = Bucket::ALL
        .into_iter()
        .filter(|bucket| step.bucket(*bucket).0 > 0)
        .map(|bucket| {
            let height = step.bucket(bucket).as_f64() / whole * tall(step, longest);
            top -= height;
            (bucket, top, height)
        })
        .collect();
    html! {
        g class="column" {
            title { (in_words(step)) }
            // A minimum width, so that a pointer can hit a very short step.
            rect class="behind" x=(pc(x)) width=(pc(width)) y=(px(ABOVE)) height=(px(COLUMNS)) {}
            @for (bucket, y, height) in &rows {
                rect class=(bucket_class(*bucket)) x=(pc(x)) width=(pc(width)) y=(px(*y)) height=(px(*height)) {}
            }
        }
    }
}

fn in_words(step: &Step) -> String {
    let compiled = if step.compiled { ", compiled" } else { "" };
    let memory = step
        .peak_bytes
        .map_or_else(String::new, |peak| format!(", at most {} in use", bytes(peak)));
    format!("step {}: {}{compiled}{memory}", step.number, duration(step.duration_ns.as_f64()))
}

/// The time of the steps, from the start of the first to the end of the last.
pub(crate) struct Extent {
    from: f64,
    long: f64,
}

impl Extent {
    pub(crate) fn new(steps: &[Step]) -> Self {
        let end = |step: &Step| step.start_ns.as_f64() + step.duration_ns.as_f64();
        let from = steps.iter().map(|step| step.start_ns.as_f64()).fold(f64::MAX, f64::min);
        let to = steps.iter().map(end).fold(from, f64::max);
        Self { from, long: (to - from).max(1.0) }
    }

    fn place(&self, ns: f64) -> f64 {
        ((ns - self.from) / self.long).clamp(0.0, 1.0)
    }

    pub(crate) fn nanoseconds(&self) -> f64 {
        self.long
    }
}

/// The steps at their positions in the recording. Scripts find a step by its number.
pub(crate) fn recording_strip(id: &str, steps: &[Step], extent: &Extent) -> Markup {
    let description = format!("{} in all", duration(extent.long));
    let picture = Picture {
        id,
        title: "Steps along the recording",
        description: &description,
        height: STRIP,
    };
    picture.draw(
        "strip",
        &html! {
            @for step in steps {
                @let from = step.start_ns.as_f64();
                @let to = from + step.duration_ns.as_f64();
                g class="lane" data-step=(step.number) data-from=(extent.place(from)) data-to=(extent.place(to)) {
                    title { (in_words(step)) }
                    rect class="outline" x=(pc(extent.place(from))) y="1" height=(px(STRIP - 2.0))
                        width=(pc(extent.place(to) - extent.place(from))) {}
                    @for stretch in &step.timeline {
                        @let share = stretch.duration_ns.as_f64() / extent.long;
                        @if share >= SHORTEST {
                            rect class={ "part " (part_class(stretch.part)) } y="4" height=(px(STRIP - 8.0))
                                x=(pc(extent.place(from + stretch.start_ns.as_f64()))) width=(pc(share)) {}
                        }
                    }
                }
            }
        },
    )
}

/// The memory handed out by an allocator over the same time; the top is its peak.
#[expect(clippy::cast_precision_loss, reason = "the height of a bar")]
pub(crate) fn memory_line(id: &str, row: &MemoryRow, extent: &Extent) -> Markup {
    let title = format!("Memory of {} over time", row.allocator);
    let description = format!("At most {} in use", bytes(row.peak_bytes));
    let picture = Picture { id, title: &title, description: &description, height: MEMORY };
    let ends = row.timeline.iter().skip(1).map(|next| next.at_ns.as_f64());
    let ends = ends.chain([extent.from + extent.long]);
    let bars = row.timeline.iter().zip(ends).filter_map(|(point, end)| {
        let (from, to) = (extent.place(point.at_ns.as_f64()), extent.place(end));
        let height = point.bytes as f64 / row.peak_bytes.max(1) as f64 * MEMORY;
        (from < to).then_some((point, from, to - from, height))
    });
    picture.draw(
        "memory",
        &html! {
            @for (point, x, width, height) in bars {
                rect class="in-use" x=(pc(x)) width=(pc(width)) y=(px(MEMORY - height)) height=(px(height)) {
                    title {
                        (bytes(point.bytes)) " in use at " (duration(point.at_ns.as_f64()))
                    }
                }
            }
        },
    )
}
