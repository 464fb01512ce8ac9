//! Pictures as inline SVG. Places along the width are per cent and text is outside of what is
//! stretched, so a picture is as legible on a phone as on a desk. No text of a suite is drawn: names
//! stand beside a picture, where they can wrap, and in its title.

mod break_even;
mod calls;
mod forest;
mod frame;
mod history;
mod ledger;
mod memory;
mod points;
mod scale;
mod series;
mod steps;
mod sweep;
mod waterfall;

pub(crate) use break_even::break_even;
pub(crate) use calls::calls;
pub(crate) use forest::{Forest, forest_axis, forest_row, verdict_class};
pub(crate) use history::{Break, HistoryChart, Line, Moment};
pub(crate) use ledger::{ledger_bar, swatch};
pub(crate) use memory::memory_bar;
pub(crate) use points::{points, points_scale};
pub(crate) use scale::real;
pub(crate) use series::{series, series_scale};
pub(crate) use steps::{step_bar, step_swatch};
pub(crate) use sweep::sweep;
pub(crate) use waterfall::Fall;

/// Colours for arms; beyond these they come round again.
const ARM_COLOURS: usize = 8;

/// The class that gives an arm its colour.
pub(crate) fn arm_class(index: usize) -> String {
    format!("a{}", index % ARM_COLOURS)
}
