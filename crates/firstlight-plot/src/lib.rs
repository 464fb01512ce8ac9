//! Scales with round ticks, colours for all kinds of colour vision, and self-contained SVG documents. Pure:
//! numbers in, text out.

pub mod palette;
pub mod scale;
pub mod svg;
