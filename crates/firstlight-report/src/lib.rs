//! Renders results as text, HTML and Markdown. Pure: documents in, strings out; colours of a terminal
//! are escape sequences that the printer takes away where they are not wanted, and no meaning rests on
//! colour alone.

mod bar;
mod chart;
mod diagnosis;
pub mod export;
pub mod figure;
pub mod findings;
pub mod format;
mod headline;
pub mod html;
pub mod markdown;
pub mod model;
mod plot;
mod row;
pub mod site;
mod strip;
mod table;
pub mod tables;
pub mod terminal;
mod verdict;
