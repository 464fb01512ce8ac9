//! One screen of a terminal: blocks in reading order, as many as fit, the most important ones first.

use super::page::Page;

/// The number of lines that a terminal shows without scrolling.
pub(super) const LINES: usize = 24;

/// Below this width columns and sentences need more lines.
pub(super) const NARROW: usize = 72;

/// The priority of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The answer itself.
    Answer,
    Evidence,
    Detail,
}

struct Block {
    rank: Rank,
    /// Whether an empty line stands before it.
    apart: bool,
    lines: Vec<String>,
}

pub(super) struct Screen {
    width: usize,
    blocks: Vec<Block>,
}

impl Screen {
    pub(super) fn new(width: usize) -> Self {
        Self { width, blocks: Vec::new() }
    }

    /// Adds a block that `write` fills; an empty block is skipped.
    pub(super) fn add(&mut self, rank: Rank, apart: bool, write: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.width);
        write(&mut page);
        let lines: Vec<String> = page.finish().lines().map(str::to_owned).collect();
        if lines.iter().any(|line| !line.is_empty()) {
            self.blocks.push(Block { rank, apart, lines });
        }
    }

    /// One line, truncated if it is too long; two lines on a narrow terminal.
    pub(super) fn line(&mut self, rank: Rank, text: &str) {
        let lines = if self.width < NARROW { 2 } else { 1 };
        self.add(rank, false, |page| page.cut(text, lines));
    }

    /// Prints the blocks that fit; returns whether any was left out.
    pub(super) fn print(self, page: &mut Page, reserved: usize) -> bool {
        let mut free = LINES.saturating_sub(reserved);
        let mut kept = vec![false; self.blocks.len()];
        for rank in [Rank::Answer, Rank::Evidence, Rank::Detail] {
            for (block, kept) in self.blocks.iter().zip(&mut kept) {
                let needed = block.lines.len() + usize::from(block.apart);
                if block.rank == rank && needed <= free {
                    free -= needed;
                    *kept = true;
                }
            }
        }
        for (block, _) in self.blocks.iter().zip(&kept).filter(|(_, kept)| **kept) {
            if block.apart {
                page.gap();
            }
            block.lines.iter().for_each(|line| page.line(line));
        }
        kept.contains(&false)
    }
}

#[cfg(test)]
mod tests {
    use super::{LINES, Page, Rank, Screen};

    #[test]
    fn the_least_important_blocks_are_left_out_first_and_the_order_stays() {
        let mut screen = Screen::new(40);
        screen.add(Rank::Detail, false, |page| (0..10).for_each(|_| page.line("detail")));
        screen.add(Rank::Answer, true, |page| (0..12).for_each(|_| page.line("answer")));
        screen.add(Rank::Evidence, false, |page| (0..6).for_each(|_| page.line("evidence")));
        screen.line(Rank::Detail, "last");
        let mut page = Page::new(40);
        assert!(screen.print(&mut page, 1));
        let text = page.finish();
        assert!(text.lines().count() < LINES, "{text}");
        assert!(!text.contains("detail") && text.ends_with("evidence\nlast\n"), "{text}");
    }
}
