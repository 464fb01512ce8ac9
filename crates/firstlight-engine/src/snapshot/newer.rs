//! Reads documents of a newer minor version without the values that this firstlight does not know. What is
//! known is what the JSON Schemas inside this binary describe.
//!
//! `docs/design/why-unknown-values-are-left-out.md` has the reasons.

use std::collections::{BTreeMap, BTreeSet};

use firstlight_schema::suite::{suite_as_json, suite_from_json};
use firstlight_schema::version::Version;
use jsonschema::error::ValidationErrorKind;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::limits::is_readable_as_values;
use super::schemas::Shape;

/// A document is valid after fewer passes than it has levels; only a broken one needs more.
const MOST_PASSES: usize = 24;
/// A pass remembers so many places; a document with more is left for the next pass.
const MOST_PLACES: usize = 10_000;

/// A document, and how many values of it were left out because only a newer firstlight knows them.
#[derive(Debug)]
pub struct Understood<T> {
    pub document: T,
    pub left_out: usize,
}

/// Reads a document of the version that its head says. One of a version that this firstlight knows must
/// hold nothing else.
pub fn read_document<T: DeserializeOwned>(
    shape: Shape,
    content: &[u8],
    version: Version,
) -> Result<Understood<T>, String> {
    if version <= shape.version() {
        let document = serde_json::from_slice(content).map_err(|error| error.to_string())?;
        return Ok(Understood { document, left_out: 0 });
    }
    let published = newer_values(content)?;
    let Understood { document, left_out } = understood(shape, published);
    let document = serde_json::from_value(document).map_err(|error| error.to_string())?;
    Ok(Understood { document, left_out })
}

/// A document of a newer version as values, unless they would take much memory.
pub fn newer_values(content: &[u8]) -> Result<Value, String> {
    if !is_readable_as_values(content) {
        return Err(format!("{} bytes with too many values for a newer version", content.len()));
    }
    serde_json::from_slice(content).map_err(|error| error.to_string())
}

/// A suite of a newer snapshot, as text that this firstlight reads.
pub fn understood_suite(text: &str) -> Result<String, String> {
    let suite = understood(Shape::Suite, suite_as_json(text)?);
    Ok(suite_from_json(&suite.document))
}

/// The document without the values that its schema does not allow. If a value is required, the enclosing
/// object is dropped too: a comparison with an unknown verdict is dropped as a whole.
pub fn understood(shape: Shape, mut document: Value) -> Understood<Value> {
    let mut left_out = 0;
    for _ in 0..MOST_PASSES {
        let unknown = unknown_places(shape, &document);
        let removed = remove(&mut document, &unknown);
        left_out += removed;
        if removed == 0 {
            break;
        }
    }
    Understood { document, left_out }
}

/// JSON pointers to values that the schema does not allow.
fn unknown_places(shape: Shape, document: &Value) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for error in shape.validator().iter_errors(document) {
        if places.len() >= MOST_PLACES {
            break;
        }
        let at = error.instance_path().as_str();
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            let keys = unexpected.iter().take(MOST_PLACES);
            places.extend(keys.map(|key| format!("{at}/{}", escaped(key))));
        } else {
            places.insert(at.to_owned());
        }
    }
    places
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescaped(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

/// Removes the values at these places, the deepest first, and counts them.
fn remove(document: &mut Value, places: &BTreeSet<String>) -> usize {
    let mut by_parent: BTreeMap<(usize, &str), BTreeSet<&str>> = BTreeMap::new();
    for (parent, key) in places.iter().filter_map(|place| place.rsplit_once('/')) {
        by_parent.entry((parent.matches('/').count(), parent)).or_default().insert(key);
    }
    let mut removed = 0;
    for ((_, parent), keys) in by_parent.iter().rev() {
        match document.pointer_mut(parent) {
            Some(Value::Object(fields)) => {
                let gone = keys.iter().filter_map(|key| fields.remove(&unescaped(key)));
                removed += gone.count();
            }
            Some(Value::Array(values)) => {
                let before = values.len();
                let mut index = 0;
                values.retain(|_| {
                    index += 1;
                    !keys.contains((index - 1).to_string().as_str())
                });
                removed += before - values.len();
            }
            _ => {}
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Shape, remove, understood, understood_suite};

    #[test]
    fn what_is_unknown_is_removed_and_its_neighbours_stay() {
        let mut document = json!({ "a/b": 1, "list": [0, [1, 2], 2, 3], "rest": true });
        let places = ["/a~1b", "/list/0", "/list/1/1", "/list/2", "/missing/1", ""];
        let places = places.map(str::to_owned).into_iter().collect();
        assert_eq!(remove(&mut document, &places), 4);
        assert_eq!(document, json!({ "list": [[1], 3], "rest": true }));
    }

    #[test]
    fn a_rule_with_an_unknown_outcome_is_left_out_as_a_whole() {
        let rule = |outcome: &str| json!({ "rule": "suite", "outcome": outcome, "evidence": "" });
        let document = json!({
            "schema": { "name": "validation", "version": { "major": 1, "minor": 9 } },
            "firstlight": { "version": "9", "commit": null, "mood": "good" },
            "snapshot": null,
            "passed": true,
            "rules": [rule("pass"), rule("guessed"), rule("warn")],
        });
        let found = understood(Shape::Validation, document);
        assert_eq!(found.document["rules"].as_array().unwrap().len(), 2);
        assert!(found.document["firstlight"].get("mood").is_none());
    }

    #[test]
    fn a_suite_of_a_newer_version_keeps_its_known_regimes() {
        let text = "name = \"a\"\nregimes = [\"lukewarm\", \"cold-clean\"]\nmood = 1\n\
                    [[case]]\nname = \"c\"\n[[arm]]\nname = \"x\"\nprocess = [\"true\"]\n";
        let known = understood_suite(text).unwrap();
        let suite = firstlight_schema::suite::SuiteFile::parse(&known).unwrap();
        assert_eq!(suite.regimes, [firstlight_schema::suite::Regime::ColdClean]);
    }
}
