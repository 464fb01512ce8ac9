//! Traces generated for tests and benches: repeated recordings of the fixtures, and small ones written by
//! hand.
#![allow(dead_code, clippy::allow_attributes, reason = "each test takes what it needs")]

pub(crate) mod chrome;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use prost::Message;

/// A fixture of the repository, unpacked.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    unpacked(&fixtures().join(name))
}

/// Of the repository it was built in, otherwise of the current folder.
pub(crate) fn fixtures() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    if here.is_dir() { here } else { PathBuf::from("fixtures/traces") }
}

pub(crate) fn unpacked(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut bytes).expect("a fixture is whole");
    bytes
}

/// The complete recordings, if present: `FIRSTLIGHT_SHARED_DATA`, or `shared/data` in a parent folder.
pub(crate) fn recordings() -> Option<PathBuf> {
    let named = std::env::var_os("FIRSTLIGHT_SHARED_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|up| up.join("shared/data"));
    let found = named.into_iter().chain(above).find(|folder| folder.join("traces").is_dir());
    if found.is_none() {
        skipped();
    }
    found.map(|folder| folder.join("traces"))
}

/// `cargo xtask test` counts a test as skipped if part of its input is missing.
fn skipped() {
    use std::io::Write as _;
    let Some(record) = std::env::var_os("FIRSTLIGHT_SKIPPED") else { return };
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let file = File::options().create(true).append(true).open(record);
    let line = format!("firstlight-trace: {name}: no shared/data\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the record can be written");
}

/// A name in one of a plane's tables.
pub(crate) fn named(id: i64, name: &str) -> Entry {
    Entry { key: id, value: Named { id, name: name.to_owned() }.encode_to_vec() }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct XSpace {
    #[prost(message, repeated, tag = "1")]
    pub(crate) planes: Vec<XPlane>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) errors: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) warnings: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) hostnames: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct XPlane {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) lines: Vec<XLine>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) event_metadata: Vec<Entry>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) stat_metadata: Vec<Entry>,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub(crate) stats: Vec<Vec<u8>>,
}

/// An entry of either map; other fields are kept as they are.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Entry {
    #[prost(int64, tag = "1")]
    pub(crate) key: i64,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Named {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct XLine {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(int64, tag = "3")]
    pub(crate) timestamp_ns: i64,
    #[prost(message, repeated, tag = "4")]
    pub(crate) events: Vec<XEvent>,
    #[prost(int64, tag = "9")]
    pub(crate) duration_ps: i64,
    #[prost(int64, tag = "10")]
    pub(crate) display_id: i64,
    #[prost(string, tag = "11")]
    pub(crate) display_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct XEvent {
    #[prost(int64, tag = "1")]
    pub(crate) metadata_id: i64,
    #[prost(int64, tag = "2")]
    pub(crate) offset_ps: i64,
    #[prost(int64, tag = "3")]
    pub(crate) duration_ps: i64,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(crate) stats: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Stat {
    #[prost(int64, tag = "1")]
    pub(crate) metadata_id: i64,
    #[prost(int64, optional, tag = "4")]
    pub(crate) signed: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub(crate) text: Option<String>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub(crate) bytes: Option<Vec<u8>>,
}

/// The recording repeated until it is at least `bytes` long.
pub(crate) fn longer_xplane(recording: &[u8], bytes: usize) -> Vec<u8> {
    let mut space = XSpace::decode(recording).expect("a recording is an XSpace");
    let events = |space: &XSpace| {
        let lines = space.planes.iter().flat_map(|plane| &plane.lines);
        lines.map(|line| line.events.len()).sum::<usize>()
    };
    let longest = space
        .planes
        .iter()
        .flat_map(|plane| &plane.lines)
        .flat_map(|line| &line.events)
        .map(|event| event.offset_ps + event.duration_ps)
        .max()
        .unwrap_or(0);
    let without: usize = {
        let mut bare = space.clone();
        for line in bare.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
            line.events.clear();
        }
        bare.encoded_len()
    };
    let each = (space.encoded_len() - without).max(1);
    let times = bytes.saturating_sub(without) / each + 1;
    assert!(events(&space) > 0);
    for line in space.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
        let own = std::mem::take(&mut line.events);
        line.events.reserve(own.len() * times);
        for round in 0..i64::try_from(times).expect("few rounds") {
            line.events.extend(own.iter().cloned().map(|mut event| {
                event.offset_ps += round * longest;
                event
            }));
        }
    }
    space.encode_to_vec()
}

/// A repeated Kineto recording with its own text, except for the times.
pub(crate) fn longer_kineto(recording: &[u8], bytes: usize) -> Vec<u8> {
    let text = std::str::from_utf8(recording).expect("JSON is text");
    let begin = text.find("\"traceEvents\": [").expect("a list of events") + 16;
    let end = text.rfind("\n  ],").expect("the list's end");
    let (head, body, tail) = (&text[..begin], &text[begin..end], &text[end..]);
    let mut out = String::with_capacity(bytes + text.len());
    out.push_str(head);
    let mut round = 0_i64;
    while round == 0 || out.len() < bytes {
        if round > 0 {
            out.push(',');
        }
        for (index, part) in body.split("\"ts\": ").enumerate() {
            if index == 0 {
                out.push_str(part);
                continue;
            }
            let length = part.find([',', '\n', ' ']).unwrap_or(part.len());
            let (whole, fraction) =
                part[..length].split_once('.').unwrap_or((&part[..length], "000"));
            // Ten seconds are longer than any of the recordings.
            let whole = whole.parse::<i64>().expect("a time") + round * 10_000_000;
            write!(out, "\"ts\": {whole}.{fraction}").expect("a string");
            out.push_str(&part[length..]);
        }
        round += 1;
    }
    out.push_str(tail);
    out.into_bytes()
}

/// A Kineto recording with Python frames, as from `with_stack=True`: nearly all of its events.
pub(crate) fn kineto_with_stacks(bytes: usize) -> Vec<u8> {
    let mut out = String::with_capacity(bytes + 4096);
    out.push_str(
        "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    ],\n  \"displayTimeUnit\": \
         \"ms\",\n  \"baseTimeNanoseconds\": 1790857026000000000,\n  \"traceEvents\": [",
    );
    let (mut at, mut id, mut step) = (3_867_713_060_729_630_i64, 0_u64, 0);
    let us = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000);
    while out.len() < bytes {
        let frames = 900_i64;
        let long = frames * 2_000 + 10_000;
        write!(
            out,
            "\n  {{\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{step}\", \
             \"pid\": 1144, \"tid\": 1144,\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \
             \"External id\": {id},\"Record function id\": 0, \"Ev Idx\": {id}\n    }}\n  }},",
            us(at),
            us(long)
        )
        .expect("a string");
        for frame in 0..frames {
            id += 1;
            write!(
                out,
                "\n  {{\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \
                 \"torch/nn/modules/module.py({}): _wrapped_call_impl_{}\", \"pid\": 1144, \"tid\": \
                 1144,\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"Python id\": {id}, \
                 \"Python parent id\": {}, \"Python module id\": {}, \"Ev Idx\": {id}\n    }}\n  }},",
                1500 + frame % 300,
                frame % 40,
                us(at + 1_000 + frame * 2_000),
                us(1_900),
                id.saturating_sub(1),
                frame % 60,
            )
            .expect("a string");
        }
        at += long + 5_000;
        step += 1;
    }
    out.pop();
    out.push_str("\n  ],\n  \"traceName\": \"trace.json\"\n}\n");
    out.into_bytes()
}
