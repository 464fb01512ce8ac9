//! Findings: a rule's complaint about a sample or a run, under a name that never changes.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The stable names. Each is a mistake that people really publish, or a way a process can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Finding {
    CompiledInWindow,
    WarmupShorterThanTest,
    ConfigChangedAfterWarmup,
    LoadInsideWindow,
    CacheNotClean,
    CacheNeverHit,
    NoSteadyState,
    HighVariance,
    Drift,
    TooFewSamples,
    TailNotSupported,
    AsyncNotSynchronised,
    OutputDiffers,
    NondeterministicCompile,
    TracerInflated,
    NoisyMachine,
    ControlFailed,
    PrecisionDiffers,
    BytecodeNotCached,
    ProcessFailed,
    TimedOut,
    ProtocolBroken,
    LeftProcesses,
    Interrupted,
    NotHooked,
    AdapterFailed,
    NotProved,
}

/// A finding's name, why it matters, and what to do about it.
type Facts = (&'static str, &'static str, Option<&'static str>);

impl Finding {
    pub const ALL: [Self; 27] = [
        Self::CompiledInWindow,
        Self::WarmupShorterThanTest,
        Self::ConfigChangedAfterWarmup,
        Self::LoadInsideWindow,
        Self::CacheNotClean,
        Self::CacheNeverHit,
        Self::NoSteadyState,
        Self::HighVariance,
        Self::Drift,
        Self::TooFewSamples,
        Self::TailNotSupported,
        Self::AsyncNotSynchronised,
        Self::OutputDiffers,
        Self::NondeterministicCompile,
        Self::TracerInflated,
        Self::NoisyMachine,
        Self::ControlFailed,
        Self::PrecisionDiffers,
        Self::BytecodeNotCached,
        Self::ProcessFailed,
        Self::TimedOut,
        Self::ProtocolBroken,
        Self::LeftProcesses,
        Self::Interrupted,
        Self::NotHooked,
        Self::AdapterFailed,
        Self::NotProved,
    ];

    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Why it matters.
    pub fn meaning(self) -> &'static str {
        self.facts().1
    }

    /// What to do about it, where there is something to do.
    pub fn advice(self) -> Option<&'static str> {
        self.facts().2
    }

    #[expect(clippy::too_many_lines, reason = "a table")]
    fn facts(self) -> Facts {
        match self {
            Self::CompiledInWindow => (
                "compiled-in-window",
                "something was traced, lowered or compiled while the window was open, so \
                 calls were timed that also compiled",
                Some(
                    "raise `warm.warm-up` in the suite until everything is compiled before \
                      the window",
                ),
            ),
            Self::WarmupShorterThanTest => (
                "warmup-shorter-than-test",
                "the window called a function with shapes that the warm-up had not called it \
                 with",
                Some("let the warm-up make the very calls that are measured"),
            ),
            Self::ConfigChangedAfterWarmup => (
                "config-changed-after-warmup",
                "a setting or an environment variable changed after the warm-up, so the \
                 window ran under other conditions",
                Some("set it in `setup`"),
            ),
            Self::LoadInsideWindow => (
                "load-inside-window",
                "modules were loaded or much was read from files while the window was open",
                Some("load in `setup`, outside the step"),
            ),
            Self::CacheNotClean => (
                "cache-not-clean",
                "a cache that was declared clean or disabled held something, served \
                 something, or was not the one that firstlight gave the process",
                Some("let the program take its cache directory from the environment"),
            ),
            Self::CacheNeverHit => (
                "cache-never-hit",
                "a cache that was declared primed did not serve every program that asked it",
                Some("look for a program whose key changes from process to process"),
            ),
            Self::NoSteadyState => (
                "no-steady-state",
                "the calls never settled at one level",
                Some(
                    "raise `warm.iterations` and `warm.within`, or look for what disturbs \
                      them with `firstlight doctor`",
                ),
            ),
            Self::HighVariance => (
                "high-variance",
                "the processes differ so much that the mean says little about any of them",
                Some("see `firstlight doctor`, and raise `warm.most-processes`"),
            ),
            Self::Drift => (
                "drift",
                "the calls grow slower or faster all through the steady part",
                Some("raise `warm.iterations`, or look for something that grows"),
            ),
            Self::TooFewSamples => (
                "too-few-samples",
                "there are too few valid samples for a 95 % interval",
                Some("take more with `--processes`"),
            ),
            Self::TailNotSupported => (
                "tail-not-supported",
                "so few processes cannot bound so high a quantile",
                Some("take more with `--processes`"),
            ),
            Self::AsyncNotSynchronised => (
                "async-not-synchronised",
                "calls returned before their work was done, so the clock stopped too early",
                Some(
                    "give the workload a `sync` that waits for its result, such as \
                      `jax.block_until_ready`",
                ),
            ),
            Self::OutputDiffers => (
                "output-differs",
                "the workload's own check refused its result, or it is not the reference \
                 arm's",
                Some(
                    "mend the arm, or pick what is compared with `output`, or set \
                      `comparison.tolerance`",
                ),
            ),
            Self::NondeterministicCompile => (
                "nondeterministic-compile",
                "one function was compiled to different programs in different processes",
                Some("report the spread over processes with the number"),
            ),
            Self::TracerInflated => (
                "tracer-inflated",
                "a profiler or debugger watched the calls, which makes them slower, and some \
                 more than others",
                Some("switch it off for the measured run"),
            ),
            Self::NoisyMachine => (
                "noisy-machine",
                "other processes kept a good part of the machine busy meanwhile, or the \
                 machine itself changed",
                Some("see `firstlight doctor`"),
            ),
            Self::ControlFailed => (
                "control-failed",
                "the reference arm differs from itself, so differences on this machine mean \
                 nothing now",
                Some(
                    "run again when the machine is quiet; `firstlight doctor` tells what \
                      disturbs it",
                ),
            ),
            Self::PrecisionDiffers => (
                "precision-differs",
                "a result has another floating-point type than was asked for or than the \
                 reference's",
                Some("for JAX set `JAX_ENABLE_X64=1`, or ask for the type that is meant"),
            ),
            Self::BytecodeNotCached => (
                "bytecode-not-cached",
                "modules were compiled from source because their byte code is not on disk",
                Some("in a suite, `bytecode = \"primed\"` under `[cache]` has it made first"),
            ),
            Self::ProcessFailed => {
                ("process-failed", "the process exited with an error, raised or was killed", None)
            }
            Self::TimedOut => {
                ("timed-out", "the process took longer than it may and was ended", None)
            }
            Self::ProtocolBroken => (
                "protocol-broken",
                "the process wrote nonsense or half a line to the descriptor, or owed an \
                 answer",
                None,
            ),
            Self::LeftProcesses => {
                ("left-processes", "processes outlived the command and were ended", None)
            }
            Self::Interrupted => {
                ("interrupted", "the process was ended because firstlight was", None)
            }
            Self::NotHooked => (
                "not-hooked",
                "no Python process loaded the hooks, so only what is seen from outside is \
                 known",
                None,
            ),
            Self::AdapterFailed => (
                "adapter-failed",
                "an adapter could not be installed, so its framework's work is not seen",
                None,
            ),
            Self::NotProved => (
                "not-proved",
                "another tool measured this: that nothing was compiled meanwhile, that caches were \
                 in a known state and that results are right is unknown",
                Some("measure it with `firstlight run` to know"),
            ),
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
