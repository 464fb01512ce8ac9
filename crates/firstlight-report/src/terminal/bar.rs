//! A ledger as one line of cells, each with its phase's letter and colour.

use std::fmt::Write as _;

use firstlight_schema::phase::Phase;
use firstlight_schema::summary::PhaseMean;

use crate::svg::phases::{letter, style};
use crate::words::format::duration;

/// Draws the phases into `cells` cells; a phase too short for a cell gets none.
pub(crate) fn bar(phases: &[PhaseMean], cells: usize) -> String {
    let shares: Vec<f64> = phases.iter().map(|row| row.share).collect();
    let mut text = String::new();
    for (row, width) in phases.iter().zip(apportion(&shares, cells)) {
        if width > 0 {
            let style = style(row.name);
            let letters = letter(row.name).to_string().repeat(width);
            write!(text, "{style}{letters}{style:#}").expect("writing to a string");
        }
    }
    text
}

/// The same with words: a wide part has its name and time in brackets, a narrow one its letter. Also returns
/// the phases that only have a letter.
pub(crate) fn words_bar(phases: &[PhaseMean], cells: usize) -> (String, Vec<(char, Phase)>) {
    let shares: Vec<f64> = phases.iter().map(|row| row.share).collect();
    let (mut text, mut letters) = (String::new(), Vec::new());
    for (row, width) in phases.iter().zip(apportion(&shares, cells)) {
        if width == 0 {
            continue;
        }
        let style = style(row.name);
        let name = row.name.to_string();
        let long = format!("{name} {}", duration(row.mean_ns));
        let inside = [long, name].into_iter().find(|words| words.chars().count() + 2 <= width);
        let words = inside.map(|words| format!("[{words:<room$}]", room = width - 2));
        let words = words.unwrap_or_else(|| {
            letters.push((letter(row.name), row.name));
            letter(row.name).to_string().repeat(width)
        });
        write!(text, "{style}{words}{style:#}").expect("writing to a string");
    }
    (text, letters)
}

/// Distributes whole cells by largest remainder, so that they always sum to `cells`.
pub(crate) fn apportion(shares: &[f64], cells: usize) -> Vec<usize> {
    let total: f64 = shares.iter().sum();
    if total <= 0.0 {
        return vec![0; shares.len()];
    }
    #[expect(clippy::cast_precision_loss, reason = "a terminal has few cells")]
    let exact: Vec<f64> = shares.iter().map(|share| share / total * cells as f64).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the cells is between zero and their number"
    )]
    let mut whole: Vec<usize> = exact.iter().map(|cells| cells.floor() as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let missing = cells.saturating_sub(whole.iter().sum());
    for &index in order.iter().take(missing) {
        whole[index] += 1;
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use firstlight_schema::phase::Phase;
    use proptest::prelude::*;

    use super::{apportion, letter};

    #[test]
    fn no_two_phases_share_a_letter() {
        let letters: BTreeSet<char> = Phase::ALL.into_iter().map(letter).collect();
        assert_eq!(letters.len(), Phase::ALL.len());
    }

    proptest! {
        #[test]
        fn every_cell_is_assigned(shares in prop::collection::vec(0.0..1.0_f64, 1..16), cells in 0..200_usize) {
            prop_assume!(shares.iter().sum::<f64>() > 0.0);
            prop_assert_eq!(apportion(&shares, cells).into_iter().sum::<usize>(), cells);
        }
    }
}
