//! Whether an arm's results are those of the reference arm, and of the type that was asked for.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Leaf, Message, Output};
use firstlight_schema::run::{Agreed, ArmResult, RunOptions};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Agreement, Regime};

/// Compares the results of two arms in every regime that both have; the worst one counts.
pub(crate) fn agreement(arm: &ArmResult, reference: &ArmResult, options: &RunOptions) -> Agreed {
    if arm.name == reference.name {
        return stable(arm, options).unwrap_or(Agreed::Reference);
    }
    compare_arms(arm, reference, options)
}

/// The same for any two arms, be they of different results.
pub(crate) fn compare_arms(arm: &ArmResult, reference: &ArmResult, options: &RunOptions) -> Agreed {
    if options.outputs == Agreement::Unchecked {
        return not("the suite does not compare results");
    }
    let found = arm.regimes.iter().filter_map(|regime| {
        let other = reference.regimes.iter().find(|known| known.regime == regime.regime)?;
        let expected = outputs(&other.samples).next()?;
        let worst = outputs(&regime.samples)
            .map(|output| compare(output, expected, options))
            .max_by(|a, b| badness(a).total_cmp(&badness(b)))?;
        Some(in_regime(worst, regime.regime))
    });
    found
        .chain(stable(reference, options))
        .max_by(|a, b| badness(a).total_cmp(&badness(b)))
        .unwrap_or_else(|| not("one of the two arms has no result"))
}

/// Whether an arm's own results differ from process to process.
fn stable(arm: &ArmResult, options: &RunOptions) -> Option<Agreed> {
    arm.regimes.iter().find_map(|regime| {
        let first = outputs(&regime.samples).next()?;
        let differs =
            |output: &Output| matches!(compare(output, first, options), Agreed::Differs { .. });
        outputs(&regime.samples).any(differs).then(|| Agreed::Differs {
            how: format!(
                "{} differs from itself from process to process, {}",
                arm.name, regime.regime
            ),
        })
    })
}

fn not(why: &str) -> Agreed {
    Agreed::NotCompared { why: why.to_owned() }
}

/// The order in which answers outweigh each other.
fn badness(of: &Agreed) -> f64 {
    match of {
        Agreed::Reference => -2.0,
        Agreed::Equal => -1.0,
        Agreed::Close { difference } => difference.min(1.0),
        Agreed::NotCompared { .. } => 2.0,
        Agreed::Differs { .. } => 3.0,
    }
}

fn in_regime(agreed: Agreed, regime: Regime) -> Agreed {
    match agreed {
        Agreed::Differs { how } => Agreed::Differs { how: format!("{how} ({regime})") },
        other @ (Agreed::Reference
        | Agreed::Equal
        | Agreed::Close { .. }
        | Agreed::NotCompared { .. }) => other,
    }
}

/// What the samples that count returned: of each process its last result.
fn outputs(samples: &[Sample]) -> impl Iterator<Item = &Output> {
    samples.iter().filter(|sample| sample.valid).filter_map(|sample| {
        sample.raw.messages.iter().rev().find_map(|message| match message {
            Message::Output(output) => Some(output),
            _ => None,
        })
    })
}

fn compare(found: &Output, expected: &Output, options: &RunOptions) -> Agreed {
    if found.digest.is_some() && found.digest == expected.digest {
        return Agreed::Equal;
    }
    let differs = |how: String| Agreed::Differs { how };
    if options.outputs == Agreement::Equal {
        return match (&found.digest, &expected.digest) {
            (Some(_), Some(_)) => differs("the results are not equal to the last bit".to_owned()),
            _ => not("a result cannot be read to the last bit"),
        };
    }
    if found.leaves.len() != expected.leaves.len() {
        let (a, b) = (found.leaves.len(), expected.leaves.len());
        return differs(format!("the result has {a} arrays, the reference's has {b}"));
    }
    if found.leaves.is_empty() {
        return not("the results cannot be read");
    }
    let mut largest = 0.0_f64;
    for (place, (a, b)) in found.leaves.iter().zip(&expected.leaves).enumerate() {
        match distance(a, b) {
            Ok(distance) => largest = largest.max(distance),
            Err(how) => return differs(format!("array {place} {how}")),
        }
    }
    if largest > options.tolerance {
        return differs(format!(
            "the results differ by {largest:.1e} of their size, {:.1e} is allowed",
            options.tolerance
        ));
    }
    if found.digest.is_none() || expected.digest.is_none() {
        return not("a part of the results cannot be read");
    }
    Agreed::Close { difference: largest }
}

/// The largest difference of two arrays' values, relative to the arrays' size; how they differ
/// where no size can be given to it.
fn distance(a: &Leaf, b: &Leaf) -> Result<f64, String> {
    if a.shape != b.shape {
        return Err(format!("has shape {:?}, not {:?}", a.shape, b.shape));
    }
    if a.digest.is_some() && a.digest == b.digest {
        return Ok(0.0);
    }
    if !(is_floating(a) || is_floating(b)) {
        // Numbers that count or name something are the same or they are not.
        return if a.values == b.values && a.norm == b.norm && !a.values.is_empty() {
            Ok(0.0)
        } else {
            Err(format!("holds other values ({}, {})", a.dtype, b.dtype))
        };
    }
    let size = |leaf: &Leaf| leaf.norm.unwrap_or(0.0).abs();
    let scale = size(a).max(size(b)).max(f64::MIN_POSITIVE);
    let norms = [(a.norm, b.norm)];
    let values = a.values.iter().copied().zip(b.values.iter().copied());
    let mut largest = 0.0_f64;
    for pair in norms.into_iter().chain(values) {
        match pair {
            (Some(a), Some(b)) => largest = largest.max((a - b).abs() / scale),
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => {
                return Err("is finite on one side only".to_owned());
            }
        }
    }
    Ok(largest)
}

fn is_floating(leaf: &Leaf) -> bool {
    leaf.dtype.contains("float") || leaf.dtype.contains("complex")
}

/// A result of another floating-point type than the suite asks for.
pub(crate) fn asked_precision(arm: &ArmResult, options: &RunOptions) -> Option<Reason> {
    let asked = options.precision.as_ref()?;
    let found = floating_types(arm)?;
    let wrong = found.iter().find(|kind| *kind != asked)?;
    let text = format!("{asked} was asked for, the result is {wrong}");
    Some(Reason::new(Finding::PrecisionDiffers, text))
}

/// A result of another floating-point type than the reference has.
pub(crate) fn other_precision(arm: &ArmResult, reference: &ArmResult) -> Option<Reason> {
    let (found, expected) = (floating_types(arm)?, floating_types(reference)?);
    (found != expected && !found.is_empty() && !expected.is_empty()).then(|| {
        let text = format!(
            "the result is {}, the reference's ({}) is {}",
            found.join(" and "),
            reference.name,
            expected.join(" and "),
        );
        Reason::new(Finding::PrecisionDiffers, text)
    })
}

/// The floating-point types of an arm's result, of complex numbers that of their parts. A number of
/// Python's own says nothing of what it was computed with.
fn floating_types(arm: &ArmResult) -> Option<Vec<String>> {
    let output = arm.regimes.iter().find_map(|regime| outputs(&regime.samples).next())?;
    let mut types: Vec<String> = output
        .leaves
        .iter()
        .filter(|leaf| is_floating(leaf) && !leaf.dtype.starts_with("python"))
        .map(|leaf| match leaf.dtype.as_str() {
            "complex64" => "float32".to_owned(),
            "complex128" => "float64".to_owned(),
            kind => kind.to_owned(),
        })
        .collect();
    types.sort();
    types.dedup();
    Some(types)
}
