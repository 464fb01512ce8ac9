//! Whether a document has the shape that its JSON Schema describes.

use std::sync::OnceLock;

use firstlight_schema::validation::{self, Place};
use firstlight_schema::version::Version;
use firstlight_schema::{run, snapshot, suite_trace};
use jsonschema::Validator;
use serde_json::Value;

use crate::python::SCHEMA_FILES;

/// More places of one document than this are not listed.
const SHOWN: usize = 10;

/// The documents that a snapshot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Manifest,
    Run,
    RawRecord,
    Validation,
    SuiteTrace,
    Suite,
}

impl Shape {
    fn file(self) -> &'static str {
        match self {
            Self::Manifest => "snapshot.json",
            Self::Run => "run.json",
            Self::RawRecord => "raw-record.json",
            Self::Validation => "validation.json",
            Self::SuiteTrace => "suite-trace.json",
            Self::Suite => "suite.json",
        }
    }

    /// The version that this firstlight writes. Raw records have that of their run, and so has a suite.
    pub(super) fn version(self) -> Version {
        match self {
            Self::Manifest => snapshot::VERSION,
            Self::Run | Self::RawRecord | Self::Suite => run::VERSION,
            Self::Validation => validation::VERSION,
            Self::SuiteTrace => suite_trace::VERSION,
        }
    }

    pub(super) fn validator(self) -> &'static Validator {
        static VALIDATORS: [OnceLock<Validator>; 6] = [const { OnceLock::new() }; 6];
        let place = match self {
            Self::Manifest => 0,
            Self::Run => 1,
            Self::RawRecord => 2,
            Self::Validation => 3,
            Self::SuiteTrace => 4,
            Self::Suite => 5,
        };
        VALIDATORS[place].get_or_init(|| {
            let known = SCHEMA_FILES.iter().find(|(name, _)| *name == self.file());
            let (_, content) = known.expect("the schemas are inside the binary");
            let schema = serde_json::from_slice(content).expect("our own schemas are JSON");
            jsonschema::validator_for(&schema).expect("our own schemas are schemas")
        })
    }
}

/// Everything about a document that its schema does not allow.
pub fn check_shape(shape: Shape, file: &str, prefix: &str, document: &Value) -> Vec<Place> {
    let validator = shape.validator();
    if validator.is_valid(document) {
        return Vec::new();
    }
    let place = |error: jsonschema::ValidationError<'_>| Place {
        file: file.to_owned(),
        path: Some(format!("{prefix}{}", error.instance_path())),
        published: Some(shortened(&error.to_string())),
        expected: None,
    };
    validator.iter_errors(document).take(SHOWN).map(place).collect()
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain(std::iter::once('…')).collect()
}
