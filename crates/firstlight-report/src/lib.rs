//! Renders results as text, HTML and Markdown. Pure: documents in, strings out. Terminal colours are escape
//! sequences, which the printer removes when colours are off. Colour is never the only carrier of
//! information.
//!
//! `model` selects what is shown. `words` turns it into sentences and tables, `svg` into pictures.
//! `terminal`, `html`, `site` and `export` put these onto a screen, a page, many pages and files.

pub mod export;
pub mod html;
pub mod model;
pub mod site;
pub mod svg;
pub mod terminal;
pub mod words;
