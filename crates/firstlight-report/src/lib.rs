//! Renders results as text. Pure: documents in, strings out; colours are escape sequences that the
//! printer takes away where they are not wanted, and no meaning rests on them alone.

mod bar;
pub mod findings;
pub mod format;
pub mod model;
mod plot;
mod row;
pub mod sentence;
mod strip;
mod table;
pub mod terminal;
mod verdict;
