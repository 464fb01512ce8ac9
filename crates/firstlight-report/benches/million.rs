//! The time for a report of a million calls: `cargo xtask bench report`. With a path it writes the document
//! there.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "a bench prints what it found")]

#[path = "../tests/made/mod.rs"]
#[expect(dead_code, reason = "the tests make more of it")]
mod made;

use std::hint::black_box;
use std::time::Instant;

use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_report::export::markdown;
use firstlight_report::html::{Around, page};
use firstlight_report::model::Model;
use firstlight_schema::message::{Message, Part};
use firstlight_schema::nanos::Moment;
use firstlight_schema::run::RunDocument;
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

const PROCESSES: usize = 5;
const CALLS: usize = 100_000;
/// Clocks started long ago, so that readings have a realistic number of digits.
const SINCE_BOOT: u64 = 15_000_000_000_000;

fn main() {
    let document = million();
    let json = serde_json::to_string(&document).unwrap();
    println!("   {:.1} MB of JSON, {} calls", megabytes(json.len()), 2 * PROCESSES * CALLS);
    let read: RunDocument = timed("reading it", || serde_json::from_str(&json).unwrap());
    timed("the view model", || Model::new(&read));
    let html = timed("the page, view model included", || page(&read, Around::default()));
    println!("   {:.2} MB of HTML", megabytes(html.len()));
    timed("the Markdown", || markdown(&read));
    if let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        std::fs::write(path, json).unwrap();
    }
}

/// A run whose two arms have made a million warm calls.
fn million() -> RunDocument {
    let mut document = made::run();
    let mut noise = 1_u64;
    for arm in document.cases[0].arms.iter_mut().take(2) {
        for regime in arm.regimes.iter_mut().filter(|result| result.regime == Regime::Warm) {
            let conditions =
                Conditions { policy: regime.policy, any_exit_code: false, job: Job::Window };
            regime.samples.truncate(PROCESSES);
            for sample in &mut regime.samples {
                let mut raw = sample.raw.clone();
                lengthen(&mut raw.messages, &mut noise);
                raw.reaped = Moment(raw.reaped.0 + SINCE_BOOT * 2);
                *sample = Sample { round: sample.round, ..examine(raw, conditions) };
            }
        }
    }
    document
}

/// Fills the window with calls of 1 ms and some noise, and occasional slow calls.
fn lengthen(messages: &mut [Message], noise: &mut u64) {
    let mut at = SINCE_BOOT;
    for message in messages {
        let Message::Iterations(block) = message else { continue };
        if block.part == Part::Window {
            block.spans = std::iter::repeat_with(|| {
                *noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let chance = *noise >> 40;
                let length =
                    1_000_000 + chance / 400 + 9_000_000 * u64::from(chance.is_multiple_of(5_000));
                at += length + 700;
                (Moment(at - length), Moment(at))
            })
            .take(CALLS)
            .collect();
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let made = black_box(work());
    println!("   {what}: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    made
}
