//! Checks that the manifest is complete: no field is empty, unknown or absurd.

use std::time::{Duration, SystemTime};

use firstlight_engine::snapshot::{Files, json};
use firstlight_schema::difference::{Difference, Kind, differences};
use firstlight_schema::snapshot::{MANIFEST, Manifest};
use firstlight_schema::validation::{Place, Rule, RuleResult};
use serde_json::Value;

use super::{is_newer, recompute, shapes};

/// Checks that no field of the manifest is empty, and that it has no unknown fields, because the identifier
/// does not cover them.
pub(super) fn manifest_complete(files: &Files, manifest: &Manifest) -> RuleResult {
    let content = files.get(MANIFEST).unwrap_or_default();
    let published: Value = serde_json::from_slice(content).unwrap_or_default();
    let mut seen = Seen::default();
    seen.look("", &published);
    let evidence = format!("{} fields, {} of them unknown", seen.fields, seen.unknown);
    seen.empty.extend(stamps(manifest));
    if !is_newer(manifest) && content != json(manifest).as_bytes() {
        let unknown = differences(&published, &shapes::value(manifest));
        let place = |one: &Difference| Place {
            expected: Some("no such field".to_owned()),
            ..recompute::place(MANIFEST, one)
        };
        seen.empty.extend(unknown.iter().filter(|one| one.kind == Kind::Unknown).map(place));
        if seen.empty.is_empty() {
            let expected = "the manifest as firstlight writes it";
            seen.empty.push(Place::file(MANIFEST, "written in another way", expected));
        }
    }
    RuleResult::unless(Rule::ManifestComplete, seen.empty, evidence)
}

/// Dates that cannot come from firstlight.
fn stamps(manifest: &Manifest) -> Vec<Place> {
    let origin = &manifest.origin;
    let segments = origin.segments.iter().enumerate();
    let segments = segments.map(|(n, one)| (format!("/origin/segments/{n}/started"), &one.started));
    let recomputed = manifest.recomputed.as_ref().map(|one| ("/recomputed/at".to_owned(), &one.at));
    let all = [("/origin/created".to_owned(), &origin.created)].into_iter();
    let is_wrong = |(_, text): &(String, &String)| {
        let known = humantime::parse_rfc3339(text).ok();
        let first = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50);
        let last = SystemTime::now() + Duration::from_hours(48);
        !known.is_some_and(|at| (first..last).contains(&at))
    };
    all.chain(segments)
        .chain(recomputed)
        .filter(is_wrong)
        .map(|(at, text)| Place::file(MANIFEST, text, "a date between 2020 and now").at(at))
        .collect()
}

#[derive(Default)]
struct Seen {
    fields: u32,
    unknown: u32,
    empty: Vec<Place>,
}

impl Seen {
    fn look(&mut self, path: &str, value: &Value) {
        self.fields += 1;
        match value {
            Value::Null => self.unknown += 1,
            Value::String(text) if text.trim().is_empty() => {
                self.empty.push(Place::file(MANIFEST, "\"\"", "a value, or null").at(path));
            }
            Value::String(_) | Value::Bool(_) | Value::Number(_) => {}
            Value::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.look(&format!("{path}/{place}"), value);
                }
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| self.look(&format!("{path}/{key}"), value));
            }
        }
    }
}
