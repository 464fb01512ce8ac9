//! The only place that prints: data to stdout, messages to stderr, control characters made visible.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

use crate::error::Error;

pub(crate) struct Printer {
    color: ColorChoice,
    quiet: bool,
    /// The reason why a result could not be written.
    unwritten: Option<io::Error>,
}

impl Printer {
    pub(crate) fn new(color: clap::ColorChoice, quiet: bool) -> Self {
        let color = match color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        Self { color, quiet, unwritten: None }
    }

    /// Prints a result. A closed pipe is not an error; every other failure is.
    pub(crate) fn data(&mut self, text: &str) {
        let mut stream = AutoStream::new(io::stdout().lock(), self.color);
        let written = stream.write_all(escaped(text).as_bytes()).and_then(|()| stream.flush());
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.unwritten.get_or_insert(error);
        }
    }

    /// The reason why a result could not be written, if there is one.
    pub(crate) fn take_unwritten(&mut self) -> Option<Error> {
        self.unwritten.take().map(Error::Output)
    }

    pub(crate) fn talk(&mut self, text: &str) {
        let mut stream = AutoStream::new(io::stderr().lock(), self.color);
        let _ = writeln!(stream, "{}", escaped(text));
    }

    /// Prints progress or another transient message.
    pub(crate) fn aside(&mut self, text: &str) {
        if !self.quiet {
            self.talk(text);
        }
    }

    pub(crate) fn warning(&mut self, text: &str) {
        self.talk(&format!("warning: {text}"));
    }

    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    pub(crate) fn error(&mut self, error: &Error) {
        let mut text = format!("error: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        self.talk(&text);
        if let Some(hint) = error.hint() {
            self.talk(&format!("\nhint: {hint}"));
        }
    }
}

/// Names in a workspace are untrusted: none may move the cursor, hide a line or reverse the text. The escapes
/// are those of JSON, so a document stays valid with the same strings.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) {
            write!(safe, "\\u{:04x}", u32::from(c)).expect("writing to a string");
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn is_control(c: char) -> bool {
    let turns = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || turns
}
