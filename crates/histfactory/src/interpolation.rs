//! The effect of a modifier as a function of its parameter, between and beyond its two variations.
//!
//! Every additive code is written as Δ = x(α)·S + y(α)·A with S = (I⁺−I⁻)/2 and A = (I⁺+I⁻−2I⁰)/16, so the
//! templates do not depend on the code: a code is two functions of the parameter, shared by all bins. Names
//! and numbering are pyhf's. Where 0.7.6 departs from ROOT and later versions, the corrected form has a
//! separate name.

/// The interpolation of normsys and histosys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interpolation {
    pub normsys: NormsysCode,
    pub histosys: HistosysCode,
}

impl Interpolation {
    /// The codes that pyhf's validation and ROOT's older models use: code1 and code0.
    pub const PIECEWISE: Self = Self { normsys: NormsysCode::Code1, histosys: HistosysCode::Code0 };
}

/// Interpolation of normsys factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NormsysCode {
    /// Piecewise exponential; its slope jumps at zero, where the left slope is used.
    Code1,
    /// A polynomial of the sixth degree inside |α| < 1, exponential outside; smooth.
    #[default]
    Code4,
}

/// Interpolation of histosys templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HistosysCode {
    /// Piecewise linear; its slope jumps at zero, where the left slope is used.
    Code0,
    /// Quadratic inside |α| ≤ 1; outside as pyhf 0.7.6 computes it: jumps at ±1.
    Code2,
    /// Quadratic inside; outside as pyhf's documentation states it: jumps at ±1.
    Code2Documented,
    /// Quadratic inside; outside its tangent, as in ROOT: continuous.
    Code2Root,
    /// A polynomial of the sixth degree inside |α| ≤ 1, linear outside; smooth.
    #[default]
    Code4p,
}

/// The two functions of a histosys parameter, with two derivatives each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Basis {
    pub(crate) x: [f64; 3],
    pub(crate) y: [f64; 3],
}

impl HistosysCode {
    /// Whether the slope jumps where the parameter is zero.
    pub(crate) fn has_kink(self) -> bool {
        self == Self::Code0
    }

    #[inline]
    pub(crate) fn basis(self, alpha: f64) -> Basis {
        let sign = if alpha > 0.0 { 1.0 } else { -1.0 };
        let linear = [alpha, 1.0, 0.0];
        let tails = Basis { x: linear, y: [8.0 * sign * alpha, 8.0 * sign, 0.0] };
        let square = alpha * alpha;
        let parabola = Basis { x: linear, y: [8.0 * square, 16.0 * alpha, 16.0] };
        match self {
            Self::Code0 => tails,
            Self::Code4p if square > 1.0 => tails,
            Self::Code4p => Basis { x: linear, y: smooth(alpha, square) },
            Self::Code2 | Self::Code2Documented | Self::Code2Root if square <= 1.0 => parabola,
            Self::Code2 if alpha < 0.0 => Basis { x: linear, y: [-16.0 * alpha, -16.0, 0.0] },
            Self::Code2 | Self::Code2Documented => Basis {
                x: [alpha - sign, 1.0, 0.0],
                y: [16.0 * sign * (alpha - sign), 16.0 * sign, 0.0],
            },
            Self::Code2Root => {
                Basis { x: linear, y: [8.0 * (2.0 * sign * alpha - 1.0), 16.0 * sign, 0.0] }
            }
        }
    }
}

/// α²(15 − 10α² + 3α⁴) and its derivatives.
#[inline]
fn smooth(alpha: f64, square: f64) -> [f64; 3] {
    [
        square * (15.0 + square * (-10.0 + 3.0 * square)),
        alpha * (30.0 + square * (-40.0 + 18.0 * square)),
        30.0 + square * (-120.0 + 90.0 * square),
    ]
}

/// The inverse of the conditions on code4's polynomial at ±1: value, slope, curvature.
const CONDITIONS: [[f64; 6]; 6] = [
    [15.0 / 16.0, -15.0 / 16.0, -7.0 / 16.0, -7.0 / 16.0, 1.0 / 16.0, -1.0 / 16.0],
    [24.0 / 16.0, 24.0 / 16.0, -9.0 / 16.0, 9.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0],
    [-5.0 / 8.0, 5.0 / 8.0, 5.0 / 8.0, 5.0 / 8.0, -1.0 / 8.0, 1.0 / 8.0],
    [-12.0 / 8.0, -12.0 / 8.0, 7.0 / 8.0, -7.0 / 8.0, -1.0 / 8.0, -1.0 / 8.0],
    [3.0 / 16.0, -3.0 / 16.0, -3.0 / 16.0, -3.0 / 16.0, 1.0 / 16.0, -1.0 / 16.0],
    [8.0 / 16.0, 8.0 / 16.0, -5.0 / 16.0, 5.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0],
];

fn apply(conditions: [f64; 6]) -> [f64; 6] {
    CONDITIONS.map(|row| row.iter().zip(conditions).map(|(a, b)| a * b).sum())
}

/// Coefficients of α … α⁶ of code4 for the factors `hi` and `lo`, both positive.
pub(crate) fn polynomial(hi: f64, lo: f64) -> [f64; 6] {
    let (up, down) = (hi.ln(), lo.ln());
    apply([hi - 1.0, lo - 1.0, hi * up, -lo * down, hi * up * up, lo * down * down])
}

/// Derivatives of [`polynomial`] in `hi` and in `lo`, from their logarithms.
pub(crate) fn polynomial_slopes(up: f64, down: f64) -> [[f64; 6]; 2] {
    [
        apply([1.0, 0.0, up + 1.0, 0.0, up * (up + 2.0), 0.0]),
        apply([0.0, 1.0, 0.0, -(down + 1.0), 0.0, down * (down + 2.0)]),
    ]
}

impl NormsysCode {
    /// Whether the slope jumps where the parameter is zero.
    pub(crate) fn has_kink(self) -> bool {
        self == Self::Code1
    }

    /// Whether the polynomial, not the exponential, applies at this value of the parameter.
    #[inline]
    pub(crate) fn is_polynomial(self, alpha: f64) -> bool {
        match self {
            Self::Code1 => false,
            Self::Code4 => alpha.abs() < 1.0,
        }
    }
}

/// hi^α or lo^−α with two derivatives in α, from the logarithms.
#[inline]
pub(crate) fn exponential(alpha: f64, ln_hi: f64, ln_lo: f64) -> [f64; 3] {
    let slope = if alpha > 0.0 { ln_hi } else { -ln_lo };
    let value = (slope * alpha).exp();
    [value, value * slope, value * slope * slope]
}

/// Σ aᵢαⁱ, without the constant, with two derivatives.
pub(crate) fn polynomial_at(a: &[f64; 6], alpha: f64) -> [f64; 3] {
    let mut values = [0.0; 3];
    for &coefficient in a.iter().rev() {
        values[2] = values[2] * alpha + 2.0 * values[1];
        values[1] = values[1] * alpha + values[0];
        values[0] = values[0] * alpha + coefficient;
    }
    // The loop has computed Σ aᵢαⁱ⁻¹; one more power is missing.
    let [value, slope, curvature] = values;
    [value * alpha, slope * alpha + value, curvature * alpha + 2.0 * slope]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
    }

    fn delta(code: HistosysCode, [lo, nominal, hi]: [f64; 3], alpha: f64) -> f64 {
        let basis = code.basis(alpha);
        basis.x[0] * (hi - lo) / 2.0 + basis.y[0] * (hi + lo - 2.0 * nominal) / 16.0
    }

    #[test]
    fn additive_codes_pass_through_their_templates() {
        let templates = [8.0, 10.0, 13.0];
        for code in [HistosysCode::Code0, HistosysCode::Code2Root, HistosysCode::Code4p] {
            assert!(close(delta(code, templates, 1.0), 3.0, 1e-15), "{code:?}");
            assert!(close(delta(code, templates, -1.0), -2.0, 1e-15), "{code:?}");
            assert_eq!(delta(code, templates, 0.0), 0.0);
        }
        assert!(close(delta(HistosysCode::Code0, templates, 2.5), 7.5, 1e-15));
        assert!(close(delta(HistosysCode::Code4p, templates, -2.5), -5.0, 1e-15));
    }

    #[test]
    fn code2_has_the_extrapolation_of_each_version() {
        let templates = [8.0, 10.0, 13.0];
        let (a, b) = (0.5, 2.5);
        let at = |code, alpha| delta(code, templates, alpha);
        assert!(close(at(HistosysCode::Code2, 2.0), b + 2.0 * a, 1e-15));
        assert!(close(at(HistosysCode::Code2, -2.0), (b - 2.0 * a) * -2.0, 1e-15));
        assert!(close(at(HistosysCode::Code2Documented, -2.0), -(b - 2.0 * a), 1e-15));
        let beyond = 1.0 + 1e-9;
        assert!((at(HistosysCode::Code2Root, beyond) - at(HistosysCode::Code2Root, 1.0)) < 1e-8);
        assert!((at(HistosysCode::Code2, beyond) - at(HistosysCode::Code2, 1.0)).abs() > 1.0);
    }

    #[test]
    fn derivatives_of_the_bases_match_differences() {
        use HistosysCode::{Code0, Code2, Code2Documented, Code2Root, Code4p};
        let h = 1e-5;
        for code in [Code0, Code2, Code2Documented, Code2Root, Code4p] {
            for alpha in [-3.2, -1.3, -0.7, -0.1, 0.2, 0.9, 1.4] {
                let [below, at, above] =
                    [alpha - h, alpha, alpha + h].map(|alpha| code.basis(alpha));
                for order in 0..2 {
                    let pairs = [(below.x, at.x, above.x), (below.y, at.y, above.y)];
                    for (below, at, above) in pairs {
                        let slope = (above[order] - below[order]) / (2.0 * h);
                        assert!(close(slope, at[order + 1], 1e-7), "{code:?} at {alpha}");
                    }
                }
            }
        }
    }

    #[test]
    fn code4_joins_the_exponential_with_two_derivatives() {
        for (hi, lo) in [(1.2, 0.7), (0.8, 0.9), (3.0, 0.2)] {
            let a = polynomial(hi, lo);
            for side in [1.0, -1.0] {
                let inside = polynomial_at(&a, side);
                let outside = exponential(side, f64::ln(hi), f64::ln(lo));
                assert!(close(1.0 + inside[0], outside[0], 1e-13));
                assert!(close(inside[1], outside[1], 1e-13));
                assert!(close(inside[2], outside[2], 1e-12));
            }
        }
    }

    #[test]
    fn slopes_of_the_polynomial_in_its_factors_match_differences() {
        let (hi, lo, step) = (1.3, 0.8, 1e-6);
        let [up, down] = polynomial_slopes(f64::ln(hi), f64::ln(lo));
        let of_hi = [polynomial(hi + step, lo), polynomial(hi - step, lo)];
        let of_lo = [polynomial(hi, lo + step), polynomial(hi, lo - step)];
        for i in 0..6 {
            assert!(close((of_hi[0][i] - of_hi[1][i]) / (2.0 * step), up[i], 1e-8));
            assert!(close((of_lo[0][i] - of_lo[1][i]) / (2.0 * step), down[i], 1e-8));
        }
    }
}
