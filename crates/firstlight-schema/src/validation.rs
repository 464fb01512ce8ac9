//! The document `validation`: every rule that a snapshot was checked against, and the result.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "validation";
pub const VERSION: Version = Version { major: 1, minor: 1 };

/// The largest number of places that a rule lists.
pub const MOST_PLACES: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ValidationDocument {
    pub schema: SchemaId,
    /// The firstlight that checked.
    pub firstlight: Build,
    /// The snapshot's id, if it is readable.
    pub snapshot: Option<String>,
    /// Whether no rule failed.
    pub passed: bool,
    pub rules: Vec<RuleResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RuleResult {
    pub rule: Rule,
    pub outcome: RuleOutcome,
    /// The evidence for the outcome.
    pub evidence: String,
    /// The places of the errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
}

/// The place of one error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Place {
    pub file: String,
    /// The path inside the file, such as `/cases/0/arms/1/name`; for `raw.jsonl` preceded by the line.
    pub path: Option<String>,
    pub published: Option<String>,
    /// The expected value.
    pub expected: Option<String>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RuleOutcome {
    Pass,
    Warn,
    Fail,
    NotChecked,
}

impl RuleOutcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::NotChecked => "not-checked",
        }
    }
}

/// The stable names of the rules.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Rule {
    Inventory,
    Signature,
    Versions,
    Schemas,
    ManifestComplete,
    Suite,
    Numbers,
    Complete,
    FreshProcesses,
    Times,
    Interleaved,
    CacheEvidence,
    NoCompileInWindow,
    MinimumSamples,
    Correctness,
    Control,
    Validation,
}

impl Rule {
    pub const ALL: [Self; 17] = [
        Self::Inventory,
        Self::Signature,
        Self::Versions,
        Self::Schemas,
        Self::ManifestComplete,
        Self::Suite,
        Self::Numbers,
        Self::Complete,
        Self::FreshProcesses,
        Self::Times,
        Self::Interleaved,
        Self::CacheEvidence,
        Self::NoCompileInWindow,
        Self::MinimumSamples,
        Self::Correctness,
        Self::Control,
        Self::Validation,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Signature => "signature",
            Self::Versions => "versions",
            Self::Schemas => "schemas",
            Self::ManifestComplete => "manifest-complete",
            Self::Suite => "suite",
            Self::Numbers => "numbers",
            Self::Complete => "complete",
            Self::FreshProcesses => "fresh-processes",
            Self::Times => "times",
            Self::Interleaved => "interleaved",
            Self::CacheEvidence => "cache-evidence",
            Self::NoCompileInWindow => "no-compile-in-window",
            Self::MinimumSamples => "minimum-samples",
            Self::Correctness => "correctness",
            Self::Control => "control",
            Self::Validation => "validation",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Inventory => {
                "every file is the one that the manifest names, none is missing or extra"
            }
            Self::Signature => "the manifest carries a signature by the given key",
            Self::Versions => "every document has a version that this firstlight reads",
            Self::Schemas => "every document has the shape that its JSON Schema describes",
            Self::ManifestComplete => "no field of the manifest is empty; unknown is null",
            Self::Suite => "the suite's files and its lock are those that the result names",
            Self::Numbers => "the result follows from the raw readings, the suite and the manifest",
            Self::Complete => "all samples that the suite asks for were taken",
            Self::FreshProcesses => "every sample is a process of its own, one after the other",
            Self::Times => {
                "every time lies within its process; calls do not overlap and are no more than requested"
            }
            Self::Interleaved => "the arms took turns in the order that the seed gives",
            Self::CacheEvidence => "the caches of every valid sample were counted in their state",
            Self::NoCompileInWindow => "nothing was compiled in the window of a valid warm sample",
            Self::MinimumSamples => "there are enough valid samples for an interval",
            Self::Correctness => "the arms' results agree with the reference's",
            Self::Control => "two copies of the reference arm do not differ",
            Self::Validation => "the stored validation agrees with this one",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl RuleResult {
    pub fn new(rule: Rule, outcome: RuleOutcome, evidence: impl Into<String>) -> Self {
        Self { rule, outcome, evidence: evidence.into(), places: Vec::new() }
    }

    pub fn pass(rule: Rule, evidence: impl Into<String>) -> Self {
        Self::new(rule, RuleOutcome::Pass, evidence)
    }

    /// Fails if there is any place, passes otherwise.
    pub fn unless(rule: Rule, mut places: Vec<Place>, evidence: impl Into<String>) -> Self {
        places.truncate(MOST_PLACES);
        let outcome = if places.is_empty() { RuleOutcome::Pass } else { RuleOutcome::Fail };
        Self { rule, outcome, evidence: evidence.into(), places }
    }
}

impl Place {
    pub fn file(file: &str, published: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            path: None,
            published: Some(published.into()),
            expected: Some(expected.into()),
        }
    }

    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(path) = &self.path {
            write!(f, " at {path}")?;
        }
        match (&self.published, &self.expected) {
            (Some(published), Some(expected)) => write!(f, ": {published}, expected {expected}"),
            (Some(published), None) => write!(f, ": {published}"),
            (None, Some(expected)) => write!(f, ": missing, expected {expected}"),
            (None, None) => Ok(()),
        }
    }
}

impl ValidationDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}
