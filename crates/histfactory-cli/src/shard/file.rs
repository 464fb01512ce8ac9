//! Shard files: JSON with a seal, so that a file that was cut off or changed is recognised.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{NAME, ShardDocument};
use crate::error::Error;
use crate::output::Schema;

/// The shard with its digest.
pub(crate) fn seal(mut shard: ShardDocument) -> Result<ShardDocument, Error> {
    shard.digest.clear();
    shard.digest = digest(&shard)?;
    Ok(shard)
}

/// A shard whose digest is right.
pub(crate) fn read(path: &Path) -> Result<ShardDocument, Error> {
    let refused = |why: String| Error::Shard { path: path.to_owned(), why };
    let bytes = std::fs::read(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
    check_version(&bytes).map_err(refused)?;
    let mut shard: ShardDocument = serde_json::from_slice(&bytes)
        .map_err(|error| refused(format!("is not a shard: {error}")))?;
    let stated = std::mem::take(&mut shard.digest);
    let found = digest(&shard)?;
    if found != stated {
        return Err(refused(format!(
            "was changed after it was written: its digest is {found}, it states {stated}"
        )));
    }
    shard.digest = stated;
    match shard.answered() {
        Some(count) if count == shard.count => Ok(shard),
        _ => Err(refused("does not have the answers to its own question".to_owned())),
    }
}

/// The version comes before the body: what follows may be anything.
fn check_version(bytes: &[u8]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Head {
        schema: Schema,
    }
    let head: Head =
        serde_json::from_slice(bytes).map_err(|error| format!("is not a shard: {error}"))?;
    let Schema { name, version } = head.schema;
    if name != NAME {
        return Err(format!("is not a shard: it is a document `{name}`"));
    }
    if version != Schema::new(NAME).version {
        return Err(format!(
            "has version {version} of the format, which this histfactory cannot read"
        ));
    }
    Ok(())
}

fn digest(shard: &ShardDocument) -> Result<String, Error> {
    let json = serde_json::to_vec(shard)?;
    Ok(Sha256::digest(&json).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes everything");
        hex
    }))
}
