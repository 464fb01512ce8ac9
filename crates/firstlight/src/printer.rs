//! The only place that prints: data to stdout, messages to stderr, control characters made visible.

use std::error::Error as _;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};

use crate::error::Error;
use crate::escaping::escaped;

const DEFAULT_WIDTH: usize = 100;

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

    /// The number of columns of the terminal for results.
    #[expect(clippy::unused_self, reason = "what prints knows how wide it prints")]
    pub(crate) fn width(&self) -> usize {
        terminal_size::terminal_size_of(io::stdout())
            .map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
    }

    /// Prints a result.
    pub(crate) fn data(&mut self, text: &str) {
        let mut stream = AutoStream::new(io::stdout().lock(), self.color);
        let written = stream.write_all(escaped(text).as_bytes()).and_then(|()| stream.flush());
        self.note(written);
    }

    /// Prints a file's content, unchanged unless a terminal would execute it.
    pub(crate) fn bytes(&mut self, content: &[u8]) {
        if self.is_terminal() {
            return self.data(&String::from_utf8_lossy(content));
        }
        let mut stream = io::stdout().lock();
        let written = stream.write_all(content).and_then(|()| stream.flush());
        self.note(written);
    }

    /// A closed pipe is not an error; every other failure is.
    pub(crate) fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.unwritten.get_or_insert(error);
        }
    }

    /// The reason why a result could not be written, if there is one.
    pub(crate) fn take_unwritten(&mut self) -> Option<Error> {
        let reason = self.unwritten.take()?.to_string();
        Some(Error::Unwritten { reason })
    }

    /// Prints a document on disk, piece by piece: it may be larger than memory.
    pub(crate) fn file(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        if self.is_terminal() {
            return self.pieces(BufReader::new(file));
        }
        let mut stream = io::stdout().lock();
        let written = io::copy(&mut file, &mut stream).and_then(|_| stream.flush());
        self.note(written);
        Ok(())
    }

    /// Escapes piece by piece, because a terminal would execute a file's sequences. Pieces end at a bracket,
    /// so that no character is cut.
    fn pieces(&mut self, mut file: impl BufRead) -> io::Result<()> {
        let mut piece = Vec::new();
        while file.read_until(b'}', &mut piece)? > 0 {
            self.data(&String::from_utf8_lossy(&piece));
            piece.clear();
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "what prints knows where it prints")]
    pub(crate) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
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
