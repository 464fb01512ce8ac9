//! Checks that shards may be merged: the same suite, arms, settings and hardware, and no process twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::EnvironmentRecord;
use firstlight_schema::snapshot::{Manifest, Origin};
use firstlight_schema::suite::{Choice, HardwareKey};

/// Each node numbers its devices separately.
const OF_THE_NODE: &str = "CUDA_VISIBLE_DEVICES";

/// A fact in which two shards differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Such as `arms` or `hardware.cpu`.
    pub key: String,
    pub first: String,
    pub other: String,
}

/// The first fact in which a shard differs from the first one, out of those that must be the same. The seed,
/// the time and the command line may differ.
pub fn mismatch(first: &Manifest, other: &Manifest, same: &[HardwareKey]) -> Option<Mismatch> {
    let (a, b) = (&first.origin, &other.origin);
    suite(first, other)
        .or_else(|| choice(&a.choice, &b.choice))
        .or_else(|| differs("defaults", &a.defaults, &b.defaults))
        .or_else(|| differs("firstlight", &a.firstlight.build, &b.firstlight.build))
        .or_else(|| environment(&a.environment, &b.environment))
        .or_else(|| variables(a, b))
        .or_else(|| hardware(a, b, same))
}

fn differs<T: PartialEq + Debug>(key: &str, first: &T, other: &T) -> Option<Mismatch> {
    (first != other).then(|| Mismatch {
        key: key.to_owned(),
        first: format!("{first:?}"),
        other: format!("{other:?}"),
    })
}

fn texts(key: String, first: Option<&String>, other: Option<&String>) -> Option<Mismatch> {
    let text = |value: Option<&String>| value.map_or("none", String::as_str).to_owned();
    (first != other).then(|| Mismatch { key, first: text(first), other: text(other) })
}

/// Compares the suites and names the file that differs.
fn suite(first: &Manifest, other: &Manifest) -> Option<Mismatch> {
    let (a, b) = (&first.origin, &other.origin);
    if let Some(found) = texts("suite".to_owned(), Some(&a.suite), Some(&b.suite)) {
        return Some(found);
    }
    if a.suite_digest == b.suite_digest {
        return None;
    }
    let files = |manifest: &Manifest| -> BTreeMap<String, String> {
        let of_suite = manifest.files.iter().filter(|file| file.path.starts_with("suite/"));
        of_suite.map(|file| (file.path.clone(), file.sha256.clone())).collect()
    };
    let found = of_maps("", &files(first), &files(other));
    found.or_else(|| differs("suite-digest", &a.suite_digest, &b.suite_digest))
}

/// Compares the selections on the command line.
fn choice(a: &Choice, b: &Choice) -> Option<Mismatch> {
    differs("arms", &a.arms, &b.arms)
        .or_else(|| differs("cases", &a.cases, &b.cases))
        .or_else(|| differs("regimes", &a.regimes, &b.regimes))
        .or_else(|| differs("processes", &a.processes, &b.processes))
        .or_else(|| differs("profile", &a.profile, &b.profile))
        .or_else(|| differs("set", &a.set, &b.set))
        .or_else(|| differs("extras", &a.extras, &b.extras))
}

fn environment(a: &EnvironmentRecord, b: &EnvironmentRecord) -> Option<Mismatch> {
    differs("environment", &a.kind, &b.kind)
        .or_else(|| texts("python".to_owned(), a.python.as_ref(), b.python.as_ref()))
        .or_else(|| texts("lock".to_owned(), a.lock_digest.as_ref(), b.lock_digest.as_ref()))
        .or_else(|| of_maps("packages.", &a.packages, &b.packages))
}

fn variables(a: &Origin, b: &Origin) -> Option<Mismatch> {
    let known = |origin: &Origin| -> BTreeMap<String, String> {
        let own = origin.variables.iter().filter(|(name, _)| *name != OF_THE_NODE);
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "(a path)".to_owned());
        own.map(|(name, value)| (name.clone(), text(value))).collect()
    };
    of_maps("variables.", &known(a), &known(b))
}

fn of_maps(
    prefix: &str,
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Option<Mismatch> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    names.into_iter().find_map(|name| texts(format!("{prefix}{name}"), a.get(name), b.get(name)))
}

/// Compares every machine of the other shard with the first machine of the first one.
fn hardware(a: &Origin, b: &Origin, same: &[HardwareKey]) -> Option<Mismatch> {
    let later = b.segments.iter().map(|segment| (&segment.machine, &segment.before));
    let machines: Vec<_> = [(&b.machine, &b.before)].into_iter().chain(later).collect();
    same.iter().find_map(|key| {
        let first = key.value(&a.machine, &a.before);
        let others = machines.iter().map(|(machine, before)| key.value(machine, before));
        let other = others.into_iter().find(|other| *other != first)?;
        Some(Mismatch { key: format!("hardware.{key}"), first, other })
    })
}

/// Finds two shards that share a process: its start on the clock of one boot of a node is unique.
pub fn repeated(shards: &[(&Manifest, &[RawRecord])]) -> Option<(usize, usize)> {
    let mut seen = BTreeMap::new();
    for (place, (manifest, records)) in shards.iter().enumerate() {
        for sample in records.iter().map(|record| &record.sample) {
            let origin = &manifest.origin;
            let node = (origin.boot_of(sample.number), origin.node_of(sample.number));
            let key = (node.0, node.1, sample.spawn.0, sample.reaped.0);
            if let Some(before) = seen.insert(key, place) {
                return Some((before, place));
            }
        }
    }
    None
}
