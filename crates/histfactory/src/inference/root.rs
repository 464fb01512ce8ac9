//! Roots of functions of one variable that are expensive and smooth.

/// Brent's method on a bracket with values of opposite sign: inverse quadratic and secant steps,
/// bisection where they do not gain.
pub(super) fn brent<E>(
    mut function: impl FnMut(f64) -> Result<f64, E>,
    (mut a, mut of_a): (f64, f64),
    (mut b, mut of_b): (f64, f64),
    tolerance: f64,
) -> Result<f64, E> {
    if of_a.abs() < of_b.abs() {
        (a, b, of_a, of_b) = (b, a, of_b, of_a);
    }
    let (mut c, mut of_c) = (a, of_a);
    let mut before = a;
    let mut bisected = true;
    for _ in 0..100 {
        let close = tolerance * (1.0 + b.abs());
        if of_b == 0.0 || (a - b).abs() <= close {
            break;
        }
        let mut next = if of_a != of_c && of_b != of_c {
            a * of_b * of_c / ((of_a - of_b) * (of_a - of_c))
                + b * of_a * of_c / ((of_b - of_a) * (of_b - of_c))
                + c * of_a * of_b / ((of_c - of_a) * (of_c - of_b))
        } else {
            b - of_b * (b - a) / (of_b - of_a)
        };
        let quarter = (3.0 * a + b) / 4.0;
        let outside = !(next > quarter.min(b) && next < quarter.max(b));
        let last = if bisected { (b - c).abs() } else { (c - before).abs() };
        bisected = outside || (next - b).abs() >= last / 2.0 || last < close;
        if bisected {
            next = f64::midpoint(a, b);
        }
        let of_next = function(next)?;
        before = c;
        (c, of_c) = (b, of_b);
        if of_a * of_next < 0.0 {
            (b, of_b) = (next, of_next);
        } else {
            (a, of_a) = (next, of_next);
        }
        if of_a.abs() < of_b.abs() {
            (a, b, of_a, of_b) = (b, a, of_b, of_a);
        }
    }
    Ok(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_found_in_few_steps() {
        let mut calls = 0;
        let function = |x: f64| {
            calls += 1;
            Ok::<_, ()>(x.exp() - 3.0)
        };
        let root = brent(function, (0.0, -2.0), (4.0, 51.6), 1e-12).unwrap();
        assert!((root - 3.0_f64.ln()).abs() < 1e-11);
        assert!(calls < 20, "{calls}");
    }
}
