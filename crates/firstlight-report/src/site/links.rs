//! Addresses of pages: permanent paths of letters, digits and dashes.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

const MOST_LETTERS: usize = 40;
const DIGEST_BYTES: usize = 8;

/// The first page, the table and the comparison, relative to each other.
pub const INDEX: &str = "index.html";
pub const TABLE: &str = "table.html";
pub const COMPARE: &str = "compare.html";

/// The first page, relative to a folder.
pub const HOME: &str = "../index.html";

/// The page of a snapshot, named by its id alone.
pub fn snapshot_path(id: &str) -> String {
    let digits: String = id
        .strip_prefix("sha256:")
        .unwrap_or(id)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    format!("snapshots/{digits}.html")
}

/// The page of a case: its name in a form that is valid in a path, with a digest that distinguishes it from
/// others.
pub fn case_path(suite: &str, case: &str) -> String {
    let digest = Sha256::digest(format!("{}\n{suite}\n{case}", suite.len()));
    let mut path = format!("cases/{}-", slug(&format!("{suite} {case}")));
    for byte in &digest[..DIGEST_BYTES] {
        write!(path, "{byte:02x}").expect("writing to a string");
    }
    path + ".html"
}

fn slug(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' });
    let words = plain.take(MOST_LETTERS).collect::<String>().to_ascii_lowercase();
    words.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::{case_path, snapshot_path};

    #[test]
    fn no_name_leads_outside_the_site() {
        assert_eq!(snapshot_path("sha256:../a"), "snapshots/a.html");
        for name in ["../../etc/passwd", "<script>", "", "ä", "a/b?c#d"] {
            let path = case_path(name, name);
            let rest = path.strip_prefix("cases/").and_then(|rest| rest.strip_suffix(".html"));
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            assert!(rest.is_some_and(|rest| rest.chars().all(plain)), "{path}");
        }
    }

    #[test]
    fn names_with_equal_paths_are_distinguished() {
        assert_ne!(case_path("a", "b c"), case_path("a b", "c"));
        assert_ne!(case_path("a", "B"), case_path("a", "b"));
        assert_ne!(case_path("a\nb", "c"), case_path("a", "b\nc"));
    }
}
