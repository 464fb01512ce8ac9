//! Scales with round ticks, colours that colour-blind people can distinguish, and SVG documents that
//! need nothing else. Pure: numbers in, text out.

pub mod palette;
pub mod scale;
pub mod svg;
