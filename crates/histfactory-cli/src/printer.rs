//! The only place that prints: data to stdout, talk to stderr.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

use crate::error::Error;

pub(crate) struct Printer {
    color: ColorChoice,
    quiet: bool,
}

impl Printer {
    pub(crate) fn new(color: clap::ColorChoice, quiet: bool) -> Self {
        let color = match color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        Self { color, quiet }
    }

    /// A result. A reader that has gone away has read enough.
    pub(crate) fn data(&mut self, text: &str) {
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.color);
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.flush();
    }

    pub(crate) fn talk(&mut self, text: &str) {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.color);
        let _ = writeln!(stream, "{text}");
    }

    /// Something that is only of interest while it lasts.
    pub(crate) fn aside(&mut self, text: &str) {
        if !self.quiet {
            self.talk(text);
        }
    }

    pub(crate) fn warning(&mut self, text: &str) {
        self.talk(&format!("warning: {text}"));
    }

    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
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
