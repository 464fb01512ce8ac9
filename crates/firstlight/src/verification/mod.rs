//! Checks a snapshot against every rule. Its files are treated as untrusted; nothing is written.

mod manifest;
mod merged;
mod recompute;
mod records;
mod shapes;
mod stored;
#[cfg(test)]
mod tests;
mod traced;

use std::path::Path;

use firstlight_analysis::rules;
use firstlight_engine::sampling::turns;
use firstlight_engine::snapshot::{
    Files, check_inventory, check_signature, check_suite, check_version, is_newer, raw_lines,
    read_manifest, read_shards, read_suite,
};
use firstlight_schema::run::{self, RunDocument};
use firstlight_schema::snapshot::{self, MANIFEST, RESULT, TRACE, VALIDATION};
use firstlight_schema::suite_trace;
use firstlight_schema::validation::{
    self, Place, Rule, RuleOutcome, RuleResult, ValidationDocument,
};

use crate::error::Error;
use crate::harness::build;
use manifest::manifest_complete;
use stored::stored;

pub(crate) use recompute::{Whole, recompute};
pub(crate) use records::{on_all_cores, parse as parse_records};
pub(crate) use stored::written;

const NOT_READ: &str = "what it needs cannot be read";

/// Checks everything; returns an error for a snapshot that cannot be checked at all.
pub(crate) fn validate(
    files: &Files,
    path: &Path,
    key: Option<&str>,
) -> Result<ValidationDocument, Error> {
    validate_known(files, path, key, None)
}

/// The same for a result that was just computed from the same readings.
pub(crate) fn validate_known(
    files: &Files,
    path: &Path,
    key: Option<&str>,
    known: Option<&RunDocument>,
) -> Result<ValidationDocument, Error> {
    let manifest = read_manifest(files, path)?;
    let suite = read_suite(files, path, &manifest)?;
    let shards = read_shards(files, path)?;
    let mut inventory = check_inventory(files, &manifest);
    let is_merged = !shards.is_empty() || !manifest.origin.shards.is_empty();
    if is_merged {
        inventory = merged::inventory(inventory, files, &manifest, &shards, &suite);
    }
    let mut rules = vec![
        inventory,
        check_signature(files, key)?,
        versions(files),
        manifest_complete(files, &manifest),
        check_suite(files, &manifest),
    ];
    let newer = is_newer(&manifest);
    match records::read(files, path, newer)? {
        Err(places) => {
            rules.push(RuleResult::unless(
                Rule::Schemas,
                places,
                "the raw readings cannot be read",
            ));
        }
        Ok(records) => {
            if is_merged {
                rules.extend(merged::processes(&manifest, &shards, &suite, &records));
            } else if !newer || records.len() == raw_lines(files, path)?.len() {
                rules.push(rules::fresh_processes(&records, &manifest.origin));
                rules.push(rules::times(&records, &suite));
                let order = |things, rounds| turns(things, rounds, suite.sampling.seed);
                rules.push(rules::interleaved(&records, &suite, &manifest.origin, &order));
            }
            let raw = if newer { Vec::new() } else { shapes::raw(files, path, &records)? };
            let whole = Whole { manifest: &manifest, shards: &shards, suite: &suite };
            rules.extend(recompute::check(files, whole, records, raw, known));
        }
    }
    rules.push(stored(files, &manifest, &rules));
    for rule in Rule::ALL {
        if !rules.iter().any(|result| result.rule == rule) {
            rules.push(RuleResult::new(rule, RuleOutcome::NotChecked, NOT_READ));
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

/// Rejects documents with an unknown major version.
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
