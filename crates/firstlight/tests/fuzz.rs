//! Suites, protocol lines and snapshots, cut, flipped, doubled and joined: each is read or rejected, and none
//! makes a reader panic or hang. `docs/design/why-fuzzing-is-seeded.md` explains why by a seed.
//!
//! `FIRSTLIGHT_FUZZ_SECONDS=600 cargo test --package firstlight --test fuzz` gives each fuzzer ten minutes, and
//! `FIRSTLIGHT_FUZZ_SEED` repeats a run. `cargo xtask fuzz` runs all fuzzers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "campaign/random.rs"]
mod random;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use firstlight::is_sound;
use firstlight_engine::snapshot::Files;
use firstlight_schema::conversation::Conversation;
use firstlight_schema::message::{Iterate, Request};
use firstlight_schema::snapshot::RAW;
use firstlight_schema::suite::SuiteFile;
use random::Random;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder with this ending.
fn corpus(folder: &str, end: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(fs::read(path).unwrap());
            }
        }
    }
    assert!(!found.is_empty());
    found
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[expect(clippy::print_stdout, reason = "the number of inputs is the result of a long run")]
fn fuzz(of: &str, corpus: &[Vec<u8>], check: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    let seed = number("FIRSTLIGHT_FUZZ_SEED").unwrap_or(1);
    let time = Duration::from_secs(number("FIRSTLIGHT_FUZZ_SECONDS").unwrap_or(1));
    let mut random = Random(seed);
    let began = Instant::now();
    for round in 0.. {
        let input = mutated(corpus, &mut random);
        if catch_unwind(|| check(&input)).is_err() {
            let path = std::env::temp_dir().join(format!("firstlight-fuzz-{of}-{seed}-{round}"));
            fs::write(&path, &input).unwrap();
            panic!("seed {seed}, round {round}: the input is {}", path.display());
        }
        if began.elapsed() > time {
            println!("{of}: {} inputs from seed {seed}", round + 1);
            return;
        }
    }
}

fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len());
        let end = at + random.below(input.len() - at + 1);
        match random.below(6) {
            0 => input.truncate(at),
            1 => {
                input.drain(at..end);
            }
            2 => {
                let piece = input[at..end.min(at + 200)].to_vec();
                input.splice(at..at, piece);
            }
            3 => {
                let other = &corpus[random.below(corpus.len())];
                input.truncate(at);
                input.extend_from_slice(&other[random.below(other.len())..]);
            }
            4 => {
                let word =
                    random.pick(&["18446744073709551615", "-1", "null", "[[[[", "\"\"", "1e999"]);
                input.splice(at..at, word.bytes());
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = u8::try_from(random.below(256)).unwrap();
                }
            }
        }
        input.truncate(4 << 20);
    }
    input
}

#[test]
fn the_reader_of_suites_survives() {
    fuzz("suite", &corpus("suites", "suite.toml"), |input| {
        if let Ok(suite) = SuiteFile::parse(&String::from_utf8_lossy(input)) {
            assert!(!suite.cases.is_empty() && !suite.arms.is_empty());
        }
    });
}

#[test]
fn the_reader_of_the_protocol_survives() {
    fuzz("protocol", &corpus("fixtures/protocol", ".txt"), |input| {
        let mut conversation = Conversation::default();
        let asked = Iterate { count: 5, within_ns: None, at_least: 1 };
        for request in [
            Request::Watch,
            Request::First,
            Request::Iterate(asked.clone()),
            Request::Settle(asked),
        ] {
            conversation.asked(&request);
        }
        for line in input.split(|&byte| byte == b'\n') {
            let line = line.strip_prefix(b"< ").unwrap_or(line);
            let _ = conversation.said(line);
        }
    });
}

#[test]
fn the_check_of_snapshots_survives() {
    let whole = Files::read(&root().join("fixtures/snapshots/jax-1.0.tar.zst")).unwrap();
    // A few processes are enough, and leave time for more rounds.
    let few: Vec<&[u8]> =
        whole.get(RAW).unwrap().split_inclusive(|&b| b == b'\n').take(3).collect();
    let mut small = whole.clone();
    small.put(RAW, few.concat());
    let paths: Vec<String> = small.paths().map(str::to_owned).collect();
    let contents: Vec<Vec<u8>> =
        paths.iter().map(|path| small.get(path).unwrap().to_vec()).collect();
    fuzz("snapshot", &contents, |input| {
        for path in [RAW, "manifest.json", "suite/suite.toml", "validation.json"] {
            let mut files = small.clone();
            files.put(path, input.to_vec());
            assert_ne!(is_sound(&files, None), Ok(true), "{path}");
        }
    });
}

#[test]
fn the_reader_of_archives_survives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar.zst");
    let packed = fs::read(root().join("fixtures/snapshots/jax-1.0.tar.zst")).unwrap();
    let tar = zstd::decode_all(packed.as_slice()).unwrap();
    fuzz("archive", &[tar[..64 << 10].to_vec(), tar[tar.len() - (64 << 10)..].to_vec()], |input| {
        fs::write(&path, zstd::encode_all(input, 1).unwrap()).unwrap();
        let _ = Files::read(&path);
    });
}
