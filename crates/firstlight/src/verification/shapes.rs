//! Whether documents have the shape of their schemas, without walking over a million equal pairs.
//!
//! A document that is byte for byte what our types write holds nothing that they do not know, and
//! all spans of a block have one type. So it is enough to show the schema a copy with short blocks.
//! Any other document is looked at as a whole.

use std::io;
use std::path::Path;

use firstlight_engine::snapshot::{Files, Shape, check_shape, raw_lines};
use firstlight_schema::difference::{Kind, differences};
use firstlight_schema::message::Message;
use firstlight_schema::reading::{RawRecord, RawSample};
use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::RAW;
use firstlight_schema::validation::Place;
use serde::Serialize;
use serde_json::Value;

use super::records::on_all_cores;
use crate::error::Error;

/// So many spans of a block stand for all.
const SHORT: usize = 4;

/// Every line of `raw.jsonl` against its schema.
pub(super) fn raw(files: &Files, path: &Path, records: &[RawRecord]) -> Result<Vec<Place>, Error> {
    let lines = raw_lines(files, path)?;
    let places = on_all_cores(records, |index, record| {
        let prefix = (index + 1).to_string();
        if is_written_as(lines[index], record) {
            let subject = record.subject.clone();
            let short = RawRecord { subject, sample: shortened(&record.sample) };
            return check_shape(Shape::RawRecord, RAW, &prefix, &value(&short));
        }
        let published: Value = serde_json::from_slice(lines[index]).unwrap_or_default();
        let mut places = check_shape(Shape::RawRecord, RAW, &prefix, &published);
        let unknown = differences(&published, &value(record));
        places.extend(unknown.into_iter().filter(|one| one.kind == Kind::Unknown).map(|one| {
            Place {
                file: RAW.to_owned(),
                path: Some(format!("{prefix}{}", one.path)),
                published: one.published,
                expected: Some("no such field".to_owned()),
            }
        }));
        places
    });
    Ok(places.into_iter().flatten().collect())
}

/// A copy of a run in which blocks of spans are short.
pub(super) fn shortened_run(document: &RunDocument) -> Value {
    let mut short = document.clone();
    for case in &mut short.cases {
        for arm in case.arms.iter_mut().chain(&mut case.again) {
            arm.priming.iter_mut().for_each(shorten);
            let samples = arm.regimes.iter_mut().flat_map(|regime| &mut regime.samples);
            samples.for_each(|sample| shorten(&mut sample.raw));
        }
    }
    value(&short)
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
