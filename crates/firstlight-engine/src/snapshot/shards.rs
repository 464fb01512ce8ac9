//! The shards of a merged snapshot: their manifests, and the part of the raw readings that belongs to each.

use std::path::Path;

use firstlight_schema::snapshot::{self, MANIFEST, Manifest, RAW, SHARDS};
use firstlight_schema::validation::Place;
use sha2::{Digest, Sha256};

use super::Files;
use super::files::refused;
use super::inventory::identify;
use super::newer::read_document;
use super::reader::{LARGEST_LIST, check_version};
use super::schemas::Shape;
use crate::EngineError;
use crate::store::hex;

/// More shards than this are not read: a hostile file could hold any number.
pub const MOST_SHARDS: usize = 10_000;
/// Of all their manifests together.
const LARGEST: usize = 512 << 20;

/// The manifests of a merged snapshot's shards; none for any other.
pub fn read_shards(files: &Files, path: &Path) -> Result<Vec<Manifest>, EngineError> {
    let Some(content) = files.get(SHARDS) else { return Ok(Vec::new()) };
    let wrong = |reason: &str| refused(path, SHARDS, reason);
    let lines: Vec<&[u8]> = content.split(|&byte| byte == b'\n').collect();
    let Some((&b"", lines)) = lines.split_last() else { return Err(wrong("is truncated")) };
    let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
    if lines.len() > MOST_SHARDS || content.len() > LARGEST || longest > LARGEST_LIST {
        return Err(wrong(&format!("has {} shards and {} bytes", lines.len(), content.len())));
    }
    lines.iter().map(|line| shard(line).map_err(|reason| wrong(&reason))).collect()
}

fn shard(line: &[u8]) -> Result<Manifest, String> {
    let version = check_version(line, snapshot::NAME, snapshot::VERSION)?;
    if version > snapshot::VERSION {
        return Err(format!("has a shard of version {version}"));
    }
    read_document(Shape::Manifest, line, version).map(|read| read.document)
}

/// The raw readings of each shard, by the sizes that their manifests name; none if they do not add up.
pub fn slices<'a>(raw: &'a [u8], shards: &[Manifest]) -> Option<Vec<&'a [u8]>> {
    let mut rest = raw;
    let mut slices = Vec::with_capacity(shards.len());
    for shard in shards {
        let bytes = shard.files.iter().find(|file| file.path == RAW)?.bytes;
        let (mine, others) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
        slices.push(mine);
        rest = others;
    }
    rest.is_empty().then_some(slices)
}

/// Every shard against its manifest: its identifier, the digest of its raw readings, and its place in the
/// merged manifest.
pub fn check_shards(files: &Files, manifest: &Manifest, shards: &[Manifest]) -> Vec<Place> {
    let mut places = Vec::new();
    let named: Vec<&str> = manifest.origin.shards.iter().map(|shard| shard.id.as_str()).collect();
    let found: Vec<&str> =
        shards.iter().map(|shard| shard.id.as_deref().unwrap_or_default()).collect();
    if named != found {
        let expected = "the shards that the manifest names, in its order";
        places.push(Place::file(SHARDS, found.join(" "), expected));
    }
    let Some(slices) = slices(files.get(RAW).unwrap_or_default(), shards) else {
        let expected = "as many bytes as all shards have";
        places.push(Place::file(RAW, "another size", expected));
        return places;
    };
    for (line, (shard, slice)) in shards.iter().zip(&slices).enumerate() {
        let at = |place: &str| format!("{}{place}", line + 1);
        let id = identify(shard);
        if shard.id.as_ref() != Some(&id) {
            let published = shard.id.clone().unwrap_or_else(|| "absent".to_owned());
            places.push(Place::file(SHARDS, published, &id).at(at("/id")));
        }
        let digest = hex(&Sha256::digest(slice));
        let vouched = shard.files.iter().find(|file| file.path == RAW);
        if vouched.is_none_or(|file| file.sha256 != digest) {
            let expected = vouched.map_or_else(String::new, |file| file.sha256.clone());
            places.push(Place::file(RAW, digest, expected).at(at("")));
        }
        let lines = memchr::memchr_iter(b'\n', slice).count();
        let counted = manifest.origin.shards.get(line).map_or(0, |entry| entry.processes);
        if u32::try_from(lines) != Ok(counted) {
            let at = format!("/origin/shards/{line}/processes");
            places.push(Place::file(MANIFEST, counted.to_string(), lines.to_string()).at(at));
        }
    }
    places
}
