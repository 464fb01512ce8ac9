//! Random numbers that are the same on every platform.

use rand::Rng;
use rand_pcg::Pcg64;

/// Numbers from a seeded generator. Logarithms and exponentials are avoided, because their last digit differs
/// between platforms.
pub(super) struct Dice(Pcg64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Pcg64::new(u128::from(seed), 0x5eed_0fda_7a00_0001))
    }

    /// Uniform in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        let bits = u32::try_from(self.0.next_u64() >> 32).expect("32 bits remain");
        f64::from(bits) / 4_294_967_296.0
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// An integer from zero up to, but not including, the limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let bits = usize::try_from(self.0.next_u64() >> 33).expect("31 bits remain");
        bits % limit.max(1)
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Nearly normal: the sum of a dozen uniform numbers, centred.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A count around an expectation.
    pub(super) fn count(&mut self, expected: f64) -> f64 {
        (expected + expected.max(0.0).sqrt() * self.normal()).round().max(0.0)
    }
}

/// Rounded to a few decimals, so that files stay small and readable.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
