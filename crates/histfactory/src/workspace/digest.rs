//! Digests of a document, as in pyhf: of the output of Python's `json.dumps` with sorted keys, so they do not
//! depend on the layout of the file.

use std::fmt::Write;

use md5::Md5;
use serde_json::Value;
use sha2::{Digest, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Md5,
    Sha256,
}

impl Algorithm {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "md5" => Some(Self::Md5),
            "sha256" => Some(Self::Sha256),
            _ => None,
        }
    }
}

/// The digest of a document, in hexadecimal digits.
pub fn digest(document: &Value, algorithm: Algorithm) -> String {
    let mut text = String::new();
    dump(document, &mut text);
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        })
    };
    match algorithm {
        Algorithm::Md5 => hex(&Md5::digest(text.as_bytes())),
        Algorithm::Sha256 => hex(&Sha256::digest(text.as_bytes())),
    }
}

/// `json.dumps(document, sort_keys=True, ensure_ascii=False)`.
fn dump(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => text.push_str(&value.to_string()),
        Value::String(string) => dump_string(string, text),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => text.push_str(&float_repr(float)),
            _ => text.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                dump(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (index, (key, item)) in keys.into_iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                dump_string(key, text);
                text.push_str(": ");
                dump(item, text);
            }
            text.push('}');
        }
    }
}

/// `serde_json` escapes as Python does.
fn dump_string(string: &str, text: &mut String) {
    text.push_str(&Value::from(string).to_string());
}

/// The shortest digits that reproduce the number, formatted like Python's `repr`.
fn float_repr(value: f64) -> String {
    let scientific = shortest(value);
    let (digits, exponent) = scientific.split_once('e').expect("there is an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let digits = digits.replace('.', "");
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    };
    match whole {
        0 => format!("{sign}0.{digits}"),
        whole if whole >= digits.len() => format!("{sign}{digits:0<whole$}.0"),
        whole => format!("{sign}{}.{}", &digits[..whole], &digits[whole..]),
    }
}

/// The shortest digits that reproduce the number, in scientific notation. If the number lies exactly between
/// two candidates, as former float32 numbers often do, Python rounds to an even last digit; the standard
/// library's shortest form rounds up.
fn shortest(value: f64) -> String {
    let scientific = format!("{value:e}");
    let mantissa = scientific.split('e').next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    if rounded.parse() == Ok(value) { rounded } else { scientific }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, digest, float_repr};

    #[test]
    fn numbers_are_written_like_in_python() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e100, "1.25e+100"),
            (5e-324, "5e-324"),
            (14.706_192_016_601_562, "14.706192016601562"),
            (-0.001_220_703_125, "-0.001220703125"),
            (2.0_f64.powi(-44), "5.684341886080802e-14"),
            (0.0, "0.0"),
        ];
        for (value, expected) in cases {
            assert_eq!(float_repr(value), expected);
        }
    }

    /// `hashlib.sha256(json.dumps(…, sort_keys=True, ensure_ascii=False).encode())` in Python.
    #[test]
    fn digests_match_python() {
        let text = r#"{"b": [1, 2.5, 1e-07, null, true], "a": "é\n\"\u0007"}"#;
        let document = serde_json::from_str(text).unwrap();
        assert_eq!(digest(&document, Algorithm::Md5), "96560c73f6db7efa0392200dddd72c29");
        assert_eq!(
            digest(&document, Algorithm::Sha256),
            "6908e9f5f82bfe80362b686e61c20c396c8fc9b640c596417e802d3929927f70"
        );
    }

    /// `pyhf.utils.digest(numbers, algorithm="sha256")` in Python, of the same numbers. As doubles, many
    /// former float32 numbers lie exactly between two shortest decimals.
    #[test]
    fn former_float32_numbers_have_the_digits_of_python() {
        let mut state: u64 = 1;
        let mut numbers: Vec<f64> = Vec::new();
        while numbers.len() < 50_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = u32::try_from(state >> 32).unwrap();
            numbers.extend(Some(f64::from(f32::from_bits(bits))).filter(|value| value.is_finite()));
        }
        let document = serde_json::Value::from(numbers);
        let expected = "86e96d06b1de3068c718d13b3c0faf942e313ddc9e55d3c92cb52f7cbf3b8af1";
        assert_eq!(digest(&document, Algorithm::Sha256), expected);
    }
}
