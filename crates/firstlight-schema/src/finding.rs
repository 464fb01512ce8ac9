//! Findings: a rule's complaint about a sample or a run, under a name that never changes.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The stable names. Each is a mistake that people really publish, or a way a process can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Finding {
    CacheNotClean,
    CacheNeverHit,
    OutputDiffers,
    TooFewSamples,
    NoisyMachine,
    BytecodeNotCached,
    ProcessFailed,
    TimedOut,
    ProtocolBroken,
    LeftProcesses,
    Interrupted,
    NotHooked,
    AdapterFailed,
}

impl Finding {
    pub const ALL: [Self; 13] = [
        Self::CacheNotClean,
        Self::CacheNeverHit,
        Self::OutputDiffers,
        Self::TooFewSamples,
        Self::NoisyMachine,
        Self::BytecodeNotCached,
        Self::ProcessFailed,
        Self::TimedOut,
        Self::ProtocolBroken,
        Self::LeftProcesses,
        Self::Interrupted,
        Self::NotHooked,
        Self::AdapterFailed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::CacheNotClean => "cache-not-clean",
            Self::CacheNeverHit => "cache-never-hit",
            Self::OutputDiffers => "output-differs",
            Self::TooFewSamples => "too-few-samples",
            Self::NoisyMachine => "noisy-machine",
            Self::BytecodeNotCached => "bytecode-not-cached",
            Self::ProcessFailed => "process-failed",
            Self::TimedOut => "timed-out",
            Self::ProtocolBroken => "protocol-broken",
            Self::LeftProcesses => "left-processes",
            Self::Interrupted => "interrupted",
            Self::NotHooked => "not-hooked",
            Self::AdapterFailed => "adapter-failed",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::CacheNotClean => {
                "a cache that was declared clean or disabled held something, served something, or \
                 was not the one that firstlight gave the process"
            }
            Self::CacheNeverHit => {
                "a cache that was declared primed did not serve every program that asked it"
            }
            Self::OutputDiffers => "the workload's own check refused its result",
            Self::TooFewSamples => "there are too few valid samples for a 95 % interval",
            Self::NoisyMachine => {
                "other processes, other guests, heat or a changed setting took a good part of the \
                 machine's speed meanwhile"
            }
            Self::BytecodeNotCached => {
                "modules were compiled from source because their byte code is not on disk"
            }
            Self::ProcessFailed => "the process exited with an error, raised or was killed",
            Self::TimedOut => "the process took longer than it may and was ended",
            Self::ProtocolBroken => {
                "the process wrote nonsense or half a line to the descriptor, or owed an answer"
            }
            Self::LeftProcesses => "processes outlived the command and were ended",
            Self::Interrupted => "the process was ended because firstlight was",
            Self::NotHooked => {
                "no Python process loaded the hooks, so only what is seen from outside is known"
            }
            Self::AdapterFailed => {
                "an adapter could not be installed, so its framework's work is not seen"
            }
        }
    }

    /// Whether the process itself failed, and not only its evidence.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::ProcessFailed | Self::TimedOut | Self::ProtocolBroken)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|finding| finding.name() == name)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A finding with the number behind it; in JSON one string, `name: text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub finding: Finding,
    pub text: String,
}

impl Reason {
    pub fn new(finding: Finding, text: impl Into<String>) -> Self {
        Self { finding, text: text.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.finding, self.text)
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (name, text) = text
            .split_once(": ")
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not `finding: text`")))?;
        let finding = Finding::from_name(name)
            .ok_or_else(|| de::Error::custom(format!("unknown finding `{name}`")))?;
        Ok(Self::new(finding, text))
    }
}

impl JsonSchema for Reason {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Finding::ALL.into_iter().map(Finding::name).collect();
        json_schema!({
            "type": "string",
            "description": "A finding's stable name, a colon, and the number behind it.",
            "pattern": format!("^({}): .+", names.join("|")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Reason};

    #[test]
    fn a_reason_survives_its_json_form() {
        let reason = Reason::new(Finding::CacheNotClean, "3 entries: before the start");
        let json = serde_json::to_string(&reason).unwrap();
        assert_eq!(json, "\"cache-not-clean: 3 entries: before the start\"");
        assert_eq!(serde_json::from_str::<Reason>(&json).unwrap(), reason);
    }

    #[test]
    fn an_unknown_finding_is_refused() {
        let error = serde_json::from_str::<Reason>("\"no-such: thing\"").unwrap_err();
        assert!(error.to_string().contains("unknown finding `no-such`"), "{error}");
    }
}
