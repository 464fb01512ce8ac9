//! The coverage table: how often nominal 95 % intervals cover a known truth, how often identical arms are
//! called different, and which scenarios give no verdict. `cargo xtask coverage` prints it.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/fake_runner/mod.rs"]
mod fake_runner;
#[path = "../tests/noise/mod.rs"]
mod noise;
#[path = "../tests/fake_runner/scenarios.rs"]
mod scenarios;

use std::process::ExitCode;
use std::thread;

use fake_runner::{Expected, Tally};

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 { f64::NAN } else { f64::from(part) / f64::from(whole) }
}

fn main() -> ExitCode {
    let runs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    println!("{runs} runs of each scenario, margin 2 %, nominal 95 % intervals\n");
    println!(
        "{:42} {:>6} {:>9} {:>6} {:>9} {:>11} {:>8} {:>6}",
        "scenario", "truth", "covered", "wrong", "different", "equivalent", "refused", "pairs"
    );
    let only = std::env::args().nth(2).unwrap_or_default();
    let mut scenarios = scenarios::scenarios();
    scenarios.retain(|scenario| scenario.name.contains(&only));
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let halves = scenarios.iter().map(|one| scope.spawn(move || Tally::new(one, runs)));
        let threads: Vec<_> = halves.collect();
        threads.into_iter().map(|one| one.join().expect("a scenario runs")).collect()
    });
    let mut sound = true;
    for (scenario, tally) in scenarios.iter().zip(tallies) {
        let covered = share(tally.covered, tally.intervals);
        let wrong = share(tally.wrong, runs);
        let refused = share(tally.refused, runs);
        let meets = match scenario.expected {
            Expected::Covered => {
                // Two standard errors of the simulation itself.
                let error = 2.0 * (0.95 * 0.05 / f64::from(tally.intervals.max(1))).sqrt();
                (0.93 - error..=0.97 + error).contains(&covered) && wrong < 0.05
            }
            Expected::NoVerdict => share(tally.decided + tally.equivalent, runs) < 0.05,
            Expected::TooRare => true,
        };
        sound &= meets;
        let note = match (meets, scenario.expected) {
            (false, _) => "FALLS SHORT",
            (true, Expected::TooRare) => "rarer than the interval covers, and said so",
            (true, Expected::NoVerdict) => "no verdict, as it must be",
            (true, Expected::Covered) => "",
        };
        let percent = |share: f64| {
            if share.is_nan() { "-".to_owned() } else { format!("{:.1} %", share * 100.0) }
        };
        println!(
            "{:42} {:>6.3} {:>9} {:>6} {:>9} {:>11} {:>8} {:>6.1}  {note}",
            scenario.name,
            scenario.truth,
            percent(covered),
            percent(wrong),
            percent(share(tally.decided, runs)),
            percent(share(tally.equivalent, runs)),
            percent(refused),
            share(tally.pairs, tally.intervals),
        );
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
