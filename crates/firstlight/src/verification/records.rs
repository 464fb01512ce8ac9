//! The lines of `raw.jsonl` as records, read on all cores.

use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{
    Files, Shape, exceeds_memory, is_readable, raw_lines, understood,
};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::RAW;
use firstlight_schema::validation::{MOST_PLACES, Place};
use serde_json::Value;

use crate::error::Error;

/// All records in order, or the lines that are none.
pub(super) fn read(
    files: &Files,
    path: &Path,
    newer: bool,
) -> Result<Result<Vec<RawRecord>, Vec<Place>>, Error> {
    let lines = raw_lines(files, path)?;
    if newer {
        return Ok(Ok(on_all_cores(&lines, |_, line| known(line)).into_iter().flatten().collect()));
    }
    let limit = files.most_memory();
    let too_large = AtomicBool::new(false);
    let found = parse_within(&lines, limit, &too_large);
    if too_large.into_inner() {
        let place = RAW.to_owned();
        let reason = format!("would take more than {limit} bytes of memory");
        return Err(EngineError::Snapshot { path: path.to_owned(), place, reason }.into());
    }
    Ok(found)
}

/// A record of a newer version without what this firstlight does not know; none where it cannot be
/// read, or belongs to a regime that this firstlight does not have.
fn known(line: &[u8]) -> Option<RawRecord> {
    let published: Value = serde_json::from_slice(line).ok()?;
    let has_regime =
        |record: &Value| record.pointer("/subject/regime").is_some_and(|regime| !regime.is_null());
    let of_a_regime = has_regime(&published);
    let record = understood(Shape::RawRecord, published).document;
    if of_a_regime && !has_regime(&record) {
        return None;
    }
    serde_json::from_value(record).ok()
}

pub(crate) fn parse(lines: &[&[u8]]) -> Result<Vec<RawRecord>, Vec<Place>> {
    parse_within(lines, u64::MAX, &AtomicBool::new(false))
}

/// Reads all lines, or as many as fit into the memory.
fn parse_within(
    lines: &[&[u8]],
    limit: u64,
    too_large: &AtomicBool,
) -> Result<Vec<RawRecord>, Vec<Place>> {
    // Small lines share a look at the memory.
    const LOOK_EVERY: usize = 64;
    const LARGE: usize = 256 << 10;
    let one_at_a_time = Mutex::new(());
    let parsed = on_all_cores(lines, |index, line| {
        if too_large.load(Ordering::Relaxed) {
            return Err("is too large".to_owned());
        }
        let large = line.len() > LARGE;
        let _alone = large.then(|| one_at_a_time.lock());
        if !is_readable(line) || (large || index % LOOK_EVERY == 0) && exceeds_memory(limit) {
            too_large.store(true, Ordering::Relaxed);
            return Err("is too large".to_owned());
        }
        serde_json::from_slice::<RawRecord>(line).map_err(|error| error.to_string())
    });
    let mut records = Vec::with_capacity(parsed.len());
    let mut places = Vec::new();
    for (index, record) in parsed.into_iter().enumerate() {
        match record {
            Ok(record) => records.push(record),
            Err(_) if places.len() >= MOST_PLACES => {}
            Err(error) => {
                let at = (index + 1).to_string();
                places.push(Place::file(RAW, error, "a raw record").at(at));
            }
        }
    }
    if places.is_empty() { Ok(records) } else { Err(places) }
}

/// Does the same with every item, in order, with the items dealt out to all cores.
pub(crate) fn on_all_cores<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(items.len().max(1));
    let every_nth = |first: usize| -> Vec<R> {
        (first..items.len()).step_by(cores).map(|place| work(place, &items[place])).collect()
    };
    let dealt: Vec<Vec<R>> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..cores).map(|first| scope.spawn(move || every_nth(first))).collect();
        threads.into_iter().map(|one| one.join().expect("the work does not panic")).collect()
    });
    let mut hands: Vec<_> = dealt.into_iter().map(Vec::into_iter).collect();
    (0..items.len())
        .map(|place| hands[place % cores].next().expect("every item was dealt once"))
        .collect()
}
