//! Renders results as text, HTML and Markdown. Pure: documents in, strings out. Colours of a terminal are
//! escape sequences, which the printer removes where nobody wants them. No meaning rests on colour
//! alone.
//!
//! `model` chooses what is shown. `words` turns it into sentences and tables, `svg` into pictures.
//! `terminal`, `html`, `site` and `export` put these onto a screen, a page, many pages and files.

pub mod export;
pub mod html;
pub mod model;
pub mod site;
pub mod svg;
pub mod terminal;
pub mod words;
