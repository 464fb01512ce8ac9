//! Two signatures, argument by argument.

use firstlight_schema::trace::{Cause, CauseKind, Change};

/// An argument: its name, where known, and its type and shape as one text.
pub(super) struct Argument<'a> {
    pub(super) name: &'a str,
    pub(super) shape: &'a str,
}

const SHOWN: usize = 3;

pub(super) fn diff(before: &[Argument<'_>], after: &[Argument<'_>]) -> Cause {
    let changes: Vec<Change> = before
        .iter()
        .zip(after)
        .zip(0..)
        .filter(|((old, new), _)| old.shape != new.shape)
        .map(|((old, new), parameter)| Change {
            parameter,
            name: (!new.name.is_empty()).then(|| new.name.to_owned()),
            before: old.shape.to_owned(),
            after: new.shape.to_owned(),
        })
        .collect();
    if before.len() != after.len() {
        let text = format!("{} arguments instead of {}", after.len(), before.len());
        return Cause { kind: CauseKind::ArgumentCount, text, changes };
    }
    let Some(first) = changes.first() else { return same(SAME) };
    let kind = kind(&first.before, &first.after);
    let mut text: Vec<String> = changes.iter().take(SHOWN).map(told).collect();
    if changes.len() > SHOWN {
        text.push(format!("and {} more", changes.len() - SHOWN));
    }
    Cause { kind, text: text.join("; "), changes }
}

fn told(change: &Change) -> String {
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

/// What is left where the arguments in the program are the same.
const SAME: &str = "the arguments that the program uses are the same";

/// The arguments of the program are the same; what remains possible, in words.
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

    fn of<'a>(shapes: &'a [&'a str]) -> Vec<Argument<'a>> {
        shapes.iter().map(|shape| Argument { name: "", shape }).collect()
    }

    #[test]
    fn the_argument_that_changed_is_named_with_the_kind_of_change() {
        let kinds = [
            (&["f32[64,128]"][..], &["f32[65,128]"][..], CauseKind::Shape),
            (&["f32[64]"], &["bf16[64]"], CauseKind::Type),
            (&["f32[64]"], &["f32[64,1]"], CauseKind::Rank),
            (&["f32[]"], &["f32[]", "f32[]"], CauseKind::ArgumentCount),
            (&["f32[]"], &["f32[]"], CauseKind::SameSignature),
        ];
        for (before, after, kind) in kinds {
            assert_eq!(diff(&of(before), &of(after)).kind, kind, "{before:?} {after:?}");
        }
        let cause = diff(&of(&["f32[1]", "f32[64,128]"]), &of(&["f32[1]", "f32[65,128]"]));
        assert_eq!(cause.text, "argument 1: f32[64,128] → f32[65,128]");
    }
}
