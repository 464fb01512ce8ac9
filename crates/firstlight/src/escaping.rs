//! Makes control characters visible, so that no foreign text can move the cursor, hide a line or set a title.
//! Names, paths and output come from snapshots, archives and programs that may be hostile.
//!
//! An escaped character is written as in JSON, `\u001b`, so that a JSON document stays valid with the same
//! strings. The only styles that pass are those of the reports, each of which is legible.

use std::borrow::Cow;
use std::sync::LazyLock;

use firstlight_report::terminal::cell_styles;

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
/// Letters on coloured cells, as in the bars of the reports, from which this list is taken.
static CELLS: LazyLock<Vec<String>> = LazyLock::new(cell_styles);
const COLOURS: [&str; 8] = [
    "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m", "\x1b[36m", "\x1b[90m", "\x1b[96m",
];

/// The text with every control character visible, except line ends, tabs and our own styles.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    // One colour at a time: letters in the colour of their cell would be illegible.
    let mut coloured = false;
    while let Some(next) = rest.chars().next() {
        if let Some(style) = style(rest, coloured) {
            coloured = style != RESET && (coloured || (style != BOLD && style != DIM));
            safe.push_str(style);
            rest = &rest[style.len()..];
            continue;
        }
        if is_control(next) {
            push_escape(&mut safe, next);
        } else {
            safe.push(next);
        }
        rest = &rest[next.len_utf8()..];
    }
    Cow::Owned(safe)
}

/// The style of ours at the beginning of the text.
fn style(text: &str, coloured: bool) -> Option<&'static str> {
    if !text.starts_with('\x1b') {
        return None;
    }
    let cells = CELLS.iter().map(String::as_str);
    let colours = cells.chain(COLOURS).filter(|_| !coloured);
    [RESET, BOLD, DIM].into_iter().chain(colours).find(|style| text.starts_with(style))
}

fn push_escape(text: &mut String, c: char) {
    use std::fmt::Write as _;
    write!(text, "\\u{:04x}", u32::from(c)).expect("writing to a string");
}

/// Characters that control a terminal, and those that reverse the direction of the text.
fn is_control(c: char) -> bool {
    let turns = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || turns
}

#[cfg(test)]
mod tests {
    use firstlight_report::terminal::{cell_styles, text_styles};

    use super::escaped;

    #[test]
    fn every_colour_of_a_trace_passes() {
        for style in text_styles() {
            let row = format!("{style}\x1b[0m");
            assert_eq!(escaped(&row), row);
        }
    }

    #[test]
    fn terminal_sequences_are_shown_and_not_executed() {
        for (hostile, shown) in [
            ("a\x1b]0;title\x07b", "a\\u001b]0;title\\u0007b"),
            ("\x1b[2J\x1b[H", "\\u001b[2J\\u001b[H"),
            ("\x1b[8mhidden", "\\u001b[8mhidden"),
            ("\x1b[30mblack", "\\u001b[30mblack"),
            ("one\rtwo\u{9b}1A", "one\\u000dtwo\\u009b1A"),
            ("abc\u{202e}cba", "abc\\u202ecba"),
        ] {
            assert_eq!(escaped(hostile), shown);
        }
    }

    #[test]
    fn our_own_styles_pass_and_cannot_be_combined_into_a_hiding_one() {
        let own = "\x1b[1mbold\x1b[0m \x1b[30m\x1b[42mR\x1b[0m\x1b[97m\x1b[45mC\x1b[0m\n\tend";
        assert_eq!(escaped(own), own);
        assert_eq!(escaped("\x1b[97m\x1b[45m\x1b[31mred"), "\x1b[97m\x1b[45m\\u001b[31mred");
    }

    #[test]
    fn every_cell_of_a_bar_passes_and_none_hides_its_letters() {
        for cell in cell_styles() {
            let bar = format!("{cell}[teardown]\x1b[0m");
            assert_eq!(escaped(&bar), bar);
            let codes: Vec<u8> = cell
                .split(['\x1b', '[', 'm'])
                .filter(|code| !code.is_empty())
                .map(|code| code.parse().unwrap())
                .collect();
            let [front, back] = codes[..] else { panic!("{cell:?} is not two colours") };
            assert_ne!(front + 10, back, "{cell:?} hides its letters");
        }
    }

    #[test]
    fn a_json_document_keeps_its_strings() {
        let document = serde_json::to_string("\u{9b}31m\u{202e}\u{7f}").unwrap();
        let printed = escaped(&document);
        assert!(printed.is_ascii(), "{printed}");
        assert_eq!(
            serde_json::from_str::<String>(&printed).unwrap(),
            serde_json::from_str::<String>(&document).unwrap()
        );
    }
}
