//! Copies a snapshot: the same readings, with another start time or machine.

use std::path::Path;

use firstlight_analysis::rebuild::rebuild;
use firstlight_engine::snapshot::{Files, copy, json, raw_lines, read_manifest, read_suite, vouch};
use firstlight_schema::snapshot::{MANIFEST, Origin, RESULT, SUITE, VALIDATION};

/// Writes the copy into a new folder; changes of its origin are applied to its result too.
pub(crate) fn resealed(from: &Path, to: &Path, change: impl FnOnce(&mut Origin)) {
    let mut files = Files::read(from).unwrap();
    let manifest = read_manifest(&files, from).unwrap();
    let suite = read_suite(&files, from, &manifest).unwrap();
    let lines = raw_lines(&files, from).unwrap();
    let records = lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let mut origin = manifest.origin.clone();
    change(&mut origin);
    let document = rebuild(&origin, &suite, manifest.after.clone(), records);
    files.put(RESULT, (serde_json::to_string(&document).unwrap() + "\n").into_bytes());
    files.remove(VALIDATION);
    files.remove(MANIFEST);
    assert!(files.get(&format!("{SUITE}suite.toml")).is_some());
    let manifest = vouch(&files, origin, manifest.after, None, document.firstlight.clone());
    files.put(MANIFEST, json(&manifest).into_bytes());
    copy(&files, to).unwrap();
}
