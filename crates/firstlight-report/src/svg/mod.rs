//! Pictures as inline SVG. Positions along the width are percentages, and text is outside the stretched part,
//! so a picture is legible on a phone and on a desktop. Text of a suite is not drawn: names are beside a
//! picture, where they can wrap, and in its title.

mod break_even;
mod calls;
pub mod figure;
mod forest;
mod frame;
mod history;
mod imports;
mod ledger;
pub(crate) mod looks;
mod memory;
pub(crate) mod phases;
mod points;
mod series;
mod spark;
mod steps;
mod sweep;
mod totals;
mod trace;
mod waterfall;

pub(crate) use break_even::break_even;
pub(crate) use calls::calls;
pub(crate) use firstlight_plot::scale::real;
pub(crate) use forest::{Forest, forest_axis, forest_row, verdict_class};
pub(crate) use history::{Break, HistoryChart, Line, Moment};
pub(crate) use imports::imports;
pub(crate) use ledger::{ledger_bar, swatch};
pub(crate) use looks::{arm_class, key};
pub(crate) use memory::memory_bar;
pub(crate) use points::{points, points_scale};
pub(crate) use series::{series, series_scale};
pub(crate) use spark::{SparkPoint, spark};
pub(crate) use steps::{step_bar, step_swatch};
pub(crate) use sweep::sweep;
pub(crate) use totals::totals;
pub(crate) use trace::{Extent, memory_line, recording_strip, step_columns};
pub(crate) use waterfall::Fall;
