//! Counter-based random numbers: Philox 4×32 with ten rounds (Salmon et al., SC11).
//!
//! A number is a function of the seed, the toy, the place in the data and the draw. It does not depend on the
//! thread or the order of computation.

/// Draws for one datum of one toy.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    spare: Option<f64>,
}

impl Stream {
    #[expect(clippy::cast_possible_truncation, reason = "a number is taken apart into its halves")]
    pub(super) fn new(seed: u64, toy: u64, place: u32) -> Self {
        let key = [seed as u32, (seed >> 32) as u32];
        Self { key, counter: [0, place, toy as u32, (toy >> 32) as u32], spare: None }
    }

    /// Uniform in [0, 1), with 53 bits.
    pub(super) fn uniform(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let [a, b, c, d] = philox(self.counter, self.key);
        self.counter[0] = self.counter[0].wrapping_add(1);
        self.spare = Some(unit(c, d));
        unit(a, b)
    }

    /// Standard normal, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// Poisson: by inversion for small rates, by Hörmann's transformed rejection (PTRS, 1993) above.
    pub(super) fn poisson(&mut self, rate: f64) -> f64 {
        if !(rate > 0.0) {
            return 0.0;
        }
        if rate < 12.0 { self.inversion(rate) } else { self.rejection(rate) }
    }

    fn inversion(&mut self, rate: f64) -> f64 {
        let mut left = self.uniform();
        let (mut count, mut probability) = (0.0, (-rate).exp());
        while left > probability && count < 200.0 {
            left -= probability;
            count += 1.0;
            probability *= rate / count;
        }
        count
    }

    fn rejection(&mut self, rate: f64) -> f64 {
        let b = 0.931 + 2.53 * rate.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let fast = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let (u, v) = (self.uniform() - 0.5, self.uniform());
            let distance = 0.5 - u.abs();
            let count = ((2.0 * a / distance + b) * u + rate + 0.43).floor();
            if distance >= 0.07 && v <= fast {
                return count;
            }
            if count < 0.0 || (distance < 0.013 && v > distance) {
                continue;
            }
            let accepted = (v * inverse_alpha / (a / (distance * distance) + b)).ln();
            if accepted <= count * rate.ln() - rate - libm::lgamma(count + 1.0) {
                return count;
            }
        }
    }
}

fn unit(high: u32, low: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let value = bits as f64;
    value * (1.0 / 9_007_199_254_740_992.0)
}

/// One block of the generator.
fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for round in 0..10 {
        if round > 0 {
            k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
        }
        let [high_0, low_0] = wide(0xD251_1F53, c[0]);
        let [high_1, low_1] = wide(0xCD9E_8D57, c[2]);
        c = [high_1 ^ c[1] ^ k[0], low_1, high_0 ^ c[3] ^ k[1], low_0];
    }
    c
}

#[expect(clippy::cast_possible_truncation, reason = "a product is taken apart into its halves")]
fn wide(a: u32, b: u32) -> [u32; 2] {
    let product = u64::from(a) * u64::from(b);
    [(product >> 32) as u32, product as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the reference implementation.
    #[test]
    fn philox_gives_the_known_answers() {
        let zeros = philox([0; 4], [0; 2]);
        assert_eq!(zeros, [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        let ones = philox([u32::MAX; 4], [u32::MAX; 2]);
        assert_eq!(ones, [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
    }

    #[test]
    fn poisson_counts_have_the_mean_variance_and_skewness_of_their_rate() {
        for rate in [0.3, 4.0, 11.9, 12.1, 60.0, 5_000.0] {
            let draws = 40_000_u32;
            let counts: Vec<f64> =
                (0..draws).map(|toy| Stream::new(7, u64::from(toy), 3).poisson(rate)).collect();
            let n = f64::from(draws);
            let mean = counts.iter().sum::<f64>() / n;
            let moment =
                |power: i32| counts.iter().map(|count| (count - mean).powi(power)).sum::<f64>() / n;
            let sigma = (rate / n).sqrt();
            assert!((mean - rate).abs() < 4.0 * sigma, "{rate}: mean {mean}");
            let spread = rate * (2.0 / n + 1.0 / (n * rate)).sqrt();
            assert!((moment(2) - rate).abs() < 4.0 * spread, "{rate}: {}", moment(2));
            let skewness = moment(3) / rate.powf(1.5);
            assert!((skewness - rate.powf(-0.5)).abs() < 0.15, "{rate}: {skewness}");
        }
    }

    #[test]
    fn normal_numbers_have_the_moments_of_a_standard_normal() {
        let draws = 40_000_u32;
        let values: Vec<f64> =
            (0..draws).map(|toy| Stream::new(1, u64::from(toy), 0).normal()).collect();
        let n = f64::from(draws);
        let moment = |power: i32| values.iter().map(|value| value.powi(power)).sum::<f64>() / n;
        assert!(moment(1).abs() < 0.02);
        assert!((moment(2) - 1.0).abs() < 0.03);
        assert!((moment(4) - 3.0).abs() < 0.2);
    }
}
