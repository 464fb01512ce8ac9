//! The normsys factors in vectors of one parameter each.
//!
//! Blocks need the product of their factors, parameters the sum of what their factors do to the
//! blocks. Factors are computed by parameter, where one value of it serves a whole vector, and
//! then brought to their blocks.

use super::layout::{Block, LANES};

#[derive(Debug, Default)]
pub(crate) struct Factors {
    /// The parameter of each vector. All come once before any comes again: sums by parameter then
    /// do not wait for each other.
    pub(crate) owner: Vec<u32>,
    /// The entry and the block of each factor; those of padding do not exist.
    pub(crate) entry: Vec<[u32; LANES]>,
    pub(crate) block: Vec<[u32; LANES]>,
    /// Where each entry has its factor.
    pub(crate) place: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Factor {
    entry: u32,
    block: u32,
}

impl Factors {
    /// `owners` has the parameter of each entry.
    #[expect(clippy::cast_possible_truncation, reason = "indices of entries fit in 32 bits")]
    pub(crate) fn new(parameters: usize, owners: &[u32], blocks: &[Block]) -> Self {
        let mut factors: Vec<Vec<Factor>> = vec![Vec::new(); parameters];
        for (block, number) in blocks.iter().zip(0_u32..) {
            for entry in block.normsys.start..block.normsys.start + block.normsys_used {
                let factor = Factor { entry: entry as u32, block: number };
                factors[owners[entry] as usize].push(factor);
            }
        }
        let most = factors.iter().map(Vec::len).max().unwrap_or(0);
        let padding = Factor { entry: owners.len() as u32, block: blocks.len() as u32 };
        let mut vectors = Self { place: vec![0; owners.len()], ..Self::default() };
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
        self.entry.push(lanes.map(|factor| factor.entry));
        self.block.push(lanes.map(|factor| factor.block));
    }

    /// How many there are, with padding.
    pub(crate) fn count(&self) -> usize {
        self.owner.len() * LANES
    }
}
