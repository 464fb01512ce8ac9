//! Converts decimal microseconds to whole nanoseconds. Sixteen digits do not fit a double, so doubles are not
//! used.

/// Nanoseconds; `None` if the text is not a number in range.
pub(crate) fn nanoseconds(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let (mut ns, mut point) = (0_i64, None);
    for (index, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                let digit = i64::from(byte - b'0');
                match point.map_or(0, |point| index - point) {
                    0..=3 => ns = ns.checked_mul(10)?.checked_add(digit)?,
                    // JAX's 1.6000000000000001 is three digits plus rounding noise of a double.
                    4 => ns = ns.checked_add(i64::from(digit >= 5))?,
                    _ => {}
                }
            }
            b'.' if point.is_none() => point = Some(index),
            b'e' | b'E' => return exponent(text),
            _ => return None,
        }
    }
    let decimals = point.map_or(0, |point| digits.len() - 1 - point).min(3);
    ns = ns.checked_mul([1_000, 100, 10, 1][decimals])?;
    Some(if negative { -ns } else { ns })
}

/// Numbers with an exponent are not exact.
fn exponent(text: &str) -> Option<i64> {
    let ns = text.parse::<f64>().ok()? * 1000.0;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
    (ns.abs() < 9e18).then(|| ns.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn sixteen_digits_are_kept() {
        let written = [
            "3867713062595.070",
            "0.001",
            "5",
            "5.",
            "0.5",
            "-1.5",
            "1.6000000000000001",
            "2.9999999",
        ];
        let expected = [3_867_713_062_595_070, 1, 5_000, 5_000, 500, -1_500, 1_600, 3_000];
        assert_eq!(written.map(nanoseconds), expected.map(Some));
    }

    #[test]
    fn invalid_numbers_give_none() {
        for text in [
            "",
            "-",
            "x",
            "1.x",
            "1.5.5",
            "-.5",
            ".5",
            "99999999999999999999",
            "1e300",
            "NaN",
            "+1",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
        assert_eq!(nanoseconds("1e3"), Some(1_000_000));
    }
}
