//! Whether an arm's results agree with those of the reference arm, and have the requested type.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Message, Output};
use firstlight_schema::run::{Agreed, ArmResult, RunOptions};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Agreement, Regime};

use crate::leaves::{Distance, Kind, distance, kind};

/// Compares the results of two arms in every regime that both have; the worst one counts.
pub(crate) fn agreement(arm: &ArmResult, reference: &ArmResult, options: &RunOptions) -> Agreed {
    if arm.name == reference.name {
        return stable(arm, options).unwrap_or(Agreed::Reference);
    }
    compare_arms(arm, reference, options)
}

/// The same for any two arms.
pub(crate) fn compare_arms(arm: &ArmResult, reference: &ArmResult, options: &RunOptions) -> Agreed {
    if options.outputs == Agreement::Unchecked {
        return not_compared("the suite does not compare results");
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
        .unwrap_or_else(|| not_compared("one of the two arms has no result"))
}

/// Whether an arm's own results are the same in all processes.
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

fn not_compared(why: &str) -> Agreed {
    Agreed::NotCompared { why: why.to_owned() }
}

/// The severity of an outcome; the most severe one counts.
fn badness(agreed: &Agreed) -> f64 {
    match agreed {
        Agreed::Reference => -2.0,
        Agreed::Equal => -1.0,
        Agreed::Close { difference } => difference.min(1.0),
        Agreed::Sampled { difference } => 1.0 + difference.min(1.0) / 2.0,
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
        | Agreed::Sampled { .. }
        | Agreed::NotCompared { .. }) => other,
    }
}

/// The last result of each valid process.
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
            _ => not_compared("a result cannot be read to the last bit"),
        };
    }
    if let Some(how) = other_structure(found, expected) {
        return differs(how);
    }
    if found.leaves.is_empty() {
        return not_compared("the results cannot be read");
    }
    let mut largest = 0.0_f64;
    let mut sampled = false;
    for (place, (a, b)) in found.leaves.iter().zip(&expected.leaves).enumerate() {
        let named = || match b.path.as_deref() {
            Some(path) if !path.is_empty() => format!("the array {path}"),
            _ => format!("array {place}"),
        };
        match distance(a, b) {
            Ok(Distance { relative, from_all }) => {
                sampled |= !from_all;
                if relative > options.tolerance {
                    return differs(format!(
                        "{} differs by {relative:.1e} of its size, {:.1e} is allowed",
                        named(),
                        options.tolerance
                    ));
                }
                largest = largest.max(relative);
            }
            Err(how) => return differs(format!("{} {how}", named())),
        }
    }
    if found.digest.is_none() || expected.digest.is_none() || found.unread + expected.unread > 0 {
        return not_compared("a part of the results cannot be read");
    }
    if sampled {
        return Agreed::Sampled { difference: largest };
    }
    Agreed::Close { difference: largest }
}

/// The difference in the structure of two results, if there is one.
fn other_structure(found: &Output, expected: &Output) -> Option<String> {
    let count = |output: &Output| output.leaves.len() as u64 + output.unread;
    let (a, b) = (count(found), count(expected));
    if a != b {
        return Some(format!("the result has {a} arrays, the reference's has {b}"));
    }
    let pairs = found.leaves.iter().zip(&expected.leaves);
    let paths = pairs.map(|(a, b)| (a.path.as_deref(), b.path.as_deref()));
    let (ours, theirs) = paths.filter_map(|(a, b)| a.zip(b)).find(|(a, b)| a != b)?;
    Some(format!("the result has {ours} where the reference's has {theirs}"))
}

/// A result whose floating-point type is not the one that the suite requests.
pub(crate) fn asked_precision(arm: &ArmResult, options: &RunOptions) -> Option<Reason> {
    let asked = options.precision.as_ref()?;
    let found = floating_types(arm)?;
    let wrong = found.iter().find(|kind| *kind != asked)?;
    let text = format!("{asked} was requested, the result is {wrong}");
    Some(Reason::new(Finding::PrecisionDiffers, text))
}

/// A result whose floating-point type is not that of the reference.
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

/// The floating-point types of an arm's result; for complex numbers the type of their parts. A Python number
/// does not show the type of its computation.
fn floating_types(arm: &ArmResult) -> Option<Vec<String>> {
    let output = arm.regimes.iter().find_map(|regime| outputs(&regime.samples).next())?;
    let mut types: Vec<String> = output
        .leaves
        .iter()
        .filter(|leaf| matches!(kind(&leaf.dtype), Kind::Floating | Kind::Complex))
        .filter(|leaf| !leaf.dtype.starts_with("python"))
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
