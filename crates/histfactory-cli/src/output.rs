//! Writes a result to its destination.

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::error::Error;
use crate::printer::Printer;
use crate::settings::Destination;

/// The head of every JSON document: which one it is, and of which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Schema {
    pub(crate) name: Cow<'static, str>,
    pub(crate) version: Cow<'static, str>,
}

impl Schema {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), version: Cow::Borrowed("1.0") }
    }
}

/// Prints a result as text or as a document, or writes the document to a file.
pub(crate) fn show(
    document: &impl Serialize,
    text: impl FnOnce() -> String,
    destination: &Destination,
    printer: &mut Printer,
) -> Result<(), Error> {
    match destination {
        Destination::Text => printer.data(&text()),
        Destination::Json => printer.data(&json(document)?),
        Destination::File(path) => write(path, &json(document)?)?,
    }
    Ok(())
}

/// Formats JSON like pyhf, indented by four.
fn json(document: &impl Serialize) -> Result<String, Error> {
    let mut text = Vec::new();
    let mut serializer =
        Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "));
    document.serialize(&mut serializer)?;
    text.push(b'\n');
    Ok(String::from_utf8(text).expect("JSON is UTF-8"))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Writes a plot and reports its path.
pub(crate) fn plot(path: &Path, svg: &str, printer: &mut Printer) -> Result<(), Error> {
    write(path, svg)?;
    printer.aside(&format!("plot: {}", path.display()));
    Ok(())
}

/// Notes as lines of text.
pub(crate) fn notes(notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        text.push_str("  note: ");
        text.push_str(note);
        text.push('\n');
    }
    text
}

/// A finite number for a document; JSON can only write other numbers as null.
pub(crate) fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
