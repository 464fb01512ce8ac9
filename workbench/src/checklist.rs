//! Checks the list of mistakes: every finding that it names exists, and every planted example is a test.

use std::fs;
use std::path::Path;

use firstlight_schema::finding::Finding;
use xtask::shell::{Result, root};

const PAGE: &str = "docs/guide/twelve-ways.md";
const ENTRIES: usize = 12;

pub(crate) fn check() -> Result {
    println!("── checklist");
    let text = fs::read_to_string(root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let problems = problems(&text, &root());
    if problems.is_empty() { Ok(()) } else { Err(format!("{PAGE}:\n{}", problems.join("\n"))) }
}

fn problems(text: &str, root: &Path) -> Vec<String> {
    let entries: Vec<&str> = text.split("\n## ").skip(1).collect();
    let mut problems = Vec::new();
    if entries.len() != ENTRIES {
        problems.push(format!("{} entries, the title promises {ENTRIES}", entries.len()));
    }
    for entry in entries {
        let title = entry.lines().next().unwrap_or_default();
        let named = |kind: &str| -> Vec<&str> {
            let items = entry.lines().filter_map(|line| line.strip_prefix(kind));
            items.map(|item| item.trim().trim_matches('`')).collect()
        };
        let (findings, tests) = (named("- Finding: "), named("- Planted: "));
        if findings.is_empty() || findings.len() != tests.len() {
            problems.push(format!("`{title}` needs a finding and a planted example for it"));
        }
        let unknown = findings.iter().filter(|name| !is_finding(name));
        problems.extend(unknown.map(|name| format!("`{title}`: there is no finding `{name}`")));
        let untested = tests.iter().filter(|test| !is_test(root, test));
        problems.extend(untested.map(|test| format!("`{title}`: there is no test `{test}`")));
    }
    problems
}

fn is_finding(name: &str) -> bool {
    Finding::ALL.iter().any(|finding| finding.to_string() == name)
}

/// `path::function`, in Rust or in Python.
fn is_test(root: &Path, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    let Ok(source) = fs::read_to_string(root.join(path)) else { return false };
    ["def ", "fn "].iter().any(|keyword| source.contains(&format!("{keyword}{name}(")))
}

#[cfg(test)]
mod tests {
    use super::{PAGE, problems, root};

    #[test]
    fn a_finding_or_a_test_that_does_not_exist_is_reported() {
        let text = std::fs::read_to_string(root().join(PAGE)).unwrap();
        assert_eq!(problems(&text, &root()), Vec::<String>::new());
        let wrong = text.replace("`compiled-in-window`", "`compiled-somewhere`");
        let wrong = wrong.replace("test_a_profiler_in_the_window_is_refused", "test_nothing");
        let found = problems(&wrong, &root());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].ends_with("there is no finding `compiled-somewhere`"), "{found:?}");
        assert!(found[1].ends_with("test_planted.py::test_nothing`"), "{found:?}");
        let (shorter, _) = text.split_once("\n## 12.").unwrap();
        assert_eq!(problems(shorter, &root()), ["11 entries, the title promises 12"]);
    }
}
