//! Converts decimal microseconds to whole nanoseconds. Sixteen digits do not fit a double, so doubles are not
//! used.

/// Nanoseconds; `None` if the text is not a number in range.
pub(crate) fn nanoseconds(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if digits.contains(['e', 'E']) {
        return exponent(text);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut ns = parse(whole)?.checked_mul(1000)?;
    let bytes = fraction.as_bytes();
    if !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |index: usize| i64::from(bytes.get(index).map_or(0, |byte| byte - b'0'));
    ns = ns.checked_add(digit(0) * 100 + digit(1) * 10 + digit(2))?;
    // JAX's 1.6000000000000001 is three digits plus rounding noise of a double.
    if digit(3) >= 5 {
        ns = ns.checked_add(1)?;
    }
    Some(if negative { -ns } else { ns })
}

fn parse(digits: &str) -> Option<i64> {
    let first = digits.as_bytes().first()?;
    if first.is_ascii_digit() { digits.parse().ok() } else { None }
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
        let written =
            ["3867713062595.070", "0.001", "5", "-1.5", "1.6000000000000001", "2.9999999"];
        let expected = [3_867_713_062_595_070, 1, 5_000, -1_500, 1_600, 3_000];
        assert_eq!(written.map(nanoseconds), expected.map(Some));
    }

    #[test]
    fn invalid_numbers_give_none() {
        for text in ["", "-", "x", "1.x", ".5", "99999999999999999999", "1e300", "NaN", "+1"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
        assert_eq!(nanoseconds("1e3"), Some(1_000_000));
    }
}
