//! The normsys factors in vectors of one parameter each.
//!
//! Blocks need the product of their factors; parameters need the sum of their effects on the blocks. Factors
//! are computed by parameter, where one value serves a whole vector, and then moved to slots where each block
//! has a lane of its own, with the block's other factors.

use super::layout::{Block, LANES};

#[derive(Debug, Default)]
pub(crate) struct Factors {
    /// The parameter of each vector. Parameters take turns, so that sums by parameter do not wait for each
    /// other.
    pub(crate) owner: Vec<u32>,
    /// The block of each factor; padding has a block that does not exist.
    pub(crate) block: Vec<[u32; LANES]>,
    /// The position of each entry's factor.
    pub(crate) place: Vec<u32>,
    /// The slot of each factor; padding uses the last one.
    pub(crate) slot: Vec<[u32; LANES]>,
    /// The slots of the other factors, and their parameters.
    pub(crate) free: Vec<[u32; 2]>,
    /// For every four blocks: the end of their slots.
    pub(crate) ends: Vec<u32>,
    /// The number of slots, including padding.
    pub(crate) slots: usize,
}

#[derive(Debug, Clone, Copy)]
struct Factor {
    entry: u32,
    block: u32,
    slot: u32,
}

impl Factors {
    /// `owners` has the parameter of each entry, `free` that of each normfactor and lumi.
    #[expect(clippy::cast_possible_truncation, reason = "indices of entries fit in 32 bits")]
    pub(crate) fn new(parameters: usize, owners: &[u32], free: &[u32], blocks: &[Block]) -> Self {
        let mut vectors = Self { place: vec![0; owners.len()], ..Self::default() };
        let mut factors: Vec<Vec<Factor>> = vec![Vec::new(); parameters];
        let mut end = 0;
        for (group, number) in blocks.chunks(LANES).zip((0..).step_by(LANES)) {
            let start = end;
            for (lane, block) in group.iter().enumerate() {
                let mut slots = (start + lane..).step_by(LANES).map(|slot| slot as u32);
                for (&parameter, slot) in free[block.free_factors.clone()].iter().zip(&mut slots) {
                    vectors.free.push([slot, parameter]);
                }
                for (entry, slot) in block.normsys.clone().zip(&mut slots) {
                    let factor =
                        Factor { entry: entry as u32, block: (number + lane) as u32, slot };
                    factors[owners[entry] as usize].push(factor);
                }
                let count = block.free_factors.len() + block.normsys.len();
                end = end.max(start + count * LANES);
            }
            vectors.ends.push(end as u32);
        }
        vectors.slots = end + LANES;
        let most = factors.iter().map(Vec::len).max().unwrap_or(0);
        let padding =
            Factor { entry: owners.len() as u32, block: blocks.len() as u32, slot: end as u32 };
        for turn in 0..most.div_ceil(LANES) {
            for (factors, owner) in factors.iter().zip(0_u32..) {
                if let Some(factors) = factors.chunks(LANES).nth(turn) {
                    vectors.push(owner, factors, padding);
                }
            }
        }
        vectors
    }

    #[expect(clippy::cast_possible_truncation, reason = "indices of entries fit in 32 bits")]
    fn push(&mut self, owner: u32, factors: &[Factor], padding: Factor) {
        for (factor, place) in factors.iter().zip(self.count()..) {
            self.place[factor.entry as usize] = place as u32;
        }
        let lanes: [Factor; LANES] =
            std::array::from_fn(|lane| factors.get(lane).copied().unwrap_or(padding));
        self.owner.push(owner);
        self.block.push(lanes.map(|factor| factor.block));
        self.slot.push(lanes.map(|factor| factor.slot));
    }

    /// The number of factors, including padding.
    pub(crate) fn count(&self) -> usize {
        self.owner.len() * LANES
    }
}
