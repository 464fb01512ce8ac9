//! Columns of text.

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows below headings, each column as wide as necessary, with two spaces between columns.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn render(&self) -> String {
        let headings: Vec<String> =
            self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let all = || std::iter::once(&headings).chain(&self.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let mut text = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
                match align {
                    Align::Left => text.extend([cell.as_str(), &blanks, "  "]),
                    Align::Right => text.extend([&blanks, cell.as_str(), "  "]),
                }
            }
            text.trim_end().to_owned() + "\n"
        };
        all().map(line).collect()
    }
}

/// A number with a few significant digits, for people.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size < 1e-12 {
        "0".to_owned()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{value:.3e}")
    } else if size >= 1000.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.5}")
    }
}
