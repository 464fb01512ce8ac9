//! Checks the stored validation of a snapshot against a recomputed one.

use firstlight_analysis::rebuild::REVISION;
use firstlight_engine::snapshot::{
    Files, LARGEST_LIST, NO_SIGNATURE, Shape, check_version, read_document,
};
use firstlight_schema::snapshot::{Manifest, RESULT, VALIDATION};
use firstlight_schema::validation::{
    self, Place, Rule, RuleOutcome, RuleResult, ValidationDocument,
};

use super::recompute::named;
use super::{NOT_READ, recompute};
use crate::harness::build;

const NO_VALIDATION: &str = "no validation is stored yet";

/// Checks that the stored validation equals the recomputed one, because no hash covers it.
pub(super) fn stored(files: &Files, manifest: &Manifest, found: &[RuleResult]) -> RuleResult {
    let Some(content) = files.get(VALIDATION) else {
        return RuleResult::new(Rule::Validation, RuleOutcome::NotChecked, NO_VALIDATION);
    };
    if content.len() > LARGEST_LIST {
        let published = format!("{} bytes", content.len());
        let place = Place::file(VALIDATION, published, format!("at most {LARGEST_LIST}"));
        return RuleResult::unless(Rule::Validation, vec![place], "it is too large");
    }
    let stored = check_version(content, validation::NAME, validation::VERSION)
        .and_then(|version| read_document(Shape::Validation, content, version));
    let stored: ValidationDocument = match stored {
        Ok(stored) => stored.document,
        Err(error) => {
            let place = Place::file(VALIDATION, error, "a document `validation`");
            return RuleResult::unless(Rule::Validation, vec![place], "it cannot be read");
        }
    };
    let computed = files.get(RESULT).map(recompute::revision);
    if computed.is_some_and(|computed| computed != Ok(u64::from(REVISION))) {
        let evidence = "it was made with another revision of the analysis";
        return RuleResult::new(Rule::Validation, RuleOutcome::Warn, evidence);
    }
    // The manifest names the writer of the validation; earlier versions did not.
    let sealed = manifest.sealed.as_ref();
    let same_build =
        sealed.is_some_and(|by| by.firstlight == build() && by.validation == validation::VERSION);
    let mut places = Vec::new();
    let mut wrong = |at: String, said: &str, now: &str| {
        if said != now {
            places.push(Place::file(VALIDATION, said, now).at(at));
        }
    };
    let known = stored.snapshot.as_deref();
    let id = manifest.id.as_deref();
    wrong("/snapshot".to_owned(), known.unwrap_or("absent"), id.unwrap_or("absent"));
    if let Some(by) = sealed {
        wrong("/firstlight".to_owned(), &named(&stored.firstlight), &named(&by.firstlight));
        let (theirs, known) = (stored.schema.version, by.validation);
        wrong("/schema/version".to_owned(), &theirs.to_string(), &known.to_string());
    }
    let passed = !stored.rules.iter().any(|said| said.outcome == RuleOutcome::Fail);
    wrong("/passed".to_owned(), &stored.passed.to_string(), &passed.to_string());
    for (index, said) in stored.rules.iter().enumerate() {
        // Whether a signature was checked depends on the reader, and nothing was stored at first.
        let expected = match said.rule {
            Rule::Signature => {
                RuleResult::new(Rule::Signature, RuleOutcome::NotChecked, NO_SIGNATURE)
            }
            Rule::Validation => {
                RuleResult::new(Rule::Validation, RuleOutcome::NotChecked, NO_VALIDATION)
            }
            _ => match found.iter().find(|now| now.rule == said.rule) {
                Some(now) => now.clone(),
                None => RuleResult::new(said.rule, RuleOutcome::NotChecked, NOT_READ),
            },
        };
        let at = |field: &str| format!("/rules/{index}/{field}");
        wrong(at("outcome"), said.outcome.name(), expected.outcome.name());
        // Another firstlight may use other words.
        if same_build {
            wrong(at("evidence"), &said.evidence, &expected.evidence);
            wrong(at("places"), &listed(&said.places), &listed(&expected.places));
        }
    }
    if same_build {
        let rules: Vec<&str> = stored.rules.iter().map(|said| said.rule.name()).collect();
        let all: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        wrong("/rules".to_owned(), &rules.join(" "), &all.join(" "));
    }
    if places.is_empty() && content != written(&stored).as_bytes() {
        let expected = "the document as firstlight writes it";
        places.push(Place::file(VALIDATION, "written in another way", expected));
    }
    let evidence = if same_build {
        "the stored validation is the one that follows from the snapshot"
    } else {
        "the stored validation has the same outcomes; another firstlight made it"
    };
    RuleResult::unless(Rule::Validation, places, evidence)
}

fn listed(places: &[Place]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The serialised form of a validation.
pub(crate) fn written(document: &ValidationDocument) -> String {
    serde_json::to_string(document).expect("a validation has plain fields") + "\n"
}
