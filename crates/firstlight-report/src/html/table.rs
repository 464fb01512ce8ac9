//! Tables: with a caption, headings, keys to sort by, and room to scroll on a narrow screen.

use maud::{Markup, html};

/// The content of a cell, and its sort key.
pub(crate) enum Cell {
    Text(Markup),
    /// A short text of our own, which is never broken.
    Word(Markup),
    /// A formatted number, and the number.
    Number(String, Option<f64>),
    /// Text that may be long.
    Long(Markup),
    /// A bar beside numbers.
    Bar(Markup),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(html! { (text) })
    }

    /// A count.
    pub(crate) fn count(n: u32) -> Self {
        Self::Number(n.to_string(), Some(f64::from(n)))
    }

    pub(crate) fn number(shown: impl Into<String>, value: f64) -> Self {
        Self::Number(shown.into(), Some(value))
    }
}

/// A heading; numbers are aligned to the right.
pub(crate) enum Head<'a> {
    Text(&'a str),
    Number(&'a str),
}

/// Whether a reader can sort the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Sortable,
    Fixed,
}

pub(crate) fn table(caption: &str, order: Order, heads: &[Head<'_>], rows: &[Vec<Cell>]) -> Markup {
    let class = match order {
        Order::Sortable => "wide sortable",
        Order::Fixed => "wide",
    };
    html! {
        div class="scroll" role="group" aria-label=(caption) tabindex="0" {
            table class=(class) {
                caption { (caption) }
                thead { tr { @for head in heads { (heading(head)) } } }
                tbody {
                    @for row in rows { tr { @for (index, one) in row.iter().enumerate() { (cell(index, one)) } } }
                }
            }
        }
    }
}

fn heading(head: &Head<'_>) -> Markup {
    match head {
        Head::Text(text) => html! { th scope="col" { (text) } },
        Head::Number(text) => html! { th scope="col" class="n" { (text) } },
    }
}

/// A cell; the first one is the row's heading.
fn cell(index: usize, content: &Cell) -> Markup {
    match content {
        Cell::Text(text) if index == 0 => html! { th scope="row" { (text) } },
        Cell::Text(text) => html! { td class="name" { (text) } },
        Cell::Word(text) => html! { td class="word" { (text) } },
        Cell::Number(text, key) => {
            html! { td data-key=(key.map_or_else(String::new, sort_key)) { (text) } }
        }
        Cell::Long(text) => html! { td class="long" { (text) } },
        Cell::Bar(bar) => html! { td class="bar-cell" { (bar) } },
    }
}

/// Five digits sort as well as seventeen.
fn sort_key(value: f64) -> String {
    let key = format!("{value:.4e}");
    match key.split_once('e') {
        Some((digits, power)) if digits.contains('.') => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            if power == "0" { digits.to_owned() } else { format!("{digits}e{power}") }
        }
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::sort_key;

    #[test]
    fn a_key_is_the_number_in_five_digits() {
        let keys = [7.0, -7.5, 12_345.678, 0.0, 2.5e9, f64::INFINITY].map(sort_key);
        assert_eq!(keys, ["7", "-7.5", "1.2346e4", "0", "2.5e9", "inf"]);
    }
}
