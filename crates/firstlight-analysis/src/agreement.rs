//! Whether an arm's results are those of the reference arm, and of the type that was asked for.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Leaf, Message, Output};
use firstlight_schema::run::{Agreed, ArmResult, RunOptions};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Agreement;

/// Compares the results of two arms in the first regime where both have one.
pub(crate) fn agreement(arm: &ArmResult, reference: &ArmResult, options: &RunOptions) -> Agreed {
    if arm.name == reference.name {
        return Agreed::Reference;
    }
    compare_arms(arm, reference, options)
}

/// The same for any two arms, be they of different results.
pub(crate) fn compare_arms(arm: &ArmResult, reference: &ArmResult, options: &RunOptions) -> Agreed {
    let not = |why: &str| Agreed::NotCompared { why: why.to_owned() };
    if options.outputs == Agreement::Unchecked {
        return not("the suite does not compare results");
    }
    match common(arm, reference) {
        Some((found, expected)) => compare(found, expected, options),
        None => not("one of the two arms has no result that can be read"),
    }
}

/// Outputs of the two arms in the same regime.
fn common<'a>(arm: &'a ArmResult, reference: &'a ArmResult) -> Option<(&'a Output, &'a Output)> {
    arm.regimes.iter().find_map(|regime| {
        let other = reference.regimes.iter().find(|known| known.regime == regime.regime)?;
        Some((output(&regime.samples)?, output(&other.samples)?))
    })
}

/// The last readable result of any sample that completed.
fn output(samples: &[Sample]) -> Option<&Output> {
    samples.iter().flat_map(|sample| &sample.raw.messages).rev().find_map(|message| match message {
        Message::Output(output) if output.digest.is_some() || !output.leaves.is_empty() => {
            Some(output)
        }
        _ => None,
    })
}

fn compare(found: &Output, expected: &Output, options: &RunOptions) -> Agreed {
    if found.digest.is_some() && found.digest == expected.digest {
        return Agreed::Equal;
    }
    let differs = |how: String| Agreed::Differs { how };
    if options.outputs == Agreement::Equal {
        return differs("the results are not equal to the last bit".to_owned());
    }
    if found.leaves.is_empty() && expected.leaves.is_empty() {
        return differs("the results have different digests".to_owned());
    }
    if found.leaves.len() != expected.leaves.len() {
        let (a, b) = (found.leaves.len(), expected.leaves.len());
        return differs(format!("the result has {a} arrays, the reference's has {b}"));
    }
    let mut largest = 0.0_f64;
    for (place, (a, b)) in found.leaves.iter().zip(&expected.leaves).enumerate() {
        if a.shape != b.shape {
            return differs(format!("array {place} has shape {:?}, not {:?}", a.shape, b.shape));
        }
        match distance(a, b) {
            Some(distance) => largest = largest.max(distance),
            None => return differs(format!("array {place} is not finite on one side only")),
        }
    }
    if largest <= options.tolerance {
        return Agreed::Close { difference: largest };
    }
    differs(format!(
        "the results differ by {largest:.1e} of their size, {:.1e} is allowed",
        options.tolerance
    ))
}

/// The largest difference of two arrays' values, relative to the arrays' size.
fn distance(a: &Leaf, b: &Leaf) -> Option<f64> {
    let size = |leaf: &Leaf| leaf.norm.unwrap_or(0.0).abs();
    let scale = size(a).max(size(b)).max(f64::MIN_POSITIVE);
    let norms = [(a.norm, b.norm)];
    let values = a.values.iter().copied().zip(b.values.iter().copied());
    let mut largest = 0.0_f64;
    for pair in norms.into_iter().chain(values) {
        match pair {
            (Some(a), Some(b)) => largest = largest.max((a - b).abs() / scale),
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => return None,
        }
    }
    Some(largest)
}

/// Results of another floating-point type than the suite asks for, or than the reference has.
pub(crate) fn precision(
    arm: &ArmResult,
    reference: &ArmResult,
    options: &RunOptions,
) -> Option<Reason> {
    let of = |arm: &ArmResult| {
        arm.regimes.iter().find_map(|regime| output(&regime.samples)).map(floating_types)
    };
    let found = of(arm)?;
    if let Some(asked) = &options.precision {
        let wrong = found.iter().find(|kind| *kind != asked)?;
        let text = format!("{asked} was asked for, the result is {wrong}");
        return Some(Reason::new(Finding::PrecisionDiffers, text));
    }
    let expected = of(reference)?;
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

/// The floating-point types of a result; a number of Python's is taken for what it is used as.
fn floating_types(output: &Output) -> Vec<String> {
    let mut types: Vec<String> = output
        .leaves
        .iter()
        .map(|leaf| leaf.dtype.as_str())
        .filter(|kind| kind.contains("float") || kind.contains("complex"))
        .map(|kind| if kind == "python float" { "float64" } else { kind }.to_owned())
        .collect();
    types.sort();
    types.dedup();
    types
}
