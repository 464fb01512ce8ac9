//! Describes a result so that it can be compared with another arm's: see `python/firstlight/_outputs.py`,
//! which distributes elements over blocks in the same way.

use std::fmt::Write as _;

use firstlight_schema::message::{Leaf, NotFinite, Sketch};
use sha2::{Digest, Sha256};

/// Results of up to this many numbers are described by all elements.
const SMALL: usize = 64;
/// The number of sums that represent a larger result.
const BLOCKS: u64 = 64;
/// The period of blocks and signs, and their shift from one piece to the next.
const PIECE: u64 = 1 << 18;
const SHIFT: u64 = 65_537;

#[expect(clippy::cast_precision_loss, reason = "a mean over less than 2^53 values")]
pub(crate) fn leaf(values: &[f64]) -> Leaf {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let count = finite().count();
    let squares: f64 = finite().map(|value| value * value).sum();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    let small = values.len() <= SMALL;
    let finite_or_none = |&value: &f64| value.is_finite().then_some(value);
    Leaf {
        dtype: "float64".to_owned(),
        digest: Some(digest(bytes)),
        shape: vec![values.len() as u64],
        path: None,
        norm: (count > 0).then(|| (squares / count as f64).sqrt()),
        values: if small { values.iter().map(finite_or_none).collect() } else { Vec::new() },
        sketch: (!small).then(|| sketch(values)),
        not_finite: (count < values.len()).then(|| not_finite(values)),
    }
}

fn digest(bytes: impl Iterator<Item = u8>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(bytes.collect::<Vec<u8>>());
    hasher.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

fn sketch(values: &[f64]) -> Sketch {
    let mut sums = vec![0.0; usize::try_from(BLOCKS).expect("a few blocks")];
    for (place, value) in (0_u64..).zip(values) {
        let dealt = mixed((place % PIECE + place / PIECE * SHIFT) % PIECE);
        let sign = if dealt >> 63 == 0 { 1.0 } else { -1.0 };
        let block = usize::try_from(dealt & (BLOCKS - 1)).expect("a block's number");
        if value.is_finite() {
            sums[block] += sign * value;
        }
    }
    Sketch { sums }
}

/// `SplitMix64` (Steele, Lea and Flood, 2014).
fn mixed(place: u64) -> u64 {
    let z = (place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn not_finite(values: &[f64]) -> NotFinite {
    let code = |value: &f64| match value {
        value if value.is_finite() => 0_u8,
        value if value.is_nan() => 1,
        value if *value > 0.0 => 2,
        _ => 3,
    };
    let codes: Vec<u8> = values.iter().map(code).collect();
    let mut counts = [0_u64; 4];
    for &code in &codes {
        counts[usize::from(code)] += 1;
    }
    let [_, nan, positive, negative] = counts;
    let pieces = codes.chunks(usize::try_from(PIECE).expect("a piece fits into memory"));
    let marked = pieces.enumerate().filter(|(_, piece)| piece.iter().any(|&code| code != 0));
    let bytes = marked.flat_map(|(number, piece)| {
        let start = format!("{}:", number as u64 * PIECE).into_bytes();
        start.into_iter().chain(piece.iter().copied())
    });
    NotFinite { nan, positive, negative, digest: digest(bytes) }
}

#[cfg(test)]
mod tests {
    use super::leaf;

    #[test]
    fn a_small_result_is_described_in_full_and_a_large_one_by_its_sums() {
        let small = leaf(&[1.0, f64::NAN, 3.0]);
        assert_eq!(small.values, [Some(1.0), None, Some(3.0)]);
        assert_eq!(small.not_finite.as_ref().map(|counts| counts.nan), Some(1));
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let large = leaf(&values);
        assert!(large.values.is_empty());
        let mut moved = values.clone();
        moved.swap(3, 700);
        assert_ne!(leaf(&moved).sketch, large.sketch);
    }

    /// The same values as in `python/tests/test_runner.py` for the Python side.
    #[test]
    fn elements_are_distributed_as_on_the_python_side() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let sums = leaf(&values).sketch.expect("it is large").sums;
        assert_eq!(sums[..4], [456.0, -3503.0, -110.0, -789.0], "{:?}", &sums[..4]);
    }
}
