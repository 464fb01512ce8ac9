//! Special functions: the Poisson density of real counts, and the normal distribution.
//!
//! −ln Pois(n|ν) is computed as n(u − ln(1+u)) + c(n) with u = ν/n − 1. The first part is the deviance, small
//! near the minimum, and c(n) = n − n ln n + lnΓ(n+1) is small too, so for large counts the rounding of n ln
//! ν does not dominate the result.

use std::f64::consts::{PI, SQRT_2};

/// −ln Pois(n|n): a Poisson term at its best rate.
pub(crate) fn poisson_constant(n: f64) -> f64 {
    if n <= 0.0 {
        0.0
    } else if n < 16.0 {
        n - n * n.ln() + libm::lgamma(n + 1.0)
    } else {
        // Stirling's series.
        let r = 1.0 / (n * n);
        let tail = (1.0 / 12.0
            + r * (-1.0 / 360.0
                + r * (1.0 / 1260.0
                    + r * (-1.0 / 1680.0 + r * (1.0 / 1188.0 - r * 691.0 / 360_360.0)))))
            / n;
        0.5 * (2.0 * PI * n).ln() + tail
    }
}

/// −ln Pois(n|ν) without [`poisson_constant`]; infinite for n > 0 and ν = 0, NaN for ν < 0.
#[inline]
pub(crate) fn poisson_deviance(n: f64, rate: f64) -> f64 {
    if n == 0.0 {
        return if rate < 0.0 { f64::NAN } else { rate };
    }
    let u = (rate - n) / n;
    n * (u - u.ln_1p())
}

/// ψ(x), the derivative of lnΓ, for x > 0.
pub(crate) fn digamma(x: f64) -> f64 {
    // Recurrence up to the range in which the asymptotic series is exact to the last bit.
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = r
        * (1.0 / 12.0
            - r * (1.0 / 120.0
                - r * (1.0 / 252.0
                    - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * (691.0 / 32_760.0 - r / 12.0))))));
    sum + x.ln() - 0.5 / x - series
}

/// The standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The upper tail of the standard normal distribution: the p-value of `z` standard deviations.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// The number of standard deviations whose upper tail is `p`.
///
/// ```
/// let z = histfactory::special::normal_quantile(histfactory::special::normal_tail(5.0));
/// assert!((z - 5.0).abs() < 1e-12);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // A rational start (Abramowitz and Stegun 26.2.23), then Halley steps on ln p: the tail spans three
    // hundred orders of magnitude, but its logarithm is nearly a parabola.
    let t = (-2.0 * p.ln()).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let mut z = t - numerator / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    for _ in 0..4 {
        let tail = normal_tail(z);
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        if tail <= 0.0 || density <= 0.0 {
            break;
        }
        let (f, slope) = ((tail / p).ln(), -density / tail);
        let curvature = slope * (-z - slope);
        z -= 2.0 * f * slope / (2.0 * slope * slope - f * curvature);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_poisson_constant_is_continuous_where_the_series_takes_over() {
        for n in [0.3, 1.0, 2.5, 15.999_999, 16.0, 40.0, 1e3, 1e7] {
            let direct = n - n * f64::ln(n) + libm::lgamma(n + 1.0);
            let error = (poisson_constant(n) - direct).abs();
            assert!(error <= 4e-16 * (1.0 + n * f64::ln(n).abs()), "{n}: {error}");
        }
    }

    #[test]
    fn the_deviance_is_the_logarithm_of_the_density() {
        for (n, rate) in [(3.0, 2.0), (0.0, 1.5), (7.5, 7.5), (120.0, 90.0)] {
            let direct = rate - n * f64::ln(rate) + libm::lgamma(n + 1.0);
            let ours = poisson_deviance(n, rate) + poisson_constant(n);
            assert!((ours - direct).abs() < 1e-12 * (1.0 + direct.abs()), "{n} {rate}");
        }
        assert_eq!(poisson_deviance(0.0, 0.0), 0.0);
        assert_eq!(poisson_deviance(1.0, 0.0), f64::INFINITY);
        assert!(poisson_deviance(1.0, -0.1).is_nan());
        assert!(poisson_deviance(0.0, -0.1).is_nan());
    }

    #[test]
    fn digamma_is_the_slope_of_the_logarithm_of_gamma() {
        let euler = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + euler).abs() < 1e-14);
        for x in [0.4, 1.7, 5.0, 26.0, 300.0] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-14);
        }
    }

    #[test]
    fn quantiles_invert_tails() {
        for z in [-3.0, -0.5, 0.0, 0.1, 1.64, 5.0, 12.0, 30.0] {
            let p = normal_tail(z);
            let back = normal_quantile(p);
            assert!((back - z).abs() < 1e-12 * (1.0 + z.abs()), "{z}: {back}");
        }
        assert!(normal_quantile(1.5).is_nan());
    }
}
