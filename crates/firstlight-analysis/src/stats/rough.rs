//! Rough prices of many segments that end at the same place, in lanes that the processor can take at once.
//!
//! The price is that of `pelt.rs` with a logarithm of limited precision: the variance comes from the same
//! operations and has the same bits. ln x = e ln 2 + ln m with m in [√½, √2), and
//! ln m = 2 artanh s = 2 (s + s³/3 + s⁵/5 + s⁷/7 + …) with s = (m − 1) / (m + 1).

/// The end of the last segment, and the sums up to it.
pub(super) struct End {
    pub(super) at: f64,
    pub(super) sum: f64,
    pub(super) squares: f64,
    pub(super) floor: f64,
    /// The largest size of a cost before a place.
    pub(super) largest: f64,
}

/// Places in a row that are searched together.
const CHUNK: usize = 16;
/// The terms left out are below 2 s⁹ / (9 (1 − s²)) with |s| ≤ 0.1716.
const ERROR_OF_LOGARITHM: f64 = 3.2e-8;
/// No logarithm of a number is larger.
const LARGEST_LOGARITHM: f64 = 745.0;
/// Far more than what rounding adds to a price, relative to its parts.
const ROUNDING: f64 = 1e-11;

const MANTISSA: u32 = 52;
const BIAS: u64 = 1023 << MANTISSA;
/// The bits of the square root of one half.
const LOWEST: u64 = 0x3FE6_A09E_667F_3BCD;
/// The bits of 2⁵²: a small integer in their last places is a number above it.
const SHIFT: u64 = 0x4330_0000_0000_0000;

/// Where each place is, the sums of values and of squares up to it, and the cost of all before it.
pub(super) type Columns<'a> = (&'a [f64], &'a [f64], &'a [f64], &'a [f64]);

/// The prices of all places, and by how much one may be wrong at most.
pub(super) fn prices(end: &End, columns: Columns<'_>, prices: &mut [f64]) -> f64 {
    let (at, sums, squares, before) = columns;
    let rows = at.iter().zip(sums).zip(squares).zip(before).zip(prices);
    for ((((at, sum), squares), before), price) in rows {
        let length = end.at - at;
        let mean = (end.sum - sum) / length;
        let variance = (end.squares - squares) / length - mean * mean;
        let variance = if variance > end.floor { variance } else { end.floor };
        *price = before + length * logarithm(variance);
    }
    let longest = at.first().map_or(0.0, |at| end.at - at);
    longest * ERROR_OF_LOGARITHM + (longest * LARGEST_LOGARITHM + end.largest) * ROUNDING
}

/// For positive normal numbers.
#[expect(clippy::inline_always, reason = "a call would keep the loop around it out of lanes")]
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = bits.wrapping_add(BIAS - LOWEST) >> MANTISSA;
    let m = f64::from_bits(bits.wrapping_sub(exponent << MANTISSA).wrapping_add(BIAS));
    let exponent = f64::from_bits(exponent | SHIFT) - (f64::from_bits(SHIFT) + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let series = 1.0 + square * (1.0 / 3.0 + square * (0.2 + square * (1.0 / 7.0)));
    exponent * std::f64::consts::LN_2 + 2.0 * s * series
}

/// The lowest price; infinite if there is none.
pub(super) fn least(prices: &[f64]) -> f64 {
    let lower = |least: f64, price: f64| if price < least { price } else { least };
    let mut lanes = [f64::INFINITY; CHUNK];
    let (chunks, rest) = prices.as_chunks::<CHUNK>();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, price)| *lane = lower(*lane, *price));
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(f64::INFINITY, lower)
}

/// The rows with prices up to a limit, in order.
pub(super) fn up_to(prices: &[f64], limit: f64) -> impl Iterator<Item = usize> {
    rows(prices, move |price| price <= limit)
}

/// The rows with prices above a limit, in order.
pub(super) fn above(prices: &[f64], limit: f64) -> impl Iterator<Item = usize> {
    rows(prices, move |price| price > limit)
}

/// Most chunks have no such row, and are left at once.
fn rows(prices: &[f64], wanted: impl Fn(f64) -> bool + Copy) -> impl Iterator<Item = usize> {
    prices.chunks(CHUNK).enumerate().flat_map(move |(number, chunk)| {
        let any = chunk.iter().fold(false, |any, price| any | wanted(*price));
        let chunk = if any { chunk } else { &[] };
        let row = move |(i, price): (usize, &f64)| wanted(*price).then_some(number * CHUNK + i);
        chunk.iter().enumerate().filter_map(row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_as_precise_as_stated() {
        for x in
            [f64::MIN_POSITIVE, 1e-300, 0.5, 0.706, 0.708, 1.0, 1.414, 1.415, 3.0, 1e17, f64::MAX]
                .into_iter()
                .chain((1..4000).map(|i| 1.002_f64.powi(i)))
        {
            let rounding = 1e-14 * x.ln().abs();
            assert!((logarithm(x) - x.ln()).abs() <= ERROR_OF_LOGARITHM + rounding, "{x}");
        }
    }

    #[test]
    fn rows_are_found_in_order() {
        let prices: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 100)).collect();
        assert!((least(&prices) - 0.0).abs() < f64::EPSILON);
        let found: Vec<usize> = up_to(&prices, 3.0).collect();
        let expected: Vec<usize> = (0..100).filter(|&i| prices[i] <= 3.0).collect();
        assert_eq!(found, expected);
        assert_eq!(above(&prices, 97.0).count(), 2);
        assert!(least(&[]).is_infinite());
    }
}
