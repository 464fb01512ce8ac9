//! Checks that a snapshot's files are those that its manifest names.

use std::collections::BTreeMap;
use std::thread::{self, ScopedJoinHandle};

use firstlight_schema::snapshot::{
    CITATION, FileEntry, MANIFEST, Manifest, RAW, RESULT, SIGNATURE, SUITE, VALIDATION, ZENODO,
};
use firstlight_schema::suite::{EnvironmentFile, SuiteFile};
use firstlight_schema::validation::{Place, Rule, RuleResult};
use sha2::{Digest, Sha256};

use super::Files;
use super::reader::is_newer;
use crate::store::hex;
use crate::suites;

/// The id of a manifest: the digest of all that it says but the id itself.
pub fn identify(manifest: &Manifest) -> String {
    let nameless = Manifest { id: None, ..manifest.clone() };
    let json = serde_json::to_vec(&nameless).expect("a manifest has plain fields");
    format!("sha256:{}", hex(&Sha256::digest(json)))
}

/// The same for a manifest with unknown fields, from its bytes.
fn identify_bytes(files: &Files) -> String {
    let content = files.get(MANIFEST).unwrap_or_default();
    let text = String::from_utf8_lossy(content.strip_suffix(b"\n").unwrap_or(content));
    let nameless = match text.split_once("\"id\":\"") {
        Some((before, rest)) => match rest.split_once("\",") {
            Some((_, after)) => format!("{before}{after}"),
            None => text.into_owned(),
        },
        None => text.into_owned(),
    };
    format!("sha256:{}", hex(&Sha256::digest(nameless)))
}

/// Every file against the inventory, and the id.
pub fn check_inventory(files: &Files, manifest: &Manifest) -> RuleResult {
    let mut places = Vec::new();
    let mut listed: BTreeMap<&str, &FileEntry> = BTreeMap::new();
    for (index, entry) in manifest.files.iter().enumerate() {
        if listed.insert(&entry.path, entry).is_some() {
            let at = format!("/files/{index}/path");
            places.push(Place::file(MANIFEST, &entry.path, "every file once").at(at));
        }
    }
    places.extend(check_files(files, &manifest.files));
    let vouched =
        |path: &str| listed.contains_key(path) || [MANIFEST, SIGNATURE, VALIDATION].contains(&path);
    for path in files.paths().filter(|path| !vouched(path)) {
        places.push(Place::file(path, "a file that the manifest does not name", "no such file"));
    }
    let suite = format!("{SUITE}suite.toml");
    for needed in [RESULT, RAW, CITATION, ZENODO, suite.as_str()] {
        if !listed.contains_key(needed) {
            places.push(Place::file(MANIFEST, "not named", needed).at("/files"));
        }
    }
    let id = if is_newer(manifest) { identify_bytes(files) } else { identify(manifest) };
    if manifest.id.as_ref() != Some(&id) {
        let published = manifest.id.clone().unwrap_or_else(|| "absent".to_owned());
        places.push(Place::file(MANIFEST, published, &id).at("/id"));
    }
    let evidence = format!("{} files; {id}", manifest.files.len());
    RuleResult::unless(Rule::Inventory, places, evidence)
}

/// Files that differ from their entries. Two large files take the same time, and are hashed side by side.
fn check_files(files: &Files, entries: &[FileEntry]) -> Vec<Place> {
    let is_large = |entry: &FileEntry| entry.bytes >= WORTH_A_THREAD;
    thread::scope(|scope| {
        let begin = |entry| {
            if is_large(entry) {
                Checked::Later(scope.spawn(move || check_file(files, entry)))
            } else {
                Checked::Now(check_file(files, entry))
            }
        };
        let checks: Vec<Checked<'_>> = entries.iter().map(begin).collect();
        let end = |checked| match checked {
            Checked::Now(found) => found,
            Checked::Later(found) => found.join().expect("hashing does not panic"),
        };
        checks.into_iter().filter_map(end).collect()
    })
}

/// Hashing fewer bytes takes less time than starting a thread.
const WORTH_A_THREAD: u64 = 8 << 20;

enum Checked<'scope> {
    Now(Option<Place>),
    Later(ScopedJoinHandle<'scope, Option<Place>>),
}

fn check_file(files: &Files, entry: &FileEntry) -> Option<Place> {
    let named = format!("sha256:{}", entry.sha256);
    let Some(content) = files.get(&entry.path) else {
        return Some(Place {
            file: entry.path.clone(),
            path: None,
            published: None,
            expected: Some(named),
        });
    };
    if content.len() as u64 != entry.bytes {
        let bytes = |n: u64| format!("{n} bytes");
        return Some(Place::file(&entry.path, bytes(content.len() as u64), bytes(entry.bytes)));
    }
    let found = hex(&Sha256::digest(content));
    (found != entry.sha256).then(|| Place::file(&entry.path, format!("sha256:{found}"), named))
}

/// The suite's files against the digest of the result, the lock against the environment's.
pub fn check_suite(files: &Files, manifest: &Manifest) -> RuleResult {
    let mut places = Vec::new();
    let of_suite =
        files.iter().filter_map(|(path, content)| Some((path.strip_prefix(SUITE)?, content)));
    let digest = suites::digest_of(of_suite);
    let expected = &manifest.origin.suite_digest;
    if digest != *expected {
        places.push(Place::file(SUITE, &digest, expected));
    }
    for (index, name) in manifest.origin.suite_changes.iter().enumerate() {
        let at = format!("/origin/suite-changes/{index}");
        places.push(Place::file(MANIFEST, name, "a file that stays as it is during a run").at(at));
    }
    let named = manifest.origin.environment.lock_digest.as_ref();
    let lock = manifest.lock.as_deref().and_then(|path| Some((path, files.get(path)?)));
    match (named, lock) {
        (Some(named), Some((path, content))) => {
            if !lock_digests(files, content).contains(named) {
                places.push(Place::file(path, hex(&Sha256::digest(content)), named));
            }
        }
        (Some(named), None) => {
            let published = manifest.lock.as_deref().unwrap_or("absent");
            places.push(Place::file(MANIFEST, published, format!("the lock {named}")).at("/lock"));
        }
        (None, _) => {}
    }
    let lock = named.map_or("no lock: the environment is as found", |_| "with its lock");
    RuleResult::unless(Rule::Suite, places, format!("{digest}, {lock}"))
}

/// The possible digests of an environment: of the suite's lock file, alone or followed by the lock files of
/// extras.
fn lock_digests(files: &Files, lock: &[u8]) -> Vec<String> {
    // A limit, because each extra of a stored suite doubles the number of combinations.
    const MOST_EXTRAS: usize = 8;
    let mut ways = vec![Sha256::new_with_prefix(lock)];
    let extras = locks(files).into_iter().skip(1).take(MOST_EXTRAS);
    for further in extras.filter_map(|path| files.get(&path)) {
        let longer: Vec<Sha256> =
            ways.iter().map(|way| way.clone().chain_update(further)).collect();
        ways.extend(longer);
    }
    ways.into_iter().map(|way| hex(&way.finalize())).collect()
}

/// The lock file that the suite names, and then those of its extras.
pub(super) fn locks(files: &Files) -> Vec<String> {
    let text = files.get(&format!("{SUITE}suite.toml")).and_then(|text| str::from_utf8(text).ok());
    let environment =
        text.and_then(|text| SuiteFile::parse(text).ok()).map(|suite| suite.environment);
    let Some(EnvironmentFile::Provisioned(provisioned)) = environment else { return Vec::new() };
    let extras = provisioned.extras.values().filter_map(|extra| extra.requirements.as_ref());
    [&provisioned.requirements]
        .into_iter()
        .chain(extras)
        .map(|lock| format!("{SUITE}{lock}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_made_from_the_lock_and_those_of_any_extras() {
        let suite = "name = \"s\"\nregimes = [\"warm\"]\n\
            [environment]\nrequirements = \"r.lock\"\n\
            [environment.extra.small]\nabout = \"a setting\"\n\
            [environment.extra.large]\nabout = \"much\"\nrequirements = \"large.lock\"\n\
            [environment.extra.torch]\nabout = \"more\"\nrequirements = \"torch.lock\"\n\
            [[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\nworkload = \"w.py\"\n";
        let mut files = Files::default();
        for (name, text) in
            [("suite.toml", suite), ("r.lock", "1"), ("large.lock", "2"), ("torch.lock", "3")]
        {
            files.put(&format!("{SUITE}{name}"), text.into());
        }
        assert_eq!(locks(&files), ["suite/r.lock", "suite/large.lock", "suite/torch.lock"]);
        let expected = ["1", "12", "13", "123"].map(|text| hex(&Sha256::digest(text)));
        assert_eq!(lock_digests(&files, b"1"), expected);
    }
}
