//! The cost of analysing a million iterations: as ten processes, and as one.

#![expect(clippy::print_stdout, reason = "the times are what this is for")]

#[path = "../tests/noise/mod.rs"]
mod noise;

use std::hint::black_box;
use std::time::Instant;

use firstlight_analysis::stats::{
    Components, SteadyPart, autocorrelation_time, block_bootstrap, change_points, drift, log_mean,
};
use firstlight_analysis::steady::steady;

use noise::Noise;

fn main() {
    let mut noise = Noise::new(1);
    let processes: Vec<Vec<f64>> = (0..10).map(|_| iterations(&mut noise, 100_000)).collect();
    timed("10 processes x 100 000", || whole(&processes));
    timed("  steady", || processes.iter().map(|values| steady(values)).collect::<Vec<_>>());
    timed("  drift", || processes.iter().map(|values| drift(values)).collect::<Vec<_>>());
    let one = vec![iterations(&mut noise, 1_000_000)];
    timed("1 process x 1 000 000", || whole(&one));
    timed("  steady", || steady(&one[0]));
    timed("  autocorrelation time", || autocorrelation_time(&one[0]));
    timed("  drift", || drift(&one[0]));
    timed("  block bootstrap", || block_bootstrap(&one[0], 1));
    // Without changes nothing can be pruned.
    let flat = noise.series(1_000_000, 1e6, 0.01, 0.0);
    timed("change points of 1 000 000 without any", || change_points(&flat));
    let mut restless = flat;
    let slow = restless.chunks_mut(777).skip(1).step_by(2);
    slow.flatten().for_each(|value| *value *= 1.1);
    timed("change points of 1 000 000 with very many", || change_points(&restless));
}

/// A warm-up, correlated noise, a process effect and a few slow iterations.
fn iterations(noise: &mut Noise, n: usize) -> Vec<f64> {
    let level = 1e6 * (1.0 + 0.01 * noise.normal());
    let mut values = noise.series(n, level, 0.01, 0.7);
    values[..n / 50].iter_mut().for_each(|value| *value *= 1.2);
    noise.slow_some(&mut values, 0.02, 10.0);
    values
}

/// All computations of a warm case.
fn whole(processes: &[Vec<f64>]) {
    let parts: Vec<SteadyPart> = processes
        .iter()
        .filter_map(|values| {
            let part = &values[steady(values).from?..];
            black_box((autocorrelation_time(part), drift(part)));
            SteadyPart::new(part)
        })
        .collect();
    let means: Vec<f64> = parts.iter().map(|part| part.mean).collect();
    black_box((log_mean(&means), Components::new(&parts)));
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) {
    let start = Instant::now();
    black_box(work());
    println!("{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
}
