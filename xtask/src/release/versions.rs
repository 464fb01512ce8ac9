//! The version is written down in several files, and is the same in all of them.

use std::path::Path;

use super::read;

/// Where a version stands: the file, and what comes before it on its line.
const PLACES: [(&str, &str); 5] = [
    ("Cargo.toml", "version = \""),
    ("python/pyproject.toml", "version = \""),
    ("crates/histfactory-python/pyproject.toml", "version = \""),
    ("python/firstlight/__init__.py", "__version__ = \""),
    ("CITATION.cff", "version: "),
];

pub(super) fn problems(root: &Path, version: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, before) in PLACES {
        match read(root, file) {
            Ok(text) => match stated(&text, before) {
                Some(found) if found == version => {}
                Some(found) => problems.push(format!("{file} has version {found}, not {version}")),
                None => problems.push(format!("{file} has no version")),
            },
            Err(error) => problems.push(error),
        }
    }
    match read(root, "Cargo.toml") {
        Ok(text) => problems.extend(requirements(&text, version)),
        Err(error) => problems.push(error),
    }
    match read(root, "Cargo.lock") {
        Ok(text) => problems.extend(locked(&text, version)),
        Err(error) => problems.push(error),
    }
    problems
}

/// The version on the first line that begins so.
fn stated<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let rest = text.lines().find_map(|line| line.strip_prefix(before))?;
    Some(rest.trim_end().trim_end_matches('"'))
}

/// Crates of the workspace require each other in exactly this version.
fn requirements(manifest: &str, version: &str) -> Vec<String> {
    let of_ours = manifest.lines().filter(|line| line.contains("{ path = \"crates/"));
    of_ours
        .filter(|line| !line.contains(&format!("version = \"={version}\"")))
        .map(|line| format!("Cargo.toml does not require version ={version}: {line}"))
        .collect()
}

/// Crates without a source are ours.
fn locked(lock: &str, version: &str) -> Vec<String> {
    let packages = lock.split("[[package]]").skip(1).filter(|one| !one.contains("\nsource = "));
    packages
        .filter_map(|one| Some((stated(one, "name = \"")?, stated(one, "version = \"")?)))
        .filter(|(_, found)| *found != version)
        .map(|(name, found)| format!("Cargo.lock has {name} {found}: run `cargo check`"))
        .collect()
}
