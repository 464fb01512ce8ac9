//! The contents of a release: the crates' metadata, and the files of `cargo xtask dist`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{git, read};
use crate::dist::{COMMIT, SUMS, digest};

/// Fields that every public crate has; `.workspace = true` counts.
const FIELDS: [&str; 9] = [
    "description",
    "version",
    "edition",
    "rust-version",
    "license",
    "keywords",
    "categories",
    "readme",
    "repository",
];

/// Each public crate is packed with both, as links to those of the repository.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

pub(super) fn metadata(root: &Path) -> Vec<String> {
    let Ok(crates) = fs::read_dir(root.join("crates")) else {
        return vec!["there is no folder `crates`".to_owned()];
    };
    let mut problems = Vec::new();
    for folder in crates.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = match read(&folder, "Cargo.toml") {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!("crates/{name}/{error}"));
                continue;
            }
        };
        let package = manifest.split("\n[").next().unwrap_or_default();
        if package.contains("publish = false") {
            continue;
        }
        let has = |field: &&str| {
            package.lines().any(|line| {
                line.strip_prefix(*field).is_some_and(|rest| rest.starts_with([' ', '.']))
            })
        };
        let missing: Vec<&str> = FIELDS.into_iter().filter(|field| !has(field)).collect();
        if !missing.is_empty() {
            problems.push(format!("crates/{name}/Cargo.toml lacks {}", missing.join(", ")));
        }
        let texts = LICENCES.into_iter().filter(|text| !folder.join(text).exists());
        problems.extend(texts.map(|text| format!("crates/{name} lacks {text}")));
    }
    problems.sort();
    problems
}

/// Present, unchanged, of this version, and built from the commit that is tagged.
pub(super) fn dist(root: &Path, version: &str) -> Vec<String> {
    let folder = root.join("target/dist");
    let Ok(sums) = read(&folder, SUMS) else {
        return vec![format!("there is no target/dist/{SUMS}: run `cargo xtask dist --twice`")];
    };
    let mut problems = Vec::new();
    let built = read(&folder, COMMIT).unwrap_or_default();
    match git(root, &["rev-parse", "HEAD"]) {
        Ok(head) if built == head => {}
        Ok(_) => problems.push("target/dist was built from another commit".to_owned()),
        Err(error) => problems.push(error),
    }
    let mut listed = BTreeSet::from([SUMS.to_owned(), COMMIT.to_owned()]);
    for line in sums.lines() {
        let Some((sum, name)) = line.split_once("  ") else { continue };
        listed.insert(name.to_owned());
        match digest(&folder.join(name)) {
            Ok(found) if found == sum => {}
            Ok(_) => problems.push(format!("{name} differs from its checksum")),
            Err(_) => problems.push(format!("{name} is missing")),
        }
        if !name.contains(version) {
            problems.push(format!("{name} is not of version {version}"));
        }
    }
    for kind in ["firstlight-", "histfactory-"] {
        let is_wheel = |name: &&String| Path::new(name).extension().is_some_and(|end| end == "whl");
        if !listed.iter().filter(is_wheel).any(|name| name.starts_with(kind)) {
            problems.push(format!("there is no wheel `{kind}…whl`"));
        }
    }
    let files = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    problems.extend(
        names.filter(|name| !listed.contains(name)).map(|name| format!("{name} has no checksum")),
    );
    problems
}
