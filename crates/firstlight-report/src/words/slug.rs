//! Names as anchors in a page: they stay the same when other names are added.

/// Longer names are cut.
const MOST_LETTERS: usize = 60;

/// Letters, digits, dashes, dots and underscores only; those of the same name are numbered.
pub(crate) fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        let first = slug(&name);
        let mut anchor = first.clone();
        let mut number = 2;
        while seen.contains(&anchor) {
            anchor = format!("{first}-{number}");
            number += 1;
        }
        seen.push(anchor);
    }
    seen
}

pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().take(MOST_LETTERS).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::unique;

    #[test]
    fn names_become_anchors_and_equal_names_are_numbered() {
        let names = ["case-mlp", "case-mlp", "a b<c>"].map(str::to_owned);
        assert_eq!(unique(names.into_iter()), ["case-mlp", "case-mlp-2", "a-b-c-"]);
    }
}
