//! The memory of one phase as a bar, on the scale of the others in its table.

use maud::{Markup, html};

use super::frame::pc;
use super::phases::kind;
use crate::model::PhaseRow;

/// The whole width stands for `most` bytes. The numbers are in the same row.
#[expect(clippy::cast_precision_loss, reason = "the length of a bar")]
pub(crate) fn memory_bar(row: &PhaseRow, most: u64) -> Markup {
    let share = row.peak_bytes as f64 / most.max(1) as f64;
    html! {
        svg class="chart bar" width="100%" height="12" aria-hidden="true" {
            rect class={ "part " (kind(row.phase).class()) } x="0" y="1" width=(pc(share.min(1.0)))
                height="10" {}
        }
    }
}
