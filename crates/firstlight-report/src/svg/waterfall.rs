//! A row of a waterfall: a bar from the end of the previous row to its own end, on a scale for both wall
//! times.

use firstlight_schema::trace::Bucket;
use maud::{Markup, html};

use super::frame::{Picture, pc, px};
use super::steps::bucket_class;
use crate::words::format::{difference, duration};

const HEIGHT: f64 = 20.0;

/// The content of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fall {
    /// A wall time as a whole.
    Wall(f64),
    /// A difference, from its start; without a bucket it is the remainder of the medians.
    By { bucket: Option<Bucket>, from: f64, by: f64 },
}

impl Fall {
    /// The start and end of its bar.
    fn ends(self) -> (f64, f64) {
        match self {
            Self::Wall(ns) => (0.0, ns),
            Self::By { from, by, .. } => (from, from + by),
        }
    }

    /// The furthest end of any row.
    pub(crate) fn farthest(all: &[Self]) -> f64 {
        all.iter().map(|fall| fall.ends()).fold(1.0, |most, (from, to)| most.max(from).max(to))
    }

    /// One row; the whole width stands for `most` nanoseconds. The line at its end leads to the next row.
    pub(crate) fn draw(self, id: &str, title: &str, most: f64, is_last: bool) -> Markup {
        let (from, to) = self.ends();
        let place = |ns: f64| (ns / most).clamp(0.0, 1.0);
        let (left, right) = (place(from.min(to)), place(from.max(to)));
        let (class, words) = match self {
            Self::Wall(ns) => ("p-unattributed", duration(ns)),
            Self::By { bucket, by, .. } => (
                bucket.map_or("p-unattributed", bucket_class),
                format!("{} to {}", difference(by), duration(to)),
            ),
        };
        let picture = Picture { id, title, description: &words, height: HEIGHT };
        picture.draw(
            "waterfall",
            &html! {
                rect class={ "part " (class) } x=(pc(left)) y="0" width=(pc(right - left))
                    height=(px(HEIGHT)) { title { (title) ": " (words) } }
                // Small values stay visible.
                line class="estimate" x1=(pc(place(to))) x2=(pc(place(to))) y1="0" y2=(px(HEIGHT)) {}
                @if !is_last {
                    line class="even" x1=(pc(place(to))) x2=(pc(place(to))) y1=(px(HEIGHT)) y2="48" {}
                }
            },
        )
    }
}
