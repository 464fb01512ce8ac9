//! Compares two signatures, argument by argument.

use firstlight_schema::trace::{Cause, CauseKind, Change};

/// An argument: its name, if known, and its type and shape as one text.
pub(super) struct Argument<'a> {
    pub(super) name: &'a str,
    pub(super) shape: &'a str,
}

const SHOWN: usize = 3;

/// Compares by position if both sides have the same number of arguments. Otherwise positions shift: only
/// arguments of the same name are compared, and a different number alone is not a cause.
pub(super) fn diff(before: &[Argument<'_>], after: &[Argument<'_>]) -> Cause {
    let counts_match = before.len() == after.len();
    let changes: Vec<Change> = after
        .iter()
        .enumerate()
        .filter_map(|(index, new)| {
            let old = if counts_match { before.get(index) } else { same_name(before, after, new) };
            let old = old.filter(|old| old.shape != new.shape)?;
            Some(Change {
                parameter: u32::try_from(index).unwrap_or(u32::MAX),
                name: (!new.name.is_empty()).then(|| new.name.to_owned()),
                before: old.shape.to_owned(),
                after: new.shape.to_owned(),
            })
        })
        .collect();
    let Some(first) = changes.first() else {
        return if counts_match { same(SAME) } else { other_count(before, after) };
    };
    let kind = kind(&first.before, &first.after);
    let mut text: Vec<String> = changes.iter().take(SHOWN).map(describe).collect();
    if changes.len() > SHOWN {
        text.push(format!("and {} more", changes.len() - SHOWN));
    }
    Cause { kind, text: text.join("; "), changes }
}

/// The argument of that name, if the name is unique on both sides.
fn same_name<'a, 'b>(
    before: &'b [Argument<'a>],
    after: &[Argument<'_>],
    wanted: &Argument<'_>,
) -> Option<&'b Argument<'a>> {
    let is_wanted = |one: &&Argument<'_>| !one.name.is_empty() && one.name == wanted.name;
    let mut found = before.iter().filter(is_wanted);
    let only = found.next().filter(|_| found.next().is_none())?;
    (after.iter().filter(is_wanted).count() == 1).then_some(only)
}

/// The number of arguments that the compiled program uses now, and those added or removed.
fn other_count(before: &[Argument<'_>], after: &[Argument<'_>]) -> Cause {
    let plural = if after.len() == 1 { "" } else { "s" };
    let mut text = format!(
        "the compiled program uses {} argument{plural} instead of {}",
        after.len(),
        before.len()
    );
    let missing = |here: &[Argument<'_>], there: &[Argument<'_>]| -> Vec<String> {
        let named = here.iter().filter(|own| !own.name.is_empty());
        let only_here = named.filter(|own| there.iter().all(|other| other.name != own.name));
        only_here.take(SHOWN).map(|own| format!("`{}` {}", own.name, own.shape)).collect()
    };
    for (verb, names) in
        [("now uses", missing(after, before)), ("no longer uses", missing(before, after))]
    {
        if !names.is_empty() {
            text = format!("{text}; it {verb} {}", names.join(", "));
        }
    }
    Cause { kind: CauseKind::ArgumentCount, text, changes: Vec::new() }
}

/// Whether the recording alone leaves several possible causes.
pub(super) fn is_open(kind: CauseKind) -> bool {
    matches!(kind, CauseKind::SameSignature | CauseKind::ArgumentCount)
}

fn describe(change: &Change) -> String {
    let name = change.name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
    format!("argument {}{name}: {} → {}", change.parameter, change.before, change.after)
}

pub(super) fn kind(before: &str, after: &str) -> CauseKind {
    let split = |text: &str| {
        let (element, rest) = text.split_once('[').unwrap_or((text, ""));
        let dimensions = rest.trim_end_matches(']');
        let rank = if dimensions.is_empty() { 0 } else { dimensions.split(',').count() };
        (element.to_owned(), rank)
    };
    let ((old_type, old_rank), (new_type, new_rank)) = (split(before), split(after));
    if old_type != new_type {
        CauseKind::Type
    } else if old_rank != new_rank {
        CauseKind::Rank
    } else {
        CauseKind::Shape
    }
}

/// The remaining causes if the arguments in the program are the same.
const SAME: &str = "the arguments that the program uses are the same";

/// The arguments of the program are the same; lists the remaining possible causes.
pub(super) fn same(text: &str) -> Cause {
    Cause { kind: CauseKind::SameSignature, text: text.to_owned(), changes: Vec::new() }
}

pub(super) fn unknown(text: &str) -> Cause {
    Cause { kind: CauseKind::Unknown, text: format!("unknown: {text}"), changes: Vec::new() }
}

pub(super) fn first_use() -> Cause {
    let text = "first use in the recording".to_owned();
    Cause { kind: CauseKind::FirstUse, text, changes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::trace::CauseKind;

    use super::{Argument, diff};

    fn unnamed<'a>(shapes: &'a [&'a str]) -> Vec<Argument<'a>> {
        shapes.iter().map(|shape| Argument { name: "", shape }).collect()
    }

    #[test]
    fn a_changed_argument_is_named_with_the_kind_of_change() {
        let kinds = [
            (&["f32[64,128]"][..], &["f32[65,128]"][..], CauseKind::Shape),
            (&["f32[64]"], &["bf16[64]"], CauseKind::Type),
            (&["f32[64]"], &["f32[64,1]"], CauseKind::Rank),
            (&["f32[]"], &["f32[]", "f32[]"], CauseKind::ArgumentCount),
            (&["f32[]"], &["f32[]"], CauseKind::SameSignature),
        ];
        for (before, after, kind) in kinds {
            assert_eq!(diff(&unnamed(before), &unnamed(after)).kind, kind, "{before:?} {after:?}");
        }
        let cause =
            diff(&unnamed(&["f32[1]", "f32[64,128]"]), &unnamed(&["f32[1]", "f32[65,128]"]));
        assert_eq!(cause.text, "argument 1: f32[64,128] → f32[65,128]");
    }

    fn named<'a>(arguments: &[(&'a str, &'a str)]) -> Vec<Argument<'a>> {
        arguments.iter().map(|&(name, shape)| Argument { name, shape }).collect()
    }

    #[test]
    fn another_number_of_arguments_does_not_shift_shapes_onto_others() {
        let before = named(&[("bias", "f32[8]"), ("x", "f32[4,8]")]);
        let after = named(&[("x", "f32[4,8]")]);
        let cause = diff(&before, &after);
        assert_eq!((cause.kind, cause.changes.len()), (CauseKind::ArgumentCount, 0));
        assert_eq!(
            cause.text,
            "the compiled program uses 1 argument instead of 2; it no longer uses `bias` f32[8]"
        );
        assert!(diff(&after, &before).text.ends_with("it now uses `bias` f32[8]"));
        // An argument of the same name with another shape is the cause, whatever other arguments were added
        // or removed.
        let cause = diff(&before, &named(&[("x", "f32[5,8]")]));
        assert_eq!(cause.text, "argument 0 `x`: f32[4,8] → f32[5,8]");
        // Arguments without names cannot be compared.
        let cause = diff(&unnamed(&["f32[8]", "f32[4]"]), &unnamed(&["f32[4]"]));
        assert_eq!((cause.kind, cause.changes.len()), (CauseKind::ArgumentCount, 0));
    }
}
