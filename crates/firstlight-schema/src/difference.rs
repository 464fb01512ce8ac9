//! Finds the places at which two JSON documents differ.

use serde_json::Value;

/// Two numbers closer than this, relative to their size, may come from two mathematics libraries.
const ROUNDING: f64 = 1e-9;

/// A place at which the published document differs from the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Such as `/cases/0/arms/1/name`.
    pub path: String,
    pub published: Option<String>,
    pub expected: Option<String>,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Differs,
    /// A fraction that differs by no more than the rounding between two machines.
    Rounding,
    /// A field that this version does not know.
    Unknown,
}

/// All differences, in the order of the published document.
pub fn differences(published: &Value, expected: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut String::new(), Some(published), Some(expected), &mut found);
    found
}

fn compare(
    path: &mut String,
    published: Option<&Value>,
    expected: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (published, expected) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let missing = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(missing) {
                below(path, key, |path| compare(path, a.get(key), b.get(key), found));
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for place in 0..a.len().max(b.len()) {
                let key = place.to_string();
                below(path, &key, |path| compare(path, a.get(place), b.get(place), found));
            }
        }
        (Some(a), Some(b)) if a == b => {}
        _ => found.push(Difference {
            path: path.clone(),
            published: published.map(shown),
            expected: expected.map(shown),
            kind: kind(published, expected),
        }),
    }
}

fn below(path: &mut String, key: &str, inside: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    inside(path);
    path.truncate(length);
}

fn kind(published: Option<&Value>, expected: Option<&Value>) -> Kind {
    let (Some(published), Some(expected)) = (published, expected) else {
        return if expected.is_none() { Kind::Unknown } else { Kind::Differs };
    };
    let fraction = |value: &Value| value.as_f64().filter(|_| value.is_f64());
    match (fraction(published), fraction(expected)) {
        (Some(a), Some(b)) if (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) => Kind::Rounding,
        _ => Kind::Differs,
    }
}

/// A value as JSON, truncated if it is long.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 120;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kind, differences};

    #[test]
    fn a_place_is_named_with_both_values() {
        let published = json!({ "a": [1, { "b/c": 2.0 }], "new": 1 });
        let expected = json!({ "a": [1, { "b/c": 3.0 }, 4], "gone": true });
        let found = differences(&published, &expected);
        let pairs: Vec<_> = found.iter().map(|one| (one.path.as_str(), one.kind)).collect();
        assert_eq!(
            pairs,
            [
                ("/a/1/b~1c", Kind::Differs),
                ("/a/2", Kind::Differs),
                ("/new", Kind::Unknown),
                ("/gone", Kind::Differs),
            ]
        );
        assert_eq!(found[0].published.as_deref(), Some("2.0"));
        assert_eq!(found[0].expected.as_deref(), Some("3.0"));
    }

    #[test]
    fn the_last_digit_of_a_fraction_may_differ_and_that_of_an_integer_may_not() {
        let kinds = |a, b| differences(&a, &b).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds(json!(0.1), json!(0.100_000_000_000_000_02)), [Kind::Rounding]);
        assert_eq!(kinds(json!(0.1), json!(0.100_000_1)), [Kind::Differs]);
        assert_eq!(kinds(json!(10_000_000_000_u64), json!(10_000_000_001_u64)), [Kind::Differs]);
    }
}
