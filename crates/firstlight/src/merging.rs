//! Merges sealed shards of one suite into one snapshot. Their raw readings are unchanged.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use firstlight_analysis::shards::{self, Mismatch, mismatch, rebuild, repeated};
use firstlight_engine::snapshot::{
    Assembly, Files, MOST_SHARDS, check_inventory, check_shards, is_newer, is_sealed, json,
    read_manifest, read_shards, read_suite, slices, vouch, write_origin,
};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::{Manifest, Origin, RAW, RESULT, SHARDS, SUITE};
use firstlight_schema::suite::{Choice, SuiteFile};
use firstlight_schema::validation::RuleOutcome;

use crate::error::Error;
use crate::harness::build;
use crate::sealing::finish_merged;
use crate::verification::{on_all_cores, parse_records};

/// A checked snapshot, and the parts used from it.
struct Shard {
    path: PathBuf,
    manifest: Manifest,
    raw: Vec<u8>,
}

/// The merged snapshot.
pub(crate) struct Merged {
    pub(crate) folder: PathBuf,
    pub(crate) document: RunDocument,
    /// Whether every rule passes.
    pub(crate) passed: bool,
}

/// Reads, checks and joins the shards, and writes them to a new folder.
pub(crate) fn merge(paths: &[PathBuf], target: &Path, argv: Vec<String>) -> Result<Merged, Error> {
    let assembly = Assembly::new(target)?;
    let (shards, suite_files) = gather(paths)?;
    let suite = check(&shards, &suite_files)?;
    for (name, content) in suite_files.iter().filter(|(name, _)| name.starts_with(SUITE)) {
        assembly.put(name, content)?;
    }
    let manifests: Vec<Manifest> = shards.iter().map(|shard| shard.manifest.clone()).collect();
    let (records, processes) = records(&shards)?;
    let origin = shards::origin(&manifests, &processes, argv).expect("there are shards");
    write_raw(assembly.path(), shards)?;
    let lines: String = manifests.iter().map(json).collect();
    assembly.put(SHARDS, lines.as_bytes())?;
    drop(lines);
    let document = document(&origin, &manifests, &suite, records);
    write_document(assembly.path(), &document)?;
    write_origin(assembly.path(), &origin)?;
    let checked = finish_merged(assembly.path(), &document)?;
    Ok(Merged { folder: assembly.finish()?, document, passed: checked.passed })
}

fn refused(path: &Path, why: impl Into<String>) -> Error {
    Error::Merge { shard: path.to_owned(), why: why.into() }
}

/// All shards, each checked against its manifest, and the files of the first one.
fn gather(paths: &[PathBuf]) -> Result<(Vec<Shard>, Files), Error> {
    let read = on_all_cores(paths, |place, path| open(path, place == 0));
    let mut shards = Vec::new();
    let mut first = None;
    for found in read {
        let (of_path, files) = found?;
        shards.extend(of_path);
        first = first.or(files);
    }
    if shards.len() > MOST_SHARDS {
        let why = format!("{} shards, at most {MOST_SHARDS} can be merged", shards.len());
        return Err(Error::Usage(why));
    }
    Ok((shards, first.unwrap_or_default()))
}

/// The shards of one path: one, or all of a snapshot that was merged before.
fn open(path: &Path, keeps_files: bool) -> Result<(Vec<Shard>, Option<Files>), Error> {
    if path.is_dir() && !is_sealed(path) {
        return Err(refused(path, "it is not sealed"));
    }
    let files = Files::read(path)?;
    let manifest = read_manifest(&files, path)?;
    if is_newer(&manifest) {
        return Err(refused(path, "a newer firstlight wrote it"));
    }
    let inventory = check_inventory(&files, &manifest);
    if inventory.outcome == RuleOutcome::Fail {
        let place = inventory.places.first().map(ToString::to_string).unwrap_or_default();
        return Err(Error::Tampered { shard: path.to_owned(), place });
    }
    let raw = files.get(RAW).unwrap_or_default();
    let shard =
        |manifest, raw: &[u8]| Shard { path: path.to_owned(), manifest, raw: raw.to_owned() };
    let manifests = read_shards(&files, path)?;
    let found = if manifests.is_empty() {
        vec![shard(manifest, raw)]
    } else {
        if let Some(place) = check_shards(&files, &manifest, &manifests).first() {
            return Err(Error::Tampered { shard: path.to_owned(), place: place.to_string() });
        }
        let parts = slices(raw, &manifests).expect("the shards were checked");
        manifests.into_iter().zip(parts).map(|(one, raw)| shard(one, raw)).collect()
    };
    Ok((found, keeps_files.then_some(files)))
}

/// The suite of all shards, if they agree.
fn check(shards: &[Shard], files: &Files) -> Result<SuiteFile, Error> {
    let first = &shards[0];
    for (place, shard) in shards.iter().enumerate() {
        if let Some(same) = shards[..place].iter().find(|one| one.manifest.id == shard.manifest.id)
        {
            return Err(refused(
                &shard.path,
                format!("`{}` is the same snapshot", same.path.display()),
            ));
        }
    }
    let unseeded = Manifest {
        origin: Origin {
            choice: Choice { seed: None, ..first.manifest.origin.choice.clone() },
            ..first.manifest.origin.clone()
        },
        ..first.manifest.clone()
    };
    let suite = read_suite(files, &first.path, &unseeded)?;
    for shard in &shards[1..] {
        if let Some(found) = mismatch(&first.manifest, &shard.manifest, &suite.launch.same) {
            let Mismatch { key, first: ours, other } = found;
            return Err(Error::ShardsDiffer {
                key,
                first: (first.path.clone(), ours),
                other: (shard.path.clone(), other),
            });
        }
    }
    Ok(suite)
}

/// The records of all shards in order, and the number of each shard.
fn records(shards: &[Shard]) -> Result<(Vec<RawRecord>, Vec<u32>), Error> {
    let mut lines: Vec<&[u8]> = Vec::new();
    let mut processes = Vec::new();
    for shard in shards {
        let before = lines.len();
        let mut in_shard: Vec<&[u8]> = shard.raw.split(|&byte| byte == b'\n').collect();
        if in_shard.pop().is_some_and(|rest| !rest.is_empty()) {
            return Err(refused(&shard.path, format!("its {RAW} is truncated")));
        }
        lines.append(&mut in_shard);
        processes.push(u32::try_from(lines.len() - before).unwrap_or(u32::MAX));
    }
    let records = parse_records(&lines).map_err(|places| {
        let place = places.first().map(ToString::to_string).unwrap_or_default();
        refused(&shards[0].path, format!("raw readings cannot be read: {place}"))
    })?;
    let mut rest = records.as_slice();
    let parts: Vec<(&Manifest, &[RawRecord])> = shards
        .iter()
        .zip(&processes)
        .map(|(shard, &count)| {
            let (mine, others) = rest.split_at(usize::try_from(count).unwrap_or(usize::MAX));
            rest = others;
            (&shard.manifest, mine)
        })
        .collect();
    if let Some((first, second)) = repeated(&parts) {
        let path = shards[first].path.display();
        let why = format!("it has processes that `{path}` also has");
        return Err(refused(&shards[second].path, why));
    }
    Ok((records, processes))
}

fn document(
    origin: &Origin,
    manifests: &[Manifest],
    suite: &SuiteFile,
    records: Vec<RawRecord>,
) -> RunDocument {
    let manifest = vouch(&Files::default(), origin.clone(), None, None, build());
    rebuild(&manifest, manifests, suite, records).expect("the shards were counted")
}

/// The raw readings of all shards, each freed once it is written.
fn write_raw(folder: &Path, shards: Vec<Shard>) -> Result<(), Error> {
    let path = folder.join(RAW);
    let failed = |error| Error::io("write", &path, &error);
    let mut file = File::create_new(&path).map_err(failed)?;
    for shard in shards {
        file.write_all(&shard.raw).map_err(failed)?;
    }
    file.sync_all().map_err(failed)
}

fn write_document(folder: &Path, document: &RunDocument) -> Result<(), Error> {
    let path = folder.join(RESULT);
    let failed = |error| Error::io("write", &path, &error);
    let mut writer = BufWriter::new(File::create_new(&path).map_err(failed)?);
    serde_json::to_writer(&mut writer, document).map_err(|error| failed(error.into()))?;
    writer.write_all(b"\n").and_then(|()| writer.flush()).map_err(failed)
}
