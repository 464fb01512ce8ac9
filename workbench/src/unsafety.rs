//! The `unsafe` code with its reasons: a page generated from the sources. The lint `unsafe_code` is denied
//! everywhere, so each place has an `expect` with its reason.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use xtask::shell::root;

const MARK: &str = "unsafe_code, reason = \"";

/// The page, sorted by crate and file.
pub(crate) fn page() -> String {
    let mut text = "# Unsafe code\n\n\
        Every place in which firstlight leaves what the compiler can check, with its reason. \
        `cargo xtask generate` makes this page from the sources.\n\n\
        `cargo xtask sanitize` runs the tests of these crates under AddressSanitizer. Miri is not run: \
        it cannot start processes, register signal handlers or call into Python, which is what these \
        places are for.\n\n\
        *Every place with unsafe code.*\n\n\
        | crate | file | reason |\n|---|---|---|\n"
        .to_owned();
    let crates = root().join("crates");
    let mut files = Vec::new();
    list(&crates, &mut files);
    files.sort();
    for file in files {
        let name = file.strip_prefix(&crates).expect("listed below it").to_string_lossy();
        let (own, path) = name.split_once('/').unwrap_or((&name, ""));
        for reason in reasons(&fs::read_to_string(&file).unwrap_or_default()) {
            writeln!(text, "| `{own}` | `{path}` | {reason} |").expect("writing to a string");
        }
    }
    text
}

/// The reasons in a file, in order.
fn reasons(source: &str) -> Vec<String> {
    let joined = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let after = joined.split(MARK).skip(1);
    after.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reasons;

    #[test]
    fn each_reason_is_found_in_any_line_layout() {
        let source = "#[expect(unsafe_code, reason = \"one\")]\n#[expect(\n    unsafe_code,\n    reason = \"two\"\n)]";
        assert_eq!(reasons(source), ["one", "two"]);
    }
}
