//! Whether documents have the shape of their schemas, without walking over a million equal pairs.
//!
//! A document that is byte for byte what our types write holds nothing that they do not know, and
//! all spans of a block have one type. So it is enough to show the schema a copy with short blocks.
//! Any other document is looked at as a whole.

use std::io;
use std::path::Path;

use firstlight_engine::snapshot::{Files, Shape, check_shape, is_small_as_values, raw_lines};
use firstlight_schema::difference::{Kind, differences};
use firstlight_schema::message::Message;
use firstlight_schema::reading::{RawRecord, RawSample};
use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::RAW;
use firstlight_schema::validation::{MOST_PLACES, Place};
use serde::Serialize;
use serde_json::Value;

use super::records::on_all_cores;
use crate::error::Error;

/// So many spans of a block stand for all.
const SHORT: usize = 4;

/// Every line of `raw.jsonl` against its schema. Lines that our types would write are looked at on all cores
/// and in short; others one by one, because as trees of values they take much memory.
pub(super) fn raw(files: &Files, path: &Path, records: &[RawRecord]) -> Result<Vec<Place>, Error> {
    let lines = raw_lines(files, path)?;
    let found = on_all_cores(records, |index, record| {
        let subject = record.subject.clone();
        is_written_as(lines[index], record).then(|| {
            let short = RawRecord { subject, sample: shortened(&record.sample) };
            check_shape(Shape::RawRecord, RAW, &(index + 1).to_string(), &value(&short))
        })
    });
    let mut places = Vec::new();
    for (index, found) in found.into_iter().enumerate() {
        if places.len() >= MOST_PLACES {
            break;
        }
        places.extend(found.unwrap_or_else(|| other(lines[index], &records[index], index + 1)));
    }
    Ok(places)
}

/// A line that our types would write in another way.
fn other(line: &[u8], record: &RawRecord, number: usize) -> Vec<Place> {
    let prefix = number.to_string();
    if !is_small_as_values(line) {
        let expected = "a record of this size as firstlight writes it";
        return vec![Place::file(RAW, "written in another way", expected).at(prefix)];
    }
    let published: Value = serde_json::from_slice(line).unwrap_or_default();
    let mut places = check_shape(Shape::RawRecord, RAW, &prefix, &published);
    let unknown = differences(&published, &value(record));
    places.extend(unknown.into_iter().filter(|one| one.kind == Kind::Unknown).map(|one| Place {
        file: RAW.to_owned(),
        path: Some(format!("{prefix}{}", one.path)),
        published: one.published,
        expected: Some("no such field".to_owned()),
    }));
    places
}

/// A run with one sample of each regime: the others have the same type, and their readings were looked at
/// as raw records.
pub(super) fn shortened_run(mut document: RunDocument) -> Value {
    for case in &mut document.cases {
        for arm in case.arms.iter_mut().chain(&mut case.again) {
            arm.priming.truncate(1);
            arm.priming.iter_mut().for_each(shorten);
            for regime in &mut arm.regimes {
                regime.samples.truncate(1);
                regime.samples.iter_mut().for_each(|sample| shorten(&mut sample.raw));
            }
        }
    }
    value(&document)
}

fn shortened(sample: &RawSample) -> RawSample {
    let mut short = sample.clone();
    shorten(&mut short);
    short
}

fn shorten(sample: &mut RawSample) {
    for message in &mut sample.messages {
        if let Message::Iterations(block) = message {
            block.spans.truncate(SHORT);
        }
    }
}

pub(super) fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("a document has plain fields")
}

/// Whether the bytes are what we would write for this document.
pub(super) fn is_written_as(bytes: &[u8], document: &impl Serialize) -> bool {
    let mut rest = Same(bytes);
    serde_json::to_writer(&mut rest, document).is_ok() && rest.0.is_empty()
}

/// The place of the first byte that is not what we would write for this document.
pub(super) fn first_difference(bytes: &[u8], document: &impl Serialize) -> usize {
    let mut rest = Same(bytes);
    let _ = serde_json::to_writer(&mut rest, document);
    bytes.len() - rest.0.len()
}

/// Takes what is written off the front of the bytes, and fails at the first that differs.
struct Same<'a>(&'a [u8]);

impl io::Write for Same<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.strip_prefix(bytes) {
            Some(rest) => {
                self.0 = rest;
                Ok(bytes.len())
            }
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
