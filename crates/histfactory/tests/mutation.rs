//! A fuzzer for the readers that runs on the stable toolchain: it damages valid documents in seeded ways. No
//! document may cause a panic or a result that is not a number.
//!
//! In CI each reader gets a few hundred documents. `HISTFACTORY_FUZZ_SECONDS=600 cargo test --release
//! --package histfactory --test mutation -- --nocapture` runs for ten minutes, and `HISTFACTORY_FUZZ_SEED`
//! selects the first seed, also to repeat a failure. Parallel runs should get distant seeds, because each
//! continues with the next. The test's binary runs on its own.

#![expect(clippy::print_stdout, reason = "how many were tried is the result of a long run")]

use std::time::{Duration, Instant};

use histfactory::synthetic::{Limits, any};
use histfactory::workspace::{Algorithm, Patch, PatchSet, digest};
use histfactory::{FitOptions, Model, ModelOptions, Workspace};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

/// Tries the usual number of seeds, or as many as the time allows; a failure names its seed.
fn fuzz(what: &str, usual: u64, mut check: impl FnMut(u64, &mut Pcg64Mcg)) {
    let number = |variable: &str| -> Option<u64> {
        let text = std::env::var(variable).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, expected a number")))
    };
    let first = number("HISTFACTORY_FUZZ_SEED").unwrap_or(0);
    let seconds = number("HISTFACTORY_FUZZ_SECONDS").map(Duration::from_secs);
    let begin = Instant::now();
    let mut seed = first;
    while seconds.map_or(seed < first + usual, |seconds| begin.elapsed() < seconds) {
        let mut dice = Pcg64Mcg::seed_from_u64(seed);
        let tried = std::panic::AssertUnwindSafe(|| check(seed, &mut dice));
        if let Err(panic) = std::panic::catch_unwind(tried) {
            println!("{what}: HISTFACTORY_FUZZ_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
        seed += 1;
    }
    println!("{what}: {} documents from seed {first}", seed - first);
}

/// A wrong value.
fn odd(dice: &mut Pcg64Mcg) -> Value {
    let choices = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(""),
        json!("mu"),
        json!("histosys"),
        json!("lumi"),
        json!([]),
        json!([[]]),
        json!([0.0, 1e300, -3.5]),
        json!({}),
        json!({"hi": 0.0, "lo": 0.0}),
        json!({"hi_data": [1.0], "lo_data": [1.0]}),
    ];
    choices[dice.random_range(0..choices.len())].clone()
}

/// All places of a document.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{here}/{index}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                pointers(item, &format!("{here}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn damage(document: &mut Value, dice: &mut Pcg64Mcg) {
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    let at = all[dice.random_range(0..all.len())].clone();
    let donor = document.pointer(&all[dice.random_range(0..all.len())]).cloned();
    let Some(place) = document.pointer_mut(&at) else { return };
    match dice.random_range(0..5) {
        0 => *place = odd(dice),
        1 => *place = donor.unwrap_or_default(),
        2 => match place {
            Value::Array(items) if !items.is_empty() => {
                let index = dice.random_range(0..items.len());
                items.remove(index);
            }
            Value::Object(map) if !map.is_empty() => {
                let index = dice.random_range(0..map.len());
                let key = map.keys().nth(index).cloned().unwrap_or_default();
                map.remove(&key);
            }
            _ => {}
        },
        3 => match place {
            Value::Array(items) if !items.is_empty() => items.push(items[0].clone()),
            Value::Object(map) => {
                map.insert("surplus".to_owned(), odd(dice));
            }
            _ => {}
        },
        _ => match place {
            Value::Number(number) => {
                let value = number.as_f64().unwrap_or(0.0);
                let factor = [-1.0, 0.0, 1e-12, 1e12][dice.random_range(0..4)];
                *place = json!(value * factor);
            }
            place => *place = odd(dice),
        },
    }
}

/// Uses a document in every possible way: each must end in an error or in numbers.
fn used(text: &[u8]) -> Option<bool> {
    let workspace = Workspace::from_slice(text).ok()?;
    assert_eq!(
        workspace.to_json().parse::<Workspace>().expect("the document was valid"),
        workspace
    );
    let model = Model::new(&workspace, &ModelOptions::default()).ok()?;
    if let Ok((nll, gradient)) = model.nll_and_gradient(model.init(), model.observed()) {
        assert!(!nll.is_nan());
        if nll.is_finite() {
            assert!(gradient.iter().all(|slope| !slope.is_nan()), "{}", workspace.to_json());
        }
    }
    let options = FitOptions { max_iterations: 40, ..FitOptions::default() };
    if let Ok(fit) = model.fit(model.observed(), &options) {
        assert!(fit.nll.is_finite() && fit.theta.iter().all(|value| value.is_finite()));
        let slopes = fit.gradient.iter().zip(&fit.free).filter(|(_, free)| **free);
        let are_numbers = slopes.into_iter().all(|(slope, _)| !slope.is_nan());
        assert!(!fit.converged() || fit.kkt.is_finite() && are_numbers, "{}", workspace.to_json());
    }
    Some(true)
}

fn damaged_document(seed: u64, dice: &mut Pcg64Mcg) -> Value {
    let limits = Limits { channels: 2, bins: 3, samples: 2, modifiers: 4, odd: true };
    let mut document = any(seed, limits).to_value();
    for _ in 0..dice.random_range(1..4) {
        damage(&mut document, dice);
    }
    document
}

#[test]
fn a_damaged_document_is_rejected_or_gives_numbers() {
    let mut accepted = 0;
    fuzz("damaged documents", 600, |seed, dice| {
        let document = damaged_document(seed, dice);
        accepted += usize::from(used(document.to_string().as_bytes()).is_some());
    });
    println!("{accepted} of them were models");
    assert!(accepted > 0, "some damage is harmless");
}

/// Found by long runs: slopes that are infinite or NaN, a model without a parameter that is shared between
/// bins, and a factor that was used after its renewal had failed.
#[test]
fn documents_that_once_gave_wrong_results_are_rejected() {
    for seed in [180_345, 100_037_641, 200_119_460, 300_018_500, 400_013_870] {
        let document = damaged_document(seed, &mut Pcg64Mcg::seed_from_u64(seed));
        assert_eq!(used(document.to_string().as_bytes()), Some(true), "seed {seed}: it is a model");
    }
}

/// A valid text with a few bytes changed, lost or added.
fn damaged_bytes(mut bytes: Vec<u8>, dice: &mut Pcg64Mcg) -> Vec<u8> {
    for _ in 0..dice.random_range(1..4) {
        let at = dice.random_range(0..bytes.len());
        match dice.random_range(0..4) {
            0 => bytes[at] = dice.random_range(0..=255),
            1 => bytes.truncate(at.max(1)),
            2 => bytes[at] = b"{}[]\",:-.eE0129nNIt\\"[dice.random_range(0..20)],
            _ => bytes.insert(at, b"[{\"1-"[dice.random_range(0..5)]),
        }
    }
    bytes
}

#[test]
fn damaged_bytes_are_rejected_or_give_numbers() {
    fuzz("damaged bytes", 1500, |seed, dice| {
        let limits = Limits { channels: 1, bins: 2, samples: 2, modifiers: 3, odd: false };
        let bytes = any(seed % 50, limits).to_value().to_string().into_bytes();
        let bytes = damaged_bytes(bytes, dice);
        used(&bytes);
        // Readers of other documents get the same input.
        let _ = Patch::from_slice(&bytes);
        let _ = PatchSet::from_slice(&bytes);
    });
}

#[test]
fn a_document_that_is_nested_too_deeply_is_rejected() {
    let deep = "[".repeat(200_000);
    assert!(deep.parse::<Workspace>().is_err());
    let inside = format!("{{\"channels\": {deep}");
    assert!(inside.parse::<Workspace>().is_err());
}

/// An operation on a place of the document, with a place and a value that may not fit.
fn operation(document: &Value, dice: &mut Pcg64Mcg) -> Value {
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    let mut place = || all[dice.random_range(0..all.len())].clone();
    let (to, from) = (place(), place());
    let op = ["add", "remove", "replace", "move", "copy", "test"][dice.random_range(0..6)];
    json!({"op": op, "path": to, "from": from, "value": odd(dice)})
}

#[test]
fn a_damaged_patch_fails_or_leaves_a_workspace() {
    fuzz("damaged patches", 600, |seed, dice| {
        let workspace = any(seed % 40, Limits::default());
        let text = json!([operation(&workspace.to_value(), dice)]);
        let Ok(patch) = Patch::from_slice(text.to_string().as_bytes()) else { return };
        if let Ok(changed) = workspace.patched(&[patch]) {
            assert!(changed.validate().is_ok());
        }
    });
}

#[test]
fn a_damaged_patch_set_is_rejected_or_gives_workspaces() {
    let mut applied = 0;
    fuzz("damaged patch sets", 600, |seed, dice| {
        let document = any(seed % 40, Limits::default()).to_value();
        let sha256 = Algorithm::parse("sha256").expect("the algorithm is known");
        let entry = |name: &str, dice: &mut Pcg64Mcg| {
            let harmless = json!({"op": "replace", "path": "/channels/0/samples/0/data/0",
                                  "value": dice.random_range(1..50)});
            let mut patch = vec![harmless];
            for _ in 0..dice.random_range(0..3) {
                patch.push(operation(&document, dice));
            }
            json!({"metadata": {"name": name, "values": [seed]}, "patch": patch})
        };
        let mut set = json!({
            "metadata": {"references": {"hepdata": "ins1234567"}, "description": "signals",
                         "digests": {"sha256": digest(&document, sha256)}, "labels": ["mass"]},
            "patches": [entry("heavy", dice), entry("light", dice)],
            "version": "1.0.0",
        });
        for _ in 0..dice.random_range(0..3) {
            damage(&mut set, dice);
        }
        let mut bytes = set.to_string().into_bytes();
        if dice.random_range(0..4) == 0 {
            bytes = damaged_bytes(bytes, dice);
        }
        let Ok(set) = PatchSet::from_slice(&bytes) else { return };
        let _ = set.verify(&document);
        for name in ["heavy", "light", ""] {
            if let Ok(workspace) = set.apply(&document, name) {
                assert!(workspace.validate().is_ok());
                used(workspace.to_json().as_bytes());
                applied += 1;
            }
        }
    });
    println!("{applied} patches of them were applied");
    assert!(applied > 0, "some damage is harmless");
}
