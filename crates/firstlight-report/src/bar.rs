//! A ledger as one line: a cell per share, each with its phase's letter and colour.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Color, Style};
use firstlight_schema::phase::Phase;
use firstlight_schema::summary::PhaseMean;

/// The letter that stands for a phase in a bar and in front of its row.
pub(crate) fn letter(phase: Phase) -> char {
    match phase {
        Phase::Spawn => 's',
        Phase::Launcher => 'a',
        Phase::Interpreter => 'p',
        Phase::Probe => 'f',
        Phase::Import => 'I',
        Phase::DeviceInit => 'd',
        Phase::Setup => 'S',
        Phase::Trace => 't',
        Phase::Lower => 'l',
        Phase::Compile => 'C',
        Phase::CacheRead => 'r',
        Phase::CacheWrite => 'w',
        Phase::FirstRun => '1',
        Phase::WarmUp => 'u',
        Phase::Window => 'W',
        Phase::Run => 'R',
        Phase::Children => 'c',
        Phase::Teardown => 'x',
        Phase::Unattributed => '?',
    }
}

pub(crate) fn style(phase: Phase) -> Style {
    let (back, front) = match phase {
        Phase::Spawn | Phase::Launcher => (AnsiColor::White, AnsiColor::Black),
        Phase::Interpreter | Phase::Probe | Phase::Teardown => {
            (AnsiColor::BrightBlack, AnsiColor::BrightWhite)
        }
        Phase::Import => (AnsiColor::Blue, AnsiColor::BrightWhite),
        Phase::DeviceInit | Phase::Setup => (AnsiColor::Cyan, AnsiColor::Black),
        Phase::Trace => (AnsiColor::BrightYellow, AnsiColor::Black),
        Phase::Lower => (AnsiColor::Yellow, AnsiColor::Black),
        Phase::Compile => (AnsiColor::Red, AnsiColor::BrightWhite),
        Phase::CacheRead | Phase::CacheWrite => (AnsiColor::Magenta, AnsiColor::BrightWhite),
        Phase::FirstRun | Phase::WarmUp | Phase::Window | Phase::Run => {
            (AnsiColor::Green, AnsiColor::Black)
        }
        Phase::Children => (AnsiColor::BrightCyan, AnsiColor::Black),
        Phase::Unattributed => (AnsiColor::BrightWhite, AnsiColor::Black),
    };
    Style::new().bg_color(Some(Color::Ansi(back))).fg_color(Some(Color::Ansi(front)))
}

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

/// Whole cells for shares, by largest remainder: they always sum to the cells there are.
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
        fn every_cell_is_given_out(shares in prop::collection::vec(0.0..1.0_f64, 1..16), cells in 0..200_usize) {
            prop_assume!(shares.iter().sum::<f64>() > 0.0);
            prop_assert_eq!(apportion(&shares, cells).into_iter().sum::<usize>(), cells);
        }
    }
}
