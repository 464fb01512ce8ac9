//! Holds a snapshot against every rule. The files have been read with distrust; nothing is written.

mod recompute;
mod records;
mod shapes;
#[cfg(test)]
mod tests;
mod traced;

use std::path::Path;

use firstlight_analysis::rebuild::REVISION;
use firstlight_analysis::rules;
use firstlight_engine::sampling::turns;
use firstlight_engine::snapshot::{
    Files, check_inventory, check_signature, check_suite, check_version, read_manifest, read_suite,
};
use firstlight_schema::run;
use firstlight_schema::snapshot::{self, MANIFEST, Manifest, RESULT, TRACE, VALIDATION};
use firstlight_schema::suite_trace;
use firstlight_schema::validation::{
    self, Place, Rule, RuleOutcome, RuleResult, ValidationDocument,
};
use serde_json::Value;

use crate::error::Error;
use crate::harness::build;

pub(crate) use records::{on_all_cores, parse as parse_records};

/// Checks everything; an error is a snapshot that cannot even be checked.
pub(crate) fn validate(
    files: &Files,
    path: &Path,
    key: Option<&str>,
) -> Result<ValidationDocument, Error> {
    let manifest = read_manifest(files, path)?;
    let suite = read_suite(files, path, &manifest)?;
    let mut rules = vec![
        check_inventory(files, &manifest),
        check_signature(files, key)?,
        versions(files),
        manifest_complete(files),
        check_suite(files, &manifest),
    ];
    match records::read(files, path)? {
        Err(places) => {
            rules.push(RuleResult::unless(
                Rule::Schemas,
                places,
                "the raw readings cannot be read",
            ));
        }
        Ok(records) => {
            rules.push(rules::fresh_processes(&records, &manifest.origin));
            let order = |things, rounds| turns(things, rounds, suite.sampling.seed);
            rules.push(rules::interleaved(&records, &suite, &manifest.origin, &order));
            let raw = shapes::raw(files, path, &records)?;
            rules.extend(recompute::check(files, &manifest, &suite, records, raw));
        }
    }
    rules.push(stored(files, &rules));
    for rule in Rule::ALL {
        if !rules.iter().any(|result| result.rule == rule) {
            let evidence = "what it needs cannot be read";
            rules.push(RuleResult::new(rule, RuleOutcome::NotChecked, evidence));
        }
    }
    rules.sort_by_key(|result| result.rule);
    Ok(ValidationDocument {
        schema: ValidationDocument::schema_id(),
        firstlight: build(),
        snapshot: manifest.id,
        passed: rules.iter().all(|result| result.outcome != RuleOutcome::Fail),
        rules,
    })
}

/// Documents whose major version this firstlight does not know are refused.
fn versions(files: &Files) -> RuleResult {
    let documents = [
        (MANIFEST, snapshot::NAME, snapshot::VERSION),
        (RESULT, run::NAME, run::VERSION),
        (VALIDATION, validation::NAME, validation::VERSION),
        (TRACE, suite_trace::NAME, suite_trace::VERSION),
    ];
    let mut places = Vec::new();
    let mut newer = Vec::new();
    for (file, name, ours) in documents {
        let Some(content) = files.get(file) else { continue };
        match check_version(content, name, ours) {
            Ok(version) if version > ours => newer.push(format!("{file} {version}")),
            Ok(_) => {}
            Err(reason) => {
                places.push(Place::file(file, reason, format!("{name} {ours}")).at("/schema"));
            }
        }
    }
    let mut result = RuleResult::unless(Rule::Versions, places, "every document can be read");
    if result.outcome == RuleOutcome::Pass && !newer.is_empty() {
        result.outcome = RuleOutcome::Warn;
        result.evidence = format!("newer than this firstlight: {}", newer.join(", "));
    }
    result
}

/// No field of the manifest is empty.
fn manifest_complete(files: &Files) -> RuleResult {
    let manifest: Value = files
        .get(MANIFEST)
        .and_then(|content| serde_json::from_slice(content).ok())
        .unwrap_or_default();
    let mut seen = Seen::default();
    seen.look("", &manifest);
    let evidence = format!("{} fields, {} of them unknown", seen.fields, seen.unknown);
    RuleResult::unless(Rule::ManifestComplete, seen.empty, evidence)
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

/// The validation that lies in the snapshot says the same.
fn stored(files: &Files, found: &[RuleResult]) -> RuleResult {
    let Some(content) = files.get(VALIDATION) else {
        let evidence = "no validation is stored yet";
        return RuleResult::new(Rule::Validation, RuleOutcome::NotChecked, evidence);
    };
    let stored: ValidationDocument = match serde_json::from_slice(content) {
        Ok(stored) => stored,
        Err(error) => {
            let place = Place::file(VALIDATION, error.to_string(), "a document `validation`");
            return RuleResult::unless(Rule::Validation, vec![place], "it cannot be read");
        }
    };
    let result =
        files.get(RESULT).and_then(|content| serde_json::from_slice::<Value>(content).ok());
    if result.is_some_and(|result| recompute::revision(&result) != u64::from(REVISION)) {
        let evidence = "it was made with another revision of the analysis";
        return RuleResult::new(Rule::Validation, RuleOutcome::Warn, evidence);
    }
    let mut places = Vec::new();
    for (index, said) in stored.rules.iter().enumerate() {
        // Whether a signature was looked at depends on who looks.
        let now = found.iter().find(|now| now.rule == said.rule && now.rule != Rule::Signature);
        if let Some(now) = now.filter(|now| now.outcome != said.outcome) {
            let (said, now) = (said.outcome.name(), now.outcome.name());
            places.push(Place::file(VALIDATION, said, now).at(format!("/rules/{index}/outcome")));
        }
    }
    RuleResult::unless(Rule::Validation, places, "the stored validation says the same")
}

/// Whether a manifest was written by a version with fields that this one does not know.
fn is_newer(manifest: &Manifest) -> bool {
    manifest.schema.version.minor > snapshot::VERSION.minor
}
