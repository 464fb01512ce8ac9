//! Changes single characters in every file of a signed snapshot, with and without corrected hashes. Every
//! change must be detected: by a hash, by recomputing, or by the signature.

use std::fs;
use std::path::Path;

use firstlight::is_sound;
use firstlight_engine::snapshot::{Files, identify, json};
use firstlight_schema::snapshot::{MANIFEST, Manifest, is_inventoried};
use minisign::KeyPair;

use super::random::Random;
use super::stage::{Stage, expect};
use super::{Row, Size};

pub(super) fn mutations(stage: &Stage<'_>, size: Size) -> Row {
    let (files, key) = match signed(stage) {
        Ok(made) => made,
        Err(why) => return Row { tried: 1, lost: vec![why], ..Row::default() },
    };
    if is_sound(&files, Some(&key)) != Ok(true) {
        let why = "the snapshot itself does not verify".to_owned();
        return Row { tried: 1, lost: vec![why], ..Row::default() };
    }
    let paths: Vec<String> = files.paths().map(str::to_owned).collect();
    let row = stage.cases(size.mutations, |number, random| {
        let path = &paths[number % paths.len()];
        let resealed = number / paths.len() % 2 == 1;
        let Some(changed) = mutated(&files, path, resealed, random) else { return Ok(()) };
        // An unreadable snapshot is rejected.
        if is_sound(&changed, Some(&key)) == Ok(true) {
            return Err(format!("a change of {path} was missed (hashes made anew: {resealed})"));
        }
        Ok(())
    });
    Row { note: format!("{} files", paths.len()), ..row }
}

/// A small signed snapshot, and the key that signed it.
fn signed(stage: &Stage<'_>) -> Result<(Files, String), String> {
    let place = stage.place();
    let run = ["cold", "--runs", "2", "--output", "run", "--", "true"];
    expect(&place.firstlight(&run)?, &[0])?;
    let KeyPair { pk, sk } =
        KeyPair::generate_unencrypted_keypair().map_err(|error| error.to_string())?;
    let secret = sk.to_box(None).map_err(|error| error.to_string())?;
    place.write("key", &secret.to_string());
    expect(&place.firstlight(&["snapshot", "run", "--sign", "key"])?, &[0])?;
    // The stored validation is compared with the one that this program computes.
    let folder = place.path().join("run");
    let files = Files::read(&folder).map_err(|error| error.to_string())?;
    Ok((files, pk.to_base64()))
}

/// The snapshot with one character changed; `None` if the change has no effect.
fn mutated(files: &Files, path: &str, resealed: bool, random: &mut Random) -> Option<Files> {
    let mut content = files.get(path)?.to_vec();
    let at = random.below(content.len());
    let old = *content.get(at)?;
    let new = b' ' + u8::try_from(random.below(95)).ok()?;
    content[at] = if new == old { b'\n' } else { new };
    let mut changed = files.clone();
    changed.put(path, content);
    if resealed {
        reseal(&mut changed, path);
    }
    let same = changed.get(path) == files.get(path) && changed.get(MANIFEST) == files.get(MANIFEST);
    (!same).then_some(changed)
}

/// Corrects the manifest, as a forger would.
fn reseal(files: &mut Files, path: &str) {
    use firstlight_engine::snapshot::entries;
    let Some(manifest) = files.get(MANIFEST) else { return };
    let Ok(mut manifest) = serde_json::from_slice::<Manifest>(manifest) else { return };
    if is_inventoried(path) {
        manifest.files = entries(files);
    }
    manifest.id = Some(identify(&manifest));
    files.put(MANIFEST, json(&manifest).into_bytes());
}

/// The archive of a small snapshot, for the cases that alter archives.
pub(super) fn archive(stage: &Stage<'_>) -> Result<Vec<u8>, String> {
    let place = stage.place();
    let run = ["cold", "--runs", "2", "--output", "run", "--", "true"];
    expect(&place.firstlight(&run)?, &[0])?;
    expect(&place.firstlight(&["snapshot", "run", "--archive"])?, &[0])?;
    read(&place.path().join("run.tar.zst"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| error.to_string())
}
