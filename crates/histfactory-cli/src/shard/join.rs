//! Joins shards to the whole, and refuses shards that are not its parts.

use std::path::{Path, PathBuf};

use super::agree::{Mismatch, mismatch, same_bits};
use super::{Answers, ShardDocument};
use crate::error::Error;

/// All shards as one piece.
pub(crate) struct Joined {
    pub(crate) whole: ShardDocument,
    /// Remarks on the result.
    pub(crate) notes: Vec<String>,
}

/// The shards in order. Together they must have every toy or signal once.
pub(crate) fn join(mut shards: Vec<(PathBuf, ShardDocument)>) -> Result<Joined, Error> {
    shards.sort_by_key(|(_, shard)| (shard.first, shard.count));
    let mut parts = shards.into_iter();
    let (path, mut whole) =
        parts.next().ok_or_else(|| Error::Usage("there is no shard to merge".to_owned()))?;
    let mut latest = path.clone();
    if whole.first > 0 {
        return Err(missing(&latest, &whole, 0, whole.first));
    }
    let mut rounds_alike = true;
    for (next, shard) in parts {
        if let Some(Mismatch { key, first, other }) = mismatch(&whole, &shard) {
            let why = format!(
                "cannot be merged with `{}`: `{key}` is {other} here and {first} there",
                path.display()
            );
            return Err(Error::Shard { path: next, why });
        }
        check_follows(&latest, &whole, &next, &shard)?;
        rounds_alike &= same_bits(&whole, &shard);
        append(&mut whole, shard, &next)?;
        latest = next;
    }
    let (end, total) = (whole.first + whole.count, whole.total());
    if end != total {
        return Err(missing(&latest, &whole, end, total));
    }
    "1/1".clone_into(&mut whole.shard);
    whole.digest.clear();
    let note = "the shards were computed on processors that round differently, so the result is not \
                bitwise that of one piece";
    let notes = if rounds_alike { Vec::new() } else { vec![note.to_owned()] };
    Ok(Joined { whole, notes })
}

/// Whether a shard begins where those before it end.
fn check_follows(
    latest: &Path,
    whole: &ShardDocument,
    path: &Path,
    shard: &ShardDocument,
) -> Result<(), Error> {
    let end = whole.first + whole.count;
    if shard.first > end {
        return Err(missing(path, shard, end, shard.first));
    }
    if shard.first == end || shard.count == 0 {
        return Ok(());
    }
    let last = end.min(shard.first + shard.count) - 1;
    let why = format!(
        "has {} {} to {last}, which `{}` also has",
        shard.unit(),
        shard.first,
        latest.display()
    );
    Err(Error::Shard { path: path.to_owned(), why })
}

fn missing(near: &Path, shard: &ShardDocument, from: u64, to: u64) -> Error {
    let why = format!(
        "is shard {}; {} {from} to {} of {} are in no shard",
        shard.shard,
        shard.unit(),
        to.saturating_sub(1),
        shard.total()
    );
    Error::Shard { path: near.to_owned(), why }
}

fn append(whole: &mut ShardDocument, shard: ShardDocument, path: &Path) -> Result<(), Error> {
    whole.count += shard.count;
    whole.shard = shard.shard;
    match (&mut whole.answers, shard.answers) {
        (Answers::Fits(all), Answers::Fits(more)) => {
            all.failed += more.failed;
            all.fits.extend(more.fits);
        }
        (Answers::Test(all), Answers::Test(more)) => {
            for (all, more) in
                [(&mut all.tested, more.tested), (&mut all.alternative, more.alternative)]
            {
                all.failed += more.failed;
                all.values.extend(more.values);
            }
        }
        (Answers::Limits(all), Answers::Limits(more)) => all.extend(more),
        (Answers::Fits(_) | Answers::Test(_) | Answers::Limits(_), _) => {
            let why = "has answers to another question than the others".to_owned();
            return Err(Error::Shard { path: path.to_owned(), why });
        }
    }
    Ok(())
}
