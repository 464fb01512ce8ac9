//! `firstlight snapshot`: finishes an interrupted run, signs, copies or packs it.

use std::path::{Path, PathBuf};

use firstlight_analysis::rebuild::rebuild;
use firstlight_analysis::shards;
use firstlight_engine::snapshot::{
    Files, copy, describe, identify, is_sealed, json as manifest_json, pack, raw_lines,
    read_manifest, read_result, read_shards, read_suite, sign, vouch,
};
use firstlight_engine::store::{now_utc, write_whole};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::snapshot::{
    MANIFEST, Manifest, RAW, RESULT, Recomputed, SIGNATURE, VALIDATION,
};

use crate::args::Format;
use crate::error::Error;
use crate::harness::build;
use crate::opening;
use crate::printer::Printer;
use crate::sealing::finish;
use crate::settings::SnapshotSettings;
use crate::verification::{parse_records, validate};

pub(crate) fn snapshot(settings: &SnapshotSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let run = &settings.run;
    if run.is_dir() && !is_sealed(run) {
        rescue(run)?;
        printer.aside(&format!("finished {}", run.display()));
    }
    let mut files = Files::read(run)?;
    if settings.recompute {
        files = recomputed(files, run)?;
    }
    let manifest = read_manifest(&files, run)?;
    let id = manifest.id.clone().unwrap_or_default();
    if settings.sign.is_some() && !run.is_dir() {
        return Err(Error::Usage("only a snapshot folder can be signed".to_owned()));
    }
    // A signature is a promise, so only a checked snapshot is signed.
    if !validate(&files, run, None)?.passed {
        return Err(Error::Unsound { path: run.clone() });
    }
    if let Some(key) = &settings.sign {
        sign(run, key, &id)?;
        files = Files::read(run)?;
    }
    let place = publish(settings, &files)?;
    match settings.format {
        Format::Json => printer.data(&(serde_json::to_string(&manifest)? + "\n")),
        Format::Text => printer.data(&format!("{}\n{id}\n", place.display())),
    }
    Ok(Exit::Ok)
}

/// The same raw readings with the result that this firstlight computes from them.
fn recomputed(mut files: Files, path: &Path) -> Result<Files, Error> {
    opening::refuse_newer(path, read_result(&files, path)?.schema.version)?;
    let manifest = read_manifest(&files, path)?;
    let suite = read_suite(&files, path, &manifest)?;
    let records = parse_records(&raw_lines(&files, path)?).map_err(|places| {
        let place = places.first().map(ToString::to_string).unwrap_or_default();
        Error::Usage(format!("`{}` cannot be recomputed: {place}", path.display()))
    })?;
    let shards = read_shards(&files, path)?;
    let document = shards::rebuild(&manifest, &shards, &suite, records).ok_or_else(|| {
        Error::Usage(format!("`{}` cannot be recomputed: not all shards are there", path.display()))
    })?;
    files.put(RESULT, (serde_json::to_string(&document)? + "\n").into_bytes());
    for name in [SIGNATURE, VALIDATION] {
        files.remove(name);
    }
    describe(&mut files);
    let from = manifest.id.clone().unwrap_or_default();
    let recomputed = Recomputed { from, firstlight: build(), at: now_utc() };
    let Manifest { origin, after, privacy, .. } = manifest;
    let manifest = vouch(&files, origin, after, Some(recomputed), build());
    let manifest = Manifest { privacy, ..manifest };
    let manifest = Manifest { id: Some(identify(&manifest)), ..manifest };
    files.put(MANIFEST, manifest_json(&manifest).into_bytes());
    let validation = validate(&files, path, None)?;
    files.put(VALIDATION, (serde_json::to_string(&validation)? + "\n").into_bytes());
    Ok(files)
}

/// Writes the snapshot to the requested path.
fn publish(settings: &SnapshotSettings, files: &Files) -> Result<PathBuf, Error> {
    let packed = || {
        let name = settings.run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        settings.run.with_file_name(format!("{name}.tar.zst"))
    };
    match (&settings.output, settings.archive) {
        (output, true) => {
            let target = output.clone().unwrap_or_else(packed);
            pack(files, &target)?;
            Ok(target)
        }
        (Some(target), false) => {
            copy(files, target)?;
            Ok(target.clone())
        }
        (None, false) => Ok(settings.run.clone()),
    }
}

/// Makes a snapshot of a killed run, from all completely recorded processes.
fn rescue(folder: &Path) -> Result<(), Error> {
    let rescued = opening::unsealed(folder)?;
    if rescued.cut {
        let lines: String = rescued.records.iter().map(|record| json(record) + "\n").collect();
        write_whole(&folder.join(RAW), &lines)?;
    }
    let after = rescued.after;
    let document = rebuild(&rescued.origin, &rescued.suite, after.clone(), rescued.records);
    write_whole(&folder.join(RESULT), &(serde_json::to_string(&document)? + "\n"))?;
    finish(folder, after).map(|_| ())
}

fn json(record: &firstlight_schema::reading::RawRecord) -> String {
    serde_json::to_string(record).expect("raw readings have only plain fields")
}
