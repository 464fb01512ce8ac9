//! Text that grows line by line within a given width.

use std::fmt::Write as _;

use anstyle::Style;

use crate::words::table::{Align, columns};

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

pub(super) struct Page {
    text: String,
    width: usize,
    /// Whether lists are printed in full.
    whole_lists: bool,
}

impl Page {
    pub(super) fn new(width: usize) -> Self {
        Self { text: String::new(), width, whole_lists: false }
    }

    /// A page that prints lists in full.
    pub(super) fn with_whole_lists(self) -> Self {
        Self { whole_lists: true, ..self }
    }

    /// The number of printed entries of a list, `usual` by default.
    pub(super) fn entries(&self, usual: usize) -> usize {
        if self.whole_lists { usize::MAX } else { usual }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn finish(mut self) -> String {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.text.push('\n');
        self.text
    }

    pub(super) fn line(&mut self, content: &str) {
        self.text.push_str(content.trim_end());
        self.text.push('\n');
    }

    /// An empty line, never two in a row and none at the top.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Indented columns.
    pub(super) fn columns(&mut self, align: &[Align], rows: &[Vec<String>]) {
        for row in columns(align, rows, self.width - 2) {
            self.line(&format!("  {row}"));
        }
    }

    /// Names and values, indented and aligned; long texts are wrapped.
    pub(super) fn facts(&mut self, facts: &[(&str, String)]) {
        let widest = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, text) in facts {
            write!(self.text, "  {name:widest$}  ").expect("writing to a string");
            self.words(text, widest + 4, widest + 4);
        }
    }

    /// A sentence, wrapped at spaces; further lines are indented.
    pub(super) fn sentence(&mut self, sentence: &str) {
        self.words(sentence, 0, 2);
    }

    /// A sentence in at most this many lines; a longer one ends in an ellipsis.
    pub(super) fn cut(&mut self, sentence: &str, lines: usize) {
        let mut whole = Page::new(self.width);
        whole.sentence(sentence);
        let text = whole.finish();
        let all: Vec<&str> = text.lines().collect();
        if all.len() <= lines {
            return self.sentence(sentence);
        }
        for (index, line) in all.iter().take(lines).enumerate() {
            let last = index + 1 == lines;
            let bold = last
                && line.contains(&BOLD.to_string())
                && !line.contains(&BOLD.render_reset().to_string());
            let end = if bold { BOLD.render_reset().to_string() } else { String::new() };
            if last {
                self.line(&format!("{}…{end}", cut_to(line, self.width - 1)));
            } else {
                self.line(line);
            }
        }
    }

    /// Words from column `used` on; further lines begin at column `margin`.
    fn words(&mut self, text: &str, mut used: usize, margin: usize) {
        let mut first = true;
        for word in text.split(' ') {
            let length = visible(word);
            if !first && used + 1 + length > self.width {
                self.text.push('\n');
                self.text.push_str(&" ".repeat(margin));
                used = margin;
            } else if !first {
                self.text.push(' ');
                used += 1;
            }
            self.text.push_str(word);
            used += length;
            first = false;
        }
        self.text.push('\n');
    }
}

/// The beginning of a line with at most this many cells, not counting escape sequences.
fn cut_to(line: &str, cells: usize) -> &str {
    let ends = line.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.take_while(|&end| visible(&line[..end]) <= cells).last().map_or("", |end| &line[..end])
}

/// The number of cells of a word, not counting escape sequences.
fn visible(word: &str) -> usize {
    let mut escaped = false;
    word.chars()
        .filter(|&c| {
            let was = escaped;
            escaped = (escaped && c != 'm') || c == '\u{1b}';
            !was && !escaped
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::{BOLD, Page};

    #[test]
    fn a_sentence_is_broken_at_spaces_and_colours_take_no_room() {
        let mut page = Page::new(12);
        page.sentence(&format!("{BOLD}one{BOLD:#} two three"));
        assert_eq!(page.finish(), format!("{BOLD}one{BOLD:#} two\n  three\n"));
    }

    #[test]
    fn consecutive_gaps_are_merged() {
        let mut page = Page::new(40);
        page.gap();
        page.line("a");
        page.gap();
        page.gap();
        page.line("b");
        assert_eq!(page.finish(), "a\n\nb\n");
    }
}
