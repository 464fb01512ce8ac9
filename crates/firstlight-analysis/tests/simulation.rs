//! Compares the statistics with known truths: how often nominal 95 % intervals cover, and how often identical
//! arms are called different.

mod noise;

use firstlight_analysis::stats::{Ratio, block_bootstrap, log_mean, median};
use firstlight_analysis::steady::steady;
use firstlight_schema::estimate::Estimate;

use noise::Noise;

/// The minimum coverage of nominal 95 % intervals.
const COVERAGE: f64 = 0.93;

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).expect("simulations are small"))
}

/// How often a condition holds; every round has its own seed.
fn rate(rounds: u32, mut holds: impl FnMut(&mut Noise) -> bool) -> f64 {
    let held = (0..rounds).filter(|round| holds(&mut Noise::new(u64::from(*round)))).count();
    count(held) / f64::from(rounds)
}

fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.interval.is_some_and(|interval| (interval.low..=interval.high).contains(&truth))
}

#[test]
fn the_cold_median_has_its_coverage_under_contamination() {
    for n in [10, 20] {
        let found = rate(4_000, |noise| {
            let mut values: Vec<f64> =
                (0..n).map(|_| 1e9 * (0.05 * noise.normal()).exp()).collect();
            // Slow runs are slower than the median in any case, so that the median stays known.
            for value in values.iter_mut().filter(|value| **value > 1e9) {
                if noise.uniform() < 0.2 {
                    *value *= 1.5;
                }
            }
            covers(&median(&values).unwrap(), 1e9)
        });
        println!("cold median, n = {n}: {found}");
        assert!(found >= COVERAGE, "n = {n}: {found}");
    }
}

/// A share of iterations that are slower by a factor between two and the most.
#[derive(Clone, Copy, Debug)]
struct Slow {
    share: f64,
    most: f64,
}

impl Slow {
    /// The factor by which slow iterations increase the expected mean.
    fn inflation(self) -> f64 {
        1.0 + self.share * (f64::midpoint(2.0, self.most) - 1.0)
    }
}

/// The iterations of a process: one per cent process effect, correlated noise of two per cent, a
/// warm-up plateau and some slow iterations.
fn process(noise: &mut Noise, n: usize, slow: Slow) -> Vec<f64> {
    let level = 1e6 * (1.0 + 0.01 * noise.normal());
    let mut values = noise.series(n, level, 0.02, 0.7);
    values[..n / 5].iter_mut().for_each(|value| *value *= 1.3);
    noise.slow_some(&mut values, slow.share, slow.most);
    values
}

/// The mean of the steady part, as in the warm regime.
fn steady_mean(values: &[f64]) -> Option<f64> {
    let part = &values[steady(values).from?..];
    Some(part.iter().sum::<f64>() / count(part.len()))
}

#[test]
fn the_mean_of_warm_processes_has_its_coverage() {
    for slow in [Slow { share: 0.02, most: 4.0 }, Slow { share: 0.04, most: 20.0 }] {
        for processes in [5, 10] {
            let found = rate(1_000, |noise| {
                let means: Vec<f64> = (0..processes)
                    .filter_map(|_| steady_mean(&process(noise, 200, slow)))
                    .collect();
                means.len() * 10 >= processes * 9
                    && covers(&log_mean(&means).unwrap(), 1e6 * slow.inflation())
            });
            println!("warm mean, {processes} processes, {slow:?}: {found}");
            assert!(found >= COVERAGE, "{processes} processes, {slow:?}: {found}");
        }
    }
}

#[test]
fn one_process_alone_does_not_determine_the_mean_of_the_program() {
    // The bootstrap covers the mean of its own process in about nine of ten cases, because the
    // autocorrelation time of a short series is underestimated. With a process effect of one per cent it
    // covers the mean of the program in fewer than half, hence its label.
    let bootstrap = |process_effect: f64| {
        rate(1_000, |noise| {
            let level = 1e6 * (1.0 + process_effect * noise.normal());
            let values = noise.series(200, level, 0.02, 0.7);
            covers(&block_bootstrap(&values, 1).unwrap(), 1e6)
        })
    };
    let (this_process, program) = (bootstrap(0.0), bootstrap(0.01));
    println!("block bootstrap: this process {this_process}, the program {program}");
    assert!(this_process >= 0.86, "{this_process}");
    assert!(program < 0.6, "{program}");
}

/// The behaviour of the machine while pairs are measured.
#[derive(Clone, Copy, Debug)]
enum Drift {
    None,
    Linear,
    Walk,
    Step,
}

impl Drift {
    const ALL: [Self; 4] = [Self::None, Self::Linear, Self::Walk, Self::Step];

    /// The machine's slowness at each of a number of consecutive processes.
    fn path(self, noise: &mut Noise, n: u32) -> Vec<f64> {
        let step = noise.uniform() * f64::from(n);
        let mut walk = 0.0;
        (0..n)
            .map(|i| {
                walk += 0.01 * noise.normal();
                match self {
                    Self::None => 1.0,
                    Self::Linear => 1.0 + 0.05 * f64::from(i) / f64::from(n),
                    Self::Walk => 1.0 + walk,
                    Self::Step => 1.0 + if f64::from(i) < step { 0.0 } else { 0.06 },
                }
            })
            .collect()
    }
}

/// Pairs of processes next to each other, in random order, with three per cent noise.
fn pairs(noise: &mut Noise, drift: Drift, n: u32, ratio: f64) -> Vec<(f64, f64)> {
    let path = drift.path(noise, 2 * n);
    path.chunks_exact(2)
        .map(|two| {
            let swapped = noise.uniform() < 0.5;
            let (first, second) = if swapped { (two[1], two[0]) } else { (two[0], two[1]) };
            let mut value = |level: f64| 1e6 * level * (0.03 * noise.normal()).exp();
            (value(first), ratio * value(second))
        })
        .collect()
}

#[test]
fn the_paired_ratio_has_its_coverage_under_every_drift() {
    for drift in Drift::ALL {
        for (n, truth) in [(10, 1.0), (20, 1.0), (10, 1.05), (20, 1.05)] {
            let found = rate(4_000, |noise| {
                let ratio = Ratio::paired(&pairs(noise, drift, n, truth)).unwrap();
                covers(&ratio.estimate, truth)
            });
            println!("paired, {drift:?}, {n} pairs, ratio {truth}: {found}");
            assert!(found >= COVERAGE, "{drift:?}, {n} pairs, ratio {truth}: {found}");
        }
    }
}

#[test]
fn the_unpaired_ratio_has_its_coverage_without_drift() {
    for (n, truth) in [(5, 1.0), (10, 1.05), (20, 1.05)] {
        let found = rate(4_000, |noise| {
            let pairs = pairs(noise, Drift::None, n, truth);
            let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            covers(&Ratio::unpaired(&first, &second).unwrap().estimate, truth)
        });
        println!("unpaired, {n} per arm, ratio {truth}: {found}");
        assert!(found >= COVERAGE, "{n} per arm, ratio {truth}: {found}");
    }
}

#[test]
fn identical_arms_are_seldom_called_different() {
    // Three standard errors of a rate of 5 % over the rounds.
    let rounds = 4_000;
    let error = 3.0 * (0.05 * 0.95 / f64::from(rounds)).sqrt();
    for drift in Drift::ALL {
        for (n, margin) in [(10, 0.0), (20, 0.0), (10, 0.02), (20, 0.02)] {
            let found = rate(rounds, |noise| {
                let ratio = Ratio::paired(&pairs(noise, drift, n, 1.0)).unwrap();
                ratio.p_beyond(margin).unwrap() <= 0.05
            });
            println!("called different, {drift:?}, {n} pairs, margin {margin}: {found}");
            assert!(found <= 0.05 + error, "{drift:?}, {n} pairs, margin {margin}: {found}");
        }
    }
}
