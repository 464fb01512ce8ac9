//! The document `conformance`: whether a runner keeps to the protocol, requirement by requirement.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::validation::RuleOutcome;
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "conformance";
pub const VERSION: Version = Version { major: 1, minor: 0 };

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConformanceDocument {
    pub schema: SchemaId,
    /// The firstlight that played the conversations.
    pub firstlight: Build,
    /// The runner as it was started.
    pub command: Vec<String>,
    /// Whether no requirement failed or was left unchecked.
    pub passed: bool,
    pub conversations: Vec<ConversationResult>,
}

impl ConformanceDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}

/// One process of the runner, and what was required of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConversationResult {
    pub name: String,
    pub requirements: Vec<RequirementResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RequirementResult {
    pub requirement: Requirement,
    pub outcome: RuleOutcome,
    /// The observation, or the missing answer.
    pub evidence: String,
}

/// The stable names of the requirements.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Requirement {
    /// The first message introduces a runner.
    Hello,
    /// Every line is a message that the protocol allows at this point.
    Lines,
    /// Answers to the requests of the same name.
    Prepare,
    First,
    WarmUp,
    Iterate,
    Settle,
    /// The mark that ends the time to first result.
    FirstResult,
    /// Calls lie in the phases that the ledger shows.
    Phases,
    /// A request that cannot be fulfilled is answered by `failed`.
    Failed,
    /// The last message.
    Bye,
    /// The process exits by itself and leaves nothing running.
    Exit,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hello => "hello",
            Self::Lines => "lines",
            Self::Prepare => "prepare",
            Self::First => "first",
            Self::WarmUp => "warm-up",
            Self::Iterate => "iterate",
            Self::Settle => "settle",
            Self::FirstResult => "first-result",
            Self::Phases => "phases",
            Self::Failed => "failed",
            Self::Bye => "bye",
            Self::Exit => "exit",
        })
    }
}
