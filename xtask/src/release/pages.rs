//! Pages that a release makes false.

use std::path::Path;

use super::{git, read};

const WORDS: &str = "not published yet";
/// The page that describes this check.
const RELEASING: &str = "docs/guide/releasing.md";

pub(super) fn problems(root: &Path) -> Vec<String> {
    let pages = match git(root, &["ls-files", "*.md"]) {
        Ok(pages) => pages,
        Err(error) => return vec![error],
    };
    let pages = pages.lines().filter(|page| *page != RELEASING);
    let says = |page: &&str| read(root, page).is_ok_and(|text| text.contains(WORDS));
    pages.filter(says).map(|page| format!("{page} says `{WORDS}`")).collect()
}
