//! The README's support matrix: the versions pinned by the lock files of the adapter tests.

use std::fs;

use xtask::python::{Lane, NEWEST, NEWEST_PYTHON, OLDEST, OLDEST_PYTHON, TORCH};
use xtask::shell::{Result, root};

const README: &str = "README.md";
const BEGIN: &str = "<!-- support -->\n";
const END: &str = "<!-- end -->";
const FRAMEWORKS: [(&str, &str); 3] = [("jax", "JAX"), ("numba", "Numba"), ("torch", "PyTorch")];

/// Inserts the matrix into the README, which may have other generated blocks already.
pub(crate) fn fill(files: &mut Vec<(String, String)>) -> Result {
    let text = match files.iter().position(|(path, _)| path == README) {
        Some(at) => files.swap_remove(at).1,
        None => fs::read_to_string(root().join(README)).map_err(|error| error.to_string())?,
    };
    files.push((README.to_owned(), filled(&text, &matrix()?)?));
    Ok(())
}

fn filled(text: &str, matrix: &str) -> Result<String> {
    let missing = || format!("{README} has no block between `{}` and `{END}`", BEGIN.trim_end());
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n{matrix}\n{END}{after}"))
}

fn matrix() -> Result<String> {
    let titles = FRAMEWORKS.map(|(_, title)| title).join(" | ");
    let mut table = format!(
        "*Versions that the adapter tests run with.*\n\n| Python | {titles} |\n|{}\n",
        "---|".repeat(FRAMEWORKS.len() + 1)
    );
    for (lane, python) in [(OLDEST, OLDEST_PYTHON), (NEWEST, NEWEST_PYTHON), (TORCH, OLDEST_PYTHON)]
    {
        let lock = read(lane)?;
        let cells =
            FRAMEWORKS.map(|(package, _)| pinned(&lock, package).unwrap_or("–")).join(" | ");
        table.extend(["| ", python, " | ", &cells, " |\n"]);
    }
    Ok(table)
}

fn read(lane: Lane) -> Result<String> {
    fs::read_to_string(root().join(lane.lock)).map_err(|error| format!("{}: {error}", lane.lock))
}

/// The version pinned by a lock file.
fn pinned<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let version = |line: &'a str| line.strip_prefix(package)?.strip_prefix("==");
    lock.lines().find_map(version)?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::{filled, pinned};

    #[test]
    fn a_version_is_found_only_after_its_package() {
        let lock = "jax-metal==9\njax==0.10.2 \\\n    --hash=sha256:1\n";
        assert_eq!(pinned(lock, "jax"), Some("0.10.2"));
        assert_eq!(pinned(lock, "torch"), None);
    }

    #[test]
    fn only_the_block_of_the_page_changes() {
        let page = "a\n<!-- support -->\nold\n<!-- end -->\nb\n";
        assert_eq!(
            filled(page, "new\n").unwrap(),
            "a\n<!-- support -->\n\nnew\n\n<!-- end -->\nb\n"
        );
        assert!(filled("a", "new").is_err());
    }
}
