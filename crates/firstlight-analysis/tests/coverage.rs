//! A small form of the coverage table; `cargo xtask coverage` prints it with enough runs for its digits.

mod fake_runner;
mod noise;
#[path = "fake_runner/scenarios.rs"]
mod scenarios;

use std::thread;

use fake_runner::{Expected, Tally};

const RUNS: u32 = 30;
/// Of thirty runs that cover in 93 %, fewer than this are met once in a thousand.
const FEWEST_COVERED: u32 = 22;

#[test]
fn intervals_cover_what_they_claim_and_what_never_settles_has_no_verdict() {
    let scenarios = scenarios::scenarios();
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let threads: Vec<_> =
            scenarios.iter().map(|one| scope.spawn(move || Tally::new(one, RUNS))).collect();
        threads.into_iter().map(|one| one.join().expect("a scenario runs")).collect()
    });
    for (scenario, tally) in scenarios.iter().zip(tallies) {
        let name = scenario.name;
        match scenario.expected {
            Expected::Covered => {
                let least = FEWEST_COVERED * tally.intervals / RUNS;
                assert!(tally.covered >= least, "{name}: {tally:?}");
                assert!(tally.wrong <= 4, "{name}: {tally:?}");
                assert!(tally.refused <= 4, "{name}: {tally:?}");
            }
            Expected::NoVerdict => {
                assert!(tally.decided + tally.equivalent <= 1, "{name}: {tally:?}");
            }
            Expected::TooRare => {}
        }
    }
}
