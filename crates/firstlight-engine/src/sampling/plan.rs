//! The order of processes: interleaved, random, and the same again for the same seed.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Rounds in which every one of `things` comes once, each round in a new order.
pub(super) fn rounds(things: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..rounds)
        .map(|_| {
            let mut round: Vec<usize> = (0..things).collect();
            round.shuffle(&mut random);
            round
        })
        .collect()
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
    use super::{rounds, swaps};

    #[test]
    fn every_round_has_everything_once_and_the_seed_decides_the_order() {
        let plan = rounds(4, 20, 3);
        for round in &plan {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert_eq!(plan, rounds(4, 20, 3));
        assert_ne!(plan, rounds(4, 20, 4));
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
