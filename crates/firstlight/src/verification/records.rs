//! The lines of `raw.jsonl` as records, read on all cores.

use std::num::NonZero;
use std::path::Path;
use std::thread;

use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{
    Files, Shape, as_records, is_readable, newer_values, raw_lines, understood,
};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::RAW;
use firstlight_schema::validation::{MOST_PLACES, Place};
use serde_json::Value;

use crate::error::Error;

/// All records in order, or the invalid lines.
pub(super) fn read(
    files: &Files,
    path: &Path,
    newer: bool,
) -> Result<Result<Vec<RawRecord>, Vec<Place>>, Error> {
    let lines = raw_lines(files, path)?;
    let limit = files.most_memory();
    if as_records(&lines) > limit || !lines.iter().all(|line| is_readable(line)) {
        let place = RAW.to_owned();
        let reason = format!("would take more than {limit} bytes of memory");
        return Err(EngineError::Snapshot { path: path.to_owned(), place, reason }.into());
    }
    if newer {
        // Values take much more memory than records, so they are parsed one line at a time.
        return Ok(Ok(lines.iter().filter_map(|line| known(line)).collect()));
    }
    Ok(parse(&lines))
}

/// A record of a newer version without its unknown fields; `None` if it cannot be read, or has an unknown
/// regime.
fn known(line: &[u8]) -> Option<RawRecord> {
    let published = newer_values(line).ok()?;
    let has_regime =
        |record: &Value| record.pointer("/subject/regime").is_some_and(|regime| !regime.is_null());
    let of_a_regime = has_regime(&published);
    let record = understood(Shape::RawRecord, published).document;
    if of_a_regime && !has_regime(&record) {
        return None;
    }
    serde_json::from_value(record).ok()
}

/// Reads all lines, or reports the invalid ones.
pub(crate) fn parse(lines: &[&[u8]]) -> Result<Vec<RawRecord>, Vec<Place>> {
    let parsed = on_all_cores(lines, |_, line| serde_json::from_slice::<RawRecord>(line));
    let mut records = Vec::with_capacity(parsed.len());
    let mut places = Vec::new();
    for (index, record) in parsed.into_iter().enumerate() {
        match record {
            Ok(record) => records.push(record),
            Err(_) if places.len() >= MOST_PLACES => {}
            Err(error) => {
                let at = (index + 1).to_string();
                places.push(Place::file(RAW, error.to_string(), "a raw record").at(at));
            }
        }
    }
    if places.is_empty() { Ok(records) } else { Err(places) }
}

/// Maps every item, in order, with the items distributed over all cores.
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
        .map(|place| hands[place % cores].next().expect("every item was processed once"))
        .collect()
}
