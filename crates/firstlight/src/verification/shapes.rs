//! Checks that documents match their schemas, without comparing a million equal pairs.
//!
//! A document that equals the serialisation of our types contains no unknown fields, and all spans of a block
//! have one type. For such a document it is enough to validate a copy with short blocks. Any other document
//! is validated as a whole.

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

/// The number of spans of a block that are validated.
const SHORT: usize = 4;

/// Validates every line of `raw.jsonl` against its schema. Lines that equal our serialisation are validated
/// on all cores in short form; others one by one, because as trees of values they take much memory.
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

/// A line that differs from our serialisation.
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

/// A run with one sample of each regime: the others have the same type, and their readings were validated as
/// raw records.
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

/// Whether the bytes equal our serialisation of this document.
pub(super) fn is_written_as(bytes: &[u8], document: &impl Serialize) -> bool {
    let mut rest = Same(bytes);
    serde_json::to_writer(&mut rest, document).is_ok() && rest.0.is_empty()
}

/// The position of the first byte that differs from our serialisation of this document.
pub(super) fn first_difference(bytes: &[u8], document: &impl Serialize) -> usize {
    let mut rest = Same(bytes);
    let _ = serde_json::to_writer(&mut rest, document);
    bytes.len() - rest.0.len()
}

/// Compares written bytes with the beginning of the slice, and fails at the first difference.
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
