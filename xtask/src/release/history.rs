//! The state of the checkout, and the promises of the last release, from git.

use std::path::Path;

use super::{git, parts, read};

/// Documents, snapshots and conversations of released versions never change.
const FROZEN: [&str; 3] = ["fixtures/documents", "fixtures/snapshots", "fixtures/protocol/accept"];
/// Libraries that others compile against.
pub const LIBRARIES: [&str; 3] = ["histfactory", "firstlight-schema", "firstlight-runner"];

pub(super) fn checkout(root: &Path, version: &str) -> Vec<String> {
    let mut problems = Vec::new();
    match git(root, &["status", "--porcelain"]) {
        Ok(list) if list.trim().is_empty() => {}
        Ok(list) => problems.push(format!("uncommitted changes: {}", list.trim())),
        Err(error) => problems.push(error),
    }
    let tag = format!("v{version}");
    if git(root, &["tag", "--list", &tag]).is_ok_and(|found| !found.trim().is_empty()) {
        problems.push(format!("the tag {tag} exists"));
    }
    problems
}

/// The tag of the last release; the first release has none before it.
fn last_tag(root: &Path) -> Option<String> {
    let found = git(root, &["describe", "--tags", "--abbrev=0", "--match", "v*"]).ok()?;
    Some(found.trim().to_owned())
}

pub(super) fn fixtures(root: &Path) -> Vec<String> {
    let empty = |folder: &&str| {
        let mut entries = std::fs::read_dir(root.join(folder)).into_iter().flatten();
        entries.next().is_none()
    };
    let mut problems: Vec<String> = FROZEN
        .iter()
        .copied()
        .filter(empty)
        .map(|folder| format!("{folder} has no fixture"))
        .collect();
    let Some(tag) = last_tag(root) else { return problems };
    let arguments = [&["diff", "--name-status", "--no-renames", &tag, "--"][..], &FROZEN].concat();
    match git(root, &arguments) {
        Ok(list) => problems.extend(
            list.lines()
                .filter(|line| !line.starts_with('A') && !line.ends_with("README.md"))
                .map(|line| format!("a fixture of {tag} changed: {}", line.replace('\t', " "))),
        ),
        Err(error) => problems.push(error),
    }
    problems
}

/// A public item that changed or disappeared needs a version that says so.
pub(super) fn api(root: &Path, version: [u64; 3]) -> Vec<String> {
    let Some(tag) = last_tag(root) else { return Vec::new() };
    let Some(last) = tag.strip_prefix('v').and_then(parts) else {
        return vec![format!("the tag {tag} is not a version")];
    };
    if is_breaking(last, version) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for library in LIBRARIES {
        let file = format!("crates/{library}/api.txt");
        let before = git(root, &["show", &format!("{tag}:{file}")]).unwrap_or_default();
        match read(root, &file) {
            Ok(now) => problems.extend(
                before
                    .lines()
                    .filter(|line| !now.lines().any(|known| known == *line))
                    .map(|line| format!("{library} lost a public item since {tag}: {line}")),
            ),
            Err(error) => problems.push(error),
        }
    }
    problems
}

/// Before 1.0 the minor number says that something breaks.
fn is_breaking(last: [u64; 3], version: [u64; 3]) -> bool {
    match (last, version) {
        ([0, minor, _], [0, new, _]) => new > minor,
        ([major, ..], [new, ..]) => new > major,
    }
}
