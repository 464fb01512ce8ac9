//! Seeded noise for tests and benches, similar to iterations of real programs.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub(crate) struct Noise(Pcg64Mcg);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// A standard normal value (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// `n` values around `level` with a relative deviation of `sd`, correlated by `rho` from one to
    /// the next.
    pub(crate) fn series(&mut self, n: usize, level: f64, sd: f64, rho: f64) -> Vec<f64> {
        let fresh = (1.0 - rho * rho).sqrt();
        let mut state = self.normal();
        (0..n)
            .map(|_| {
                state = rho * state + fresh * self.normal();
                level * (1.0 + sd * state)
            })
            .collect()
    }

    /// Makes a share of the values slower, by a factor between two and `most`.
    pub(crate) fn slow_some(&mut self, values: &mut [f64], share: f64, most: f64) {
        for value in values {
            if self.uniform() < share {
                *value *= 2.0 + (most - 2.0) * self.uniform();
            }
        }
    }
}
