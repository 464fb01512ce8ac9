//! The distance between two arrays of results: by all elements of small ones, by sketches of larger ones.
//!
//! A sketch's sums differ by Δₖ. Where all elements differ a little, by ε at random, each Δₖ is about ε √m
//! with m elements in a block, and the largest of n differences about ε √(2 ln n). Where single elements
//! differ, their blocks stand out: a block further than six typical deviations away holds a difference as
//! large as its own Δₖ. The deviation is 1.4826 times the median of |Δₖ|, which is robust against a few such
//! blocks.

use firstlight_schema::message::{Leaf, NotFinite, Sketch};

/// Blocks further away than this many deviations contain an element that stands out.
const STANDS_OUT: f64 = 6.0;
/// The ratio of the deviation to the median absolute deviation for normal values.
const NORMAL: f64 = 1.4826;

/// The largest difference, relative to the arrays' size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Distance {
    pub(crate) relative: f64,
    /// Whether all elements were compared, and not only some.
    pub(crate) from_all: bool,
}

/// The kind of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Floating,
    Complex,
    Integer,
    Boolean,
    Other,
}

pub(crate) fn kind(dtype: &str) -> Kind {
    match dtype.strip_prefix("python ").unwrap_or(dtype) {
        name if name.contains("float") => Kind::Floating,
        name if name.contains("complex") => Kind::Complex,
        name if name.contains("bool") => Kind::Boolean,
        name if name.contains("int") => Kind::Integer,
        _ => Kind::Other,
    }
}

/// A shape as NumPy and JAX print one, such as `[2, 3]`.
fn shape(lengths: &[u64]) -> String {
    let lengths: Vec<String> = lengths.iter().map(u64::to_string).collect();
    format!("[{}]", lengths.join(", "))
}

/// The distance of two arrays; the difference as text if no number describes it.
pub(crate) fn distance(a: &Leaf, b: &Leaf) -> Result<Distance, String> {
    if a.shape != b.shape {
        let (ours, theirs) = (shape(&a.shape), shape(&b.shape));
        return Err(format!("has shape {ours}, the reference's has {theirs}"));
    }
    if kind(&a.dtype) != kind(&b.dtype) {
        return Err(format!("is {}, the reference's is {}", a.dtype, b.dtype));
    }
    if a.digest.is_some() && a.digest == b.digest && a.dtype == b.dtype {
        return Ok(Distance { relative: 0.0, from_all: true });
    }
    same_not_finite(a.not_finite.as_ref(), b.not_finite.as_ref())?;
    match kind(&a.dtype) {
        Kind::Floating | Kind::Complex => floating(a, b),
        Kind::Integer | Kind::Boolean | Kind::Other => exact(a, b),
    }
}

/// Integers and other exact values are either equal or not. With another width they have another digest, but
/// the same sums.
fn exact(a: &Leaf, b: &Leaf) -> Result<Distance, String> {
    let known = a.dtype != b.dtype && (a.sketch.is_some() || !a.values.is_empty());
    if known && a.sketch == b.sketch && a.values == b.values {
        return Ok(Distance { relative: 0.0, from_all: is_complete(a) });
    }
    Err(format!("holds other values ({}, {})", a.dtype, b.dtype))
}

fn same_not_finite(a: Option<&NotFinite>, b: Option<&NotFinite>) -> Result<(), String> {
    if a == b {
        return Ok(());
    }
    let described = |one: Option<&NotFinite>| {
        one.map_or_else(
            || "none".to_owned(),
            |one| format!("{} NaN, {} +inf, {} -inf", one.nan, one.positive, one.negative),
        )
    };
    let (ours, theirs) = (described(a), described(b));
    Err(if ours == theirs {
        format!("has elements that are not finite in other places ({ours})")
    } else {
        format!("has elements that are not finite: {ours}; the reference's: {theirs}")
    })
}

/// Whether a leaf's description covers all its elements.
fn is_complete(leaf: &Leaf) -> bool {
    leaf.sketch.is_some() || leaf.values.len() as u64 == elements(leaf)
}

/// The number of numbers in an array; complex elements count twice.
fn elements(leaf: &Leaf) -> u64 {
    let parts = if kind(&leaf.dtype) == Kind::Complex { 2 } else { 1 };
    leaf.shape.iter().product::<u64>() * parts
}

fn floating(a: &Leaf, b: &Leaf) -> Result<Distance, String> {
    let size = |leaf: &Leaf| leaf.norm.unwrap_or(0.0).abs();
    let scale = size(a).max(size(b)).max(f64::MIN_POSITIVE);
    let mut largest = (size(a) - size(b)).abs();
    if let (Some(ours), Some(theirs)) = (&a.sketch, &b.sketch) {
        largest = largest.max(apart(ours, theirs, elements(a))?);
        return Ok(Distance { relative: largest / scale, from_all: true });
    }
    for pair in a.values.iter().zip(&b.values) {
        match pair {
            (Some(a), Some(b)) => largest = largest.max((a - b).abs()),
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => {
                return Err("is finite on one side only".to_owned());
            }
        }
    }
    let from_all = is_complete(a) && is_complete(b) && a.values.len() == b.values.len();
    Ok(Distance { relative: largest / scale, from_all })
}

/// The largest difference of two arrays' elements, from their sketches.
#[expect(clippy::cast_precision_loss, reason = "counts of elements and blocks")]
fn apart(a: &Sketch, b: &Sketch, elements: u64) -> Result<f64, String> {
    if a.sums.len() != b.sums.len() || a.sums.is_empty() {
        return Err("is described in another way".to_owned());
    }
    let differences: Vec<f64> = a.sums.iter().zip(&b.sums).map(|(a, b)| (a - b).abs()).collect();
    let largest = differences.iter().copied().fold(0.0, f64::max);
    let mut sorted = differences;
    sorted.sort_unstable_by(f64::total_cmp);
    let deviation = NORMAL * crate::stats::middle(&sorted);
    let n = elements.max(2) as f64;
    let in_block = n / sorted.len() as f64;
    let dense = deviation / in_block.sqrt() * (2.0 * n.ln()).sqrt();
    Ok(if largest > STANDS_OUT * deviation { largest.max(dense) } else { dense })
}

#[cfg(test)]
mod tests {
    use firstlight_schema::message::{Leaf, Sketch};

    use super::{Distance, distance};

    /// A leaf of a million numbers with these sums.
    fn large(sums: Vec<f64>) -> Leaf {
        Leaf {
            dtype: "float32".to_owned(),
            digest: None,
            shape: vec![1_000_000],
            path: None,
            norm: Some(1.0),
            values: Vec::new(),
            sketch: Some(Sketch { sums }),
            not_finite: None,
        }
    }

    fn relative(a: &Leaf, b: &Leaf) -> f64 {
        let Distance { relative, from_all } = distance(a, b).unwrap();
        assert!(from_all);
        relative
    }

    #[test]
    fn one_element_that_differs_shows_its_own_difference() {
        let sums: Vec<f64> = (0..64).map(|k| f64::from(k * k % 17)).collect();
        let mut other = sums.clone();
        other[40] += 1e-3;
        let found = relative(&large(sums), &large(other));
        assert!((found - 1e-3).abs() < 1e-9, "{found}");
    }

    #[test]
    fn small_differences_everywhere_are_not_reported_as_a_large_one() {
        let sums: Vec<f64> = (0..64).map(|k| f64::from(k * k % 17)).collect();
        // A million differences of 1e-6 give sums that differ by 1.2e-4.
        let wave = |k: usize| 1.25e-4 * [1.0, -0.5, 0.8, -1.3, 0.2, -0.9, 1.1, -0.3][k % 8];
        let other: Vec<f64> = sums.iter().enumerate().map(|(k, sum)| sum + wave(k)).collect();
        let found = relative(&large(sums.clone()), &large(other.clone()));
        assert!(found > 2e-6 && found < 1e-5, "{found}");
        let mut wrong = other;
        wrong[7] += 0.01;
        assert!(relative(&large(sums), &large(wrong)) > 0.009);
    }
}
