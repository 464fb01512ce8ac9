//! Renders results. Pure: documents in, text or bytes out; colours are escape sequences that the
//! printer takes away where they are not wanted, and no meaning rests on them alone.

mod bar;
pub mod export;
pub mod format;
mod headline;
mod plot;
pub mod sentence;
mod strip;
mod table;
pub mod terminal;
