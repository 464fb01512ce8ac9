//! Sizes and element types of a case's arrays, as reported by the runners.

use std::collections::BTreeSet;

use firstlight_schema::message::{ArrayCount, Message, Output};
use firstlight_schema::run::{ArmResult, CaseResult};

use super::format::{count, rate};

/// Arms with the same sizes and types, and these as text. Skips arms whose runner reports none.
pub fn arrays(case: &CaseResult) -> Vec<(String, String)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for arm in &case.arms {
        let Some(words) = words(arm) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, arms)) => arms.push(&arm.name),
            None => groups.push((words, vec![&arm.name])),
        }
    }
    groups.into_iter().map(|(words, arms)| (arms.join(", "), words)).collect()
}

/// `124M parameters (float32), inputs of 1.02k numbers in 2 arrays (int32), results float32`.
fn words(arm: &ArmResult) -> Option<String> {
    let counted = |output: &&Output| !output.parameters.is_empty() || !output.inputs.is_empty();
    let counts = outputs(arm).find(counted);
    let parameters = counts.map_or(&[][..], |output| &output.parameters);
    let inputs = counts.map_or(&[][..], |output| &output.inputs);
    let mut parts = Vec::new();
    if !parameters.is_empty() {
        parts.push(format!("{} parameters ({})", elements(parameters), types(parameters)));
    }
    if !inputs.is_empty() {
        let arrays = count(inputs.iter().map(|one| one.arrays).sum(), "array");
        let (elements, types) = (elements(inputs), types(inputs));
        parts.push(format!("inputs of {elements} numbers in {arrays} ({types})"));
    }
    let result = outputs(arm).find(|output| !output.leaves.is_empty());
    if let Some(output) = result {
        let types: BTreeSet<&str> = output.leaves.iter().map(|leaf| leaf.dtype.as_str()).collect();
        parts.push(format!("results {}", Vec::from_iter(types).join(" and ")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn outputs(arm: &ArmResult) -> impl Iterator<Item = &Output> {
    let messages = arm.regimes.iter().flat_map(|regime| &regime.samples);
    messages.flat_map(|sample| &sample.raw.messages).filter_map(|message| match message {
        Message::Output(output) => Some(output),
        _ => None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn elements(counts: &[ArrayCount]) -> String {
    match counts.iter().map(|one| one.elements).sum::<u64>() {
        few @ ..10_000 => few.to_string(),
        many => rate(many as f64),
    }
}

fn types(counts: &[ArrayCount]) -> String {
    counts.iter().map(|one| one.dtype.as_str()).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::{ArrayCount, elements, types};

    #[test]
    fn small_numbers_are_exact_and_large_ones_have_three_digits() {
        let counted =
            |dtype: &str, elements| ArrayCount { dtype: dtype.to_owned(), arrays: 1, elements };
        assert_eq!(elements(&[counted("float32", 1_020)]), "1020");
        assert_eq!(elements(&[counted("float32", 124_000_000), counted("int32", 439_808)]), "124M");
        assert_eq!(types(&[counted("bfloat16", 1), counted("float32", 1)]), "bfloat16 and float32");
    }
}
