//! Plots of results: self-contained SVG, with a title and a description for screen readers.

mod frame;
mod histogram;
mod limit;
mod pulls;
mod ranking;
mod scan;

pub(crate) use histogram::histogram;
pub(crate) use limit::{LimitPoint, limit};
pub(crate) use pulls::{Pull, pulls};
pub(crate) use ranking::{Impact, ranking};
pub(crate) use scan::scan;

/// Colours that people with red-green colour blindness can distinguish.
pub(crate) mod colour {
    pub(crate) use firstlight_plot::palette::{FAINT, GRID, INK};

    pub(crate) const ONE_SIGMA: &str = "#7fc97f";
    pub(crate) const TWO_SIGMA: &str = "#ffe08a";
    pub(crate) const LINE: &str = "#0b5fa5";
    pub(crate) const LEVEL: &str = "#b5322a";
    pub(crate) const UP: &str = "#0b5fa5";
    pub(crate) const DOWN: &str = "#e08214";

    /// The colours of a dark page.
    pub(crate) fn set_on_dark(svg: &mut firstlight_plot::svg::Svg) {
        for (light, dark) in [
            (ONE_SIGMA, "#2f6b35"),
            (TWO_SIGMA, "#6b5a1e"),
            (LINE, "#5aa9e6"),
            (LEVEL, "#ff7b72"),
            (DOWN, "#f0a040"),
        ] {
            svg.set_on_dark(light, dark);
        }
    }
}
