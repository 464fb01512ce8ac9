//! The lines of `raw.jsonl` as records, read on all cores.

use std::num::NonZero;
use std::path::Path;
use std::thread;

use firstlight_engine::snapshot::{Files, raw_lines};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::RAW;
use firstlight_schema::validation::Place;

use crate::error::Error;

/// All records in order, or the lines that are none.
pub(super) fn read(
    files: &Files,
    path: &Path,
) -> Result<Result<Vec<RawRecord>, Vec<Place>>, Error> {
    Ok(parse(&raw_lines(files, path)?))
}

pub(crate) fn parse(lines: &[&[u8]]) -> Result<Vec<RawRecord>, Vec<Place>> {
    let parsed = on_all_cores(lines, |_, line| serde_json::from_slice::<RawRecord>(line));
    let mut records = Vec::with_capacity(parsed.len());
    let mut places = Vec::new();
    for (index, record) in parsed.into_iter().enumerate() {
        match record {
            Ok(record) => records.push(record),
            Err(error) => {
                let at = (index + 1).to_string();
                places.push(Place::file(RAW, error.to_string(), "a raw record").at(at));
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
