//! Student's t: the quantile for intervals, and the tail for p values.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::CONFIDENCE;

/// Beyond this many degrees of freedom the quantile hardly changes, but its iteration loses digits.
const MOST: f64 = 1e4;

/// The distance of an interval's ends, in standard errors.
pub(crate) fn reach(df: f64) -> Option<f64> {
    distribution(df).map(|t| t.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)))
}

/// The probability of a value above `t`.
pub(crate) fn tail(t: f64, df: f64) -> Option<f64> {
    match t {
        f64::INFINITY => Some(0.0),
        f64::NEG_INFINITY => Some(1.0),
        _ if t.is_nan() => None,
        _ => distribution(df).map(|student| student.sf(t)),
    }
}

fn distribution(df: f64) -> Option<StudentsT> {
    let df = if df > MOST { MOST } else { df };
    StudentsT::new(0.0, 1.0, df).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_match_the_tables() {
        for (df, quantile) in
            [(1.0, 12.706_205), (4.0, 2.776_445), (9.0, 2.262_157), (1e12, 1.960_201)]
        {
            let found = reach(df).unwrap();
            assert!((found - quantile).abs() < 1e-5, "{df}: {found}");
        }
        assert_eq!(reach(0.0), None);
        assert_eq!(reach(f64::NAN), None);
    }

    #[test]
    fn the_tail_inverts_the_quantile() {
        for df in [1.0, 2.5, 9.0, 400.0] {
            let tail = tail(reach(df).unwrap(), df).unwrap();
            assert!((tail - 0.025).abs() < 1e-9, "{df}: {tail}");
        }
        assert_eq!(tail(f64::INFINITY, 3.0), Some(0.0));
        assert_eq!(tail(f64::NEG_INFINITY, 3.0), Some(1.0));
    }
}
