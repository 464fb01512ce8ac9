//! One of several equal parts of a set of toys.
//!
//! A toy depends only on the seed and its number, so any split gives the same toys.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Shard `index` of `count`, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// All toys in one piece.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// `None` if there is no such shard.
    pub const fn new(index: u32, count: u32) -> Option<Self> {
        if index >= 1 && index <= count { Some(Self { index, count }) } else { None }
    }

    /// The numbers of its toys, out of `0..toys`. The shards of one count tile that range.
    pub fn numbers(self, toys: u64) -> Range<u64> {
        let before = |shards: u32| {
            let part = u128::from(toys) * u128::from(shards) / u128::from(self.count);
            u64::try_from(part).unwrap_or(toys)
        };
        before(self.index - 1)..before(self.index)
    }

    pub const fn index(self) -> u32 {
        self.index
    }

    pub const fn count(self) -> u32 {
        self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('/')
            .and_then(|(index, count)| Self::new(index.parse().ok()?, count.parse().ok()?));
        parsed.ok_or_else(|| {
            "expected INDEX/COUNT with 1 <= INDEX <= COUNT, such as 3/100".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shards_of_one_count_tile_the_toys() {
        for (toys, count) in [(0, 3), (7, 3), (2, 5), (1_000_000, 100), (u64::MAX, 7)] {
            let mut next = 0;
            for index in 1..=count {
                let numbers = Shard::new(index, count).unwrap().numbers(toys);
                assert_eq!(numbers.start, next);
                assert!(numbers.end - numbers.start <= toys / u64::from(count) + 1);
                next = numbers.end;
            }
            assert_eq!(next, toys);
        }
    }

    #[test]
    fn a_shard_is_written_as_it_is_read() {
        assert_eq!("3/100".parse::<Shard>().unwrap().to_string(), "3/100");
        for wrong in ["0/4", "5/4", "3", "a/b", "1/0", "-1/4", "1/4/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
