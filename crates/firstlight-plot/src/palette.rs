//! Colours, dashes and markers of series. Neighbours differ in all three, so that a picture can be
//! read without seeing colours.

pub const INK: &str = "#1f2933";
pub const FAINT: &str = "#9aa5b1";
pub const GRID: &str = "#e4e7eb";

/// How one series is drawn wherever it appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// On a white page.
    pub light: &'static str,
    /// On a dark page.
    pub dark: &'static str,
    /// Lengths of dashes and gaps; empty for an unbroken line.
    pub dashes: &'static str,
    pub marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Marker {
    /// An outline around the origin, about eight units wide.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Circle => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
            Self::Square => "M-3.5 -3.5h7v7h-7z",
            Self::Triangle => "M0 -4.5L4.5 3.5H-4.5z",
            Self::Diamond => "M0 -5L5 0L0 5L-5 0z",
        }
    }
}

const fn look(
    light: &'static str,
    dark: &'static str,
    dashes: &'static str,
    marker: Marker,
) -> Look {
    Look { light, dark, dashes, marker }
}

/// More series than looks share them.
pub const LOOKS: [Look; 8] = [
    look("#0072b2", "#56a9e8", "", Marker::Circle),
    look("#c04f00", "#f08b4b", "7 3", Marker::Square),
    look("#00795a", "#3fc795", "2 3", Marker::Triangle),
    look("#a8457d", "#e08abb", "10 3 2 3", Marker::Diamond),
    look("#8a6100", "#d9ab3f", "", Marker::Square),
    look("#2a7ca8", "#8fd0f0", "7 3", Marker::Triangle),
    look("#57606a", "#a5b1bd", "2 3", Marker::Diamond),
    look("#6f42c1", "#b392f0", "10 3 2 3", Marker::Circle),
];

/// The look of the series with this index.
pub const fn series(index: usize) -> Look {
    LOOKS[index % LOOKS.len()]
}
