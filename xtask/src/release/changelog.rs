//! `CHANGELOG.md` in the form of Keep a Changelog, with an entry for the release.

use std::path::Path;

use super::read;

const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

pub(super) fn problems(root: &Path, version: &str) -> Vec<String> {
    let text = match read(root, "CHANGELOG.md") {
        Ok(text) => text,
        Err(error) => return vec![error],
    };
    let mut problems = Vec::new();
    let releases: Vec<&str> = text.split("\n## ").skip(1).collect();
    let unreleased = releases.first().is_some_and(|part| title(part) == "[Unreleased]");
    if !unreleased {
        problems.push("CHANGELOG.md: the first heading is not `## [Unreleased]`".to_owned());
    }
    let begin = format!("[{version}] - ");
    match releases.iter().find(|part| part.starts_with(&begin)) {
        None => problems.push(format!("CHANGELOG.md has no heading `## {begin}YYYY-MM-DD`")),
        Some(part) => {
            let date = &title(part)[begin.len()..];
            if !is_date(date) {
                problems.push(format!("CHANGELOG.md: `{date}` is not a date such as 2026-01-31"));
            }
            if !part.contains("\n- ") {
                problems.push(format!("CHANGELOG.md: {version} has no entry"));
            }
        }
    }
    for kind in text.lines().filter_map(|line| line.strip_prefix("### ")) {
        if !KINDS.contains(&kind) {
            let known = KINDS.join(", ");
            problems.push(format!("CHANGELOG.md: `### {kind}` is none of {known}"));
        }
    }
    problems
}

fn title(part: &str) -> &str {
    part.lines().next().unwrap_or_default()
}

fn is_date(text: &str) -> bool {
    let digits = |from: usize, to: usize| {
        text.get(from..to).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let dashes = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    text.len() == 10 && dashes && digits(0, 4) && digits(5, 7) && digits(8, 10)
}
