//! Findings: a rule's objection to a sample or a run, under a stable name.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares every finding once: its variant, its stable name, its meaning, and a remedy if there is one.
macro_rules! findings {
    ($($variant:ident, $name:literal, $meaning:literal, $advice:expr;)*) => {
        /// The stable names: mistakes that people publish, failures of processes, and the largest parts of a
        /// start.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
        pub enum Finding {
            $(#[doc = $meaning] $variant,)*
            /// A finding of a newer firstlight; its name is kept.
            Other(&'static str),
        }

        impl Finding {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }

            /// Why it matters.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                    Self::Other(_) => "a newer firstlight explains it",
                }
            }

            /// The remedy, if there is one.
            pub fn advice(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => $advice,)*
                    Self::Other(_) => None,
                }
            }
        }
    };
}

findings! {
    CompiledInWindow, "compiled-in-window",
        "a function was traced, lowered or compiled inside the window, so compiling was timed as part of a call",
        Some("raise `warm.warm-up` in the suite until everything is compiled before the window");
    WarmupShorterThanTest, "warmup-shorter-than-test",
        "the window called a function with shapes that the warm-up did not cover",
        Some("make the warm-up call the same shapes as the measured calls");
    ConfigChangedAfterWarmup, "config-changed-after-warmup",
        "a setting or an environment variable changed after the warm-up, so the window ran under other conditions",
        Some("set it in `setup`");
    LoadInsideWindow, "load-inside-window",
        "modules were imported or many bytes were read from files inside the window",
        Some("load in `setup`, outside the step");
    CacheNotClean, "cache-not-clean",
        "a cache that was declared empty or disabled held entries, served a program, or was not the directory that firstlight provided",
        Some("let the program take its cache directory from the environment, or measure with `--cache as-found`");
    CacheNeverHit, "cache-never-hit",
        "a cache that was declared primed did not serve every program",
        Some("look for a program whose cache key changes from process to process");
    NoSteadyState, "no-steady-state",
        "the calls never settled at one level",
        Some("raise `warm.iterations` and `warm.within`, or find the disturbance with `firstlight doctor`");
    HighVariance, "high-variance",
        "processes differ so much that their mean describes none of them",
        Some("check the machine with `firstlight doctor`, and measure more processes");
    OutlierNode, "outlier-node",
        "one node of a merged result disagrees with the others by more than they differ among themselves",
        Some("check that node with `firstlight doctor`, and merge without its shards if its state explains it");
    Drift, "drift",
        "calls become slower or faster throughout the steady part",
        Some("raise `warm.iterations`, or look for something that grows");
    TooFewSamples, "too-few-samples",
        "a 95 % interval needs more valid samples",
        Some("measure more processes: `--processes`, or `--runs` of `firstlight cold`");
    TailNotSupported, "tail-not-supported",
        "this number of processes cannot bound so high a quantile",
        Some("measure more processes: `--processes`, or `--runs` of `firstlight cold`");
    AsyncNotSynchronised, "async-not-synchronised",
        "calls returned before their work was done, so the clock stopped too early",
        Some("give the workload a `sync` that waits for its result, such as `jax.block_until_ready`");
    OutputDiffers, "output-differs",
        "the workload's check rejected its result, or the result differs from the reference arm's",
        Some("fix the arm, select what is compared with `output`, or set `comparison.tolerance`");
    OutputUnread, "output-unread",
        "a result cannot be compared with the reference arm's, so their speeds are not compared either",
        Some("return arrays or numbers, select them with `output`, or set `outputs = \"unchecked\"` under `[comparison]`");
    NondeterministicCompile, "nondeterministic-compile",
        "one function was compiled to different programs in different processes",
        Some("report the spread over processes with the number");
    TracerInflated, "tracer-inflated",
        "a profiler or debugger watched the calls, which slows them down by unequal amounts",
        Some("switch it off for the measured run");
    ExecutionNotRecorded, "execution-not-recorded",
        "compiled programs were called, and the recording holds no execution of them, so their time was counted as dispatch, wait or host",
        Some("record the device too: `host_tracer_level=2` for JAX on a CPU, `ProfilerActivity.CUDA` for PyTorch on a GPU");
    NoisyMachine, "noisy-machine",
        "other processes used much of the machine during the measurement, or the machine itself changed",
        Some("see `firstlight doctor`");
    ControlFailed, "control-failed",
        "two copies of the reference arm differ, so differences measured on this machine mean nothing",
        Some("measure again when the machine is quiet; `firstlight doctor` shows what disturbs it");
    PrecisionDiffers, "precision-differs",
        "a result has a different floating-point type from the requested one, or from the reference arm's result",
        Some("for JAX set `JAX_ENABLE_X64=1`, or ask for the intended type");
    BytecodeNotCached, "bytecode-not-cached",
        "modules were compiled from source because their byte code is not on disk",
        Some("unset `PYTHONDONTWRITEBYTECODE`, or compile once with `python -m compileall`");
    Recompiled, "recompiled",
        "one function was compiled more than once in a process",
        Some("keep its shapes, types and static arguments the same, or pad them");
    OpByOp, "op-by-op",
        "single operations were compiled and dispatched one by one, outside any jitted function",
        Some("wrap the enclosing function in `jax.jit`");
    CompilationCacheUnused, "compilation-cache-unused",
        "programs were compiled although a compilation cache on disk could have served them",
        Some("set `JAX_COMPILATION_CACHE_DIR` and `JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0`");
    PrimedCacheSaves, "primed-cache-saves",
        "a start with primed caches is faster than one with empty caches",
        Some("keep the compilers' caches between starts");
    SlowImport, "slow-import",
        "one package takes a large part of the imports",
        Some("import it where it is used");
    SlowLauncher, "slow-launcher",
        "programs around the interpreter take a large part of the time",
        Some("start the interpreter directly");
    SlowDeviceInit, "slow-device-init",
        "starting the devices takes a large part of the time",
        None;
    SlowExit, "slow-exit",
        "the process takes long to exit after the program's own code has ended",
        None;
    ChildrenNotSeen, "children-not-seen",
        "the program waited for child processes, whose phases firstlight does not see",
        Some("measure the child's command itself");
    LargestPhase, "largest-phase",
        "this phase takes the largest part of the time",
        None;
    ProcessFailed, "process-failed",
        "the process exited with an error, raised an exception or was killed",
        None;
    TimedOut, "timed-out",
        "the process exceeded its time limit and was killed",
        None;
    ProtocolBroken, "protocol-broken",
        "the process wrote an invalid or truncated message, or did not answer",
        None;
    Paused, "paused",
        "the machine slept, or the process or one that it started was stopped, so its times contain the pause",
        Some("measure again, and keep the machine awake");
    ChannelClosed, "channel-closed",
        "the process stopped reporting before it ended, so its last phases may be missing",
        Some("let the program keep the descriptor in `FIRSTLIGHT_FD` open, and let it end without `os._exit`");
    LeftProcesses, "left-processes",
        "processes outlived the command and were killed",
        None;
    Interrupted, "interrupted",
        "the process was killed because firstlight was interrupted",
        None;
    NotHooked, "not-hooked",
        "no Python process loaded the hooks, so firstlight sees the process only from outside",
        None;
    AdapterFailed, "adapter-failed",
        "an adapter could not be installed, so its framework's work is not seen",
        None;
    NotProved, "not-proved",
        "another tool measured this: the state of caches, compilation during the measurement and the results are unknown",
        Some("measure it with `firstlight run`");
    NewerVersion, "newer-version",
        "a newer firstlight wrote this result, and parts of it are not shown here",
        Some("read it with the firstlight that wrote it, or a newer one");
}

impl Finding {
    /// Whether the process itself failed, and not only its evidence.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::ProcessFailed | Self::TimedOut | Self::ProtocolBroken)
    }

    /// The finding with this name; an unknown finding keeps its name.
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL.iter().copied().find(|finding| finding.name() == name);
        known.unwrap_or_else(|| Self::Other(kept(&plain(name))))
    }
}

/// Converts any text to the form of a finding's name.
fn plain(name: &str) -> String {
    const LONGEST: usize = 64;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.chars().take(LONGEST).map(|c| if plain(c) { c } else { '-' }).collect()
}

/// A text with static lifetime; each distinct text is leaked once.
fn kept(name: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let text: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(text);
    text
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_name(&String::deserialize(deserializer)?))
    }
}

impl JsonSchema for Finding {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Finding".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::ALL.iter().map(|finding| finding.name()).collect();
        json_schema!({
            "type": "string",
            "description": "A finding's stable name; a newer minor version may have more.",
            "pattern": "^[a-z][a-z0-9-]*$",
            "examples": names,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A finding with the number behind it. Version 1.0 of the documents wrote one string, `name: text`, which
/// is still read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

impl JsonSchema for Reason {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reason".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A finding with the number behind it; a string is how version 1.0 wrote it.",
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "finding": generator.subschema_for::<Finding>(),
                        "text": { "type": "string" },
                    },
                    "required": ["finding", "text"],
                },
                { "type": "string", "pattern": "^[a-z][a-z0-9-]*: .+" },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReasonVisitor)
    }
}

struct ReasonVisitor;

impl<'de> Visitor<'de> for ReasonVisitor {
    type Value = Reason;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a finding and its text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Reason, E> {
        let (name, text) = text
            .split_once(": ")
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not `finding: text`")))?;
        Ok(Reason::new(Finding::from_name(name), text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reason, A::Error> {
        #[derive(Deserialize)]
        struct Fields {
            finding: Finding,
            text: String,
        }
        let Fields { finding, text } = Fields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Reason { finding, text })
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Reason};

    #[test]
    fn a_reason_survives_its_json_form() {
        let reason = Reason::new(Finding::CacheNotClean, "3 entries: before the start");
        let json = serde_json::to_string(&reason).unwrap();
        let form = r#"{"finding":"cache-not-clean","text":"3 entries: before the start"}"#;
        assert_eq!(json, form);
        assert_eq!(serde_json::from_str::<Reason>(&json).unwrap(), reason);
        let older = "\"cache-not-clean: 3 entries: before the start\"";
        assert_eq!(serde_json::from_str::<Reason>(older).unwrap(), reason);
    }

    #[test]
    fn an_unknown_finding_keeps_its_name() {
        let json = r#"{"finding":"too-hot","text":"91 degrees"}"#;
        let reason: Reason = serde_json::from_str(json).unwrap();
        assert_eq!(reason.finding, Finding::Other("too-hot"));
        assert_eq!(reason.to_string(), "too-hot: 91 degrees");
        assert_eq!(serde_json::to_string(&reason).unwrap(), json);
        assert_eq!(Finding::from_name("drift"), Finding::Drift);
        assert_eq!(Finding::from_name("a | <b>\u{1b}").name(), "a----b--");
    }
}
