//! Names as addresses of places in a page: they stay when something is added before them.

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
    fn names_become_places_and_the_same_name_twice_two_of_them() {
        let names = ["case-mlp", "case-mlp", "a b<c>"].map(str::to_owned);
        assert_eq!(unique(names.into_iter()), ["case-mlp", "case-mlp-2", "a-b-c-"]);
    }
}
