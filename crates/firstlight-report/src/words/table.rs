//! Plain columns: aligned, two spaces apart, the last one truncated to the terminal's width.

use unicode_width::UnicodeWidthStr;

use crate::words::format::fit;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Formats rows; all have as many cells as there are alignments.
pub(crate) fn columns(align: &[Align], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let widths: Vec<usize> = (0..align.len())
        .map(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0))
        .collect();
    rows.iter().map(|row| line(align, &widths, row, width)).collect()
}

fn line(align: &[Align], widths: &[usize], row: &[String], width: usize) -> String {
    let mut text = String::new();
    for (column, cell) in row.iter().enumerate() {
        if column > 0 {
            text.push_str("  ");
        }
        let padding = " ".repeat(widths[column].saturating_sub(cell.width()));
        match align[column] {
            Align::Left => text.extend([cell.as_str(), &padding]),
            Align::Right => text.extend([&*padding, cell.as_str()]),
        }
    }
    fit(text.trim_end(), width)
}

#[cfg(test)]
mod tests {
    use super::{Align, columns};

    #[test]
    fn columns_are_aligned_and_cut_to_the_width() {
        let rows = [["ab", "1 µs", "long text"], ["c", "22 µs", ""]]
            .map(|row| row.map(str::to_owned).to_vec());
        let lines = columns(&[Align::Left, Align::Right, Align::Left], &rows, 14);
        assert_eq!(lines, ["ab   1 µs  lo…", "c   22 µs"]);
    }
}
