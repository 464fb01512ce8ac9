//! The order of processes: interleaved, random, and the same again for the same seed.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Rounds in which every one of so many things comes once. Rounds come in blocks of two, the second
/// in the reverse order of the first: with two things ABBA or BAAB.
#[derive(Debug)]
pub(super) struct Rounds {
    things: usize,
    random: Pcg64Mcg,
    reverse: Option<Vec<usize>>,
}

impl Rounds {
    pub(super) fn new(things: usize, seed: u64) -> Self {
        Self { things, random: Pcg64Mcg::seed_from_u64(seed), reverse: None }
    }

    pub(super) fn next_round(&mut self) -> Vec<usize> {
        if let Some(reverse) = self.reverse.take() {
            return reverse;
        }
        let mut round: Vec<usize> = (0..self.things).collect();
        round.shuffle(&mut self.random);
        self.reverse = Some(round.iter().rev().copied().collect());
        round
    }

    /// Whether the next round begins a block.
    pub(super) fn is_balanced(&self) -> bool {
        self.reverse.is_none()
    }
}

/// The order of `n` arms, round by round.
pub fn turns(things: usize, rounds: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut order = Rounds::new(things, seed);
    (0..rounds).map(|_| order.next_round()).collect()
}

/// For each pair whether its second member goes first: ABBA or BAAB, block by block.
pub(super) fn swaps(pairs: u32, seed: u64) -> Vec<bool> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let blocks = (0..pairs.div_ceil(2)).flat_map(|_| {
        let first = random.random::<bool>();
        [first, !first]
    });
    blocks.take(usize::try_from(pairs).unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Rounds, swaps};

    fn rounds(seed: u64) -> Vec<Vec<usize>> {
        let mut rounds = Rounds::new(4, seed);
        (0..20).map(|_| rounds.next_round()).collect()
    }

    #[test]
    fn every_round_has_everything_once_and_the_seed_decides_the_order() {
        for round in rounds(3) {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert_eq!(rounds(3), rounds(3));
        assert_ne!(rounds(3), rounds(4));
    }

    #[test]
    fn the_second_round_of_a_block_is_the_reverse_of_the_first() {
        for block in rounds(7).chunks(2) {
            let reversed: Vec<usize> = block[0].iter().rev().copied().collect();
            assert_eq!(block[1], reversed);
        }
    }

    #[test]
    fn each_block_of_two_pairs_has_both_orders() {
        let order = swaps(10, 5);
        assert_eq!(order.len(), 10);
        for block in order.chunks(2) {
            assert_ne!(block[0], block[1]);
        }
        assert_eq!(swaps(3, 5).len(), 3);
    }
}
