//! The phases of a process: the rows of every ledger, in display order.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// A named part of a process's time. `docs/glossary.md` defines each phase.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Phase {
    /// From before the fork until the new program has replaced the child.
    Spawn,
    /// Programs around the interpreter: a shell, a shim, a wrapper, a launcher.
    Launcher,
    /// The interpreter's own start, until the first line of the hooks.
    Interpreter,
    /// firstlight's own code inside the process: its hooks and its runner.
    Probe,
    /// Loading modules, by top-level package.
    Import,
    /// Starting a backend: finding devices, creating contexts.
    DeviceInit,
    /// A workload's `setup`, in suites.
    Setup,
    /// Converting Python to the framework's own representation.
    Trace,
    /// Converting that representation to the compiler's input.
    Lower,
    /// The compiler.
    Compile,
    /// Reading compiled programs from a cache on disk.
    CacheRead,
    /// Writing compiled programs to a cache on disk.
    CacheWrite,
    /// The first run of a compiled program, and in suites the first call of a workload.
    FirstRun,
    /// Calls before the window of the warm regime.
    WarmUp,
    /// The measured calls of the warm regime.
    Window,
    /// The program's own code and its execution.
    Run,
    /// Waiting for child processes; firstlight does not see their phases.
    Children,
    /// From the end of the program's own code until the process was reaped.
    Teardown,
    /// Time that belongs to no known phase.
    Unattributed,
}

impl Phase {
    pub const ALL: [Self; 19] = [
        Self::Spawn,
        Self::Launcher,
        Self::Interpreter,
        Self::Probe,
        Self::Import,
        Self::DeviceInit,
        Self::Setup,
        Self::Trace,
        Self::Lower,
        Self::Compile,
        Self::CacheRead,
        Self::CacheWrite,
        Self::FirstRun,
        Self::WarmUp,
        Self::Window,
        Self::Run,
        Self::Children,
        Self::Teardown,
        Self::Unattributed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Launcher => "launcher",
            Self::Interpreter => "interpreter",
            Self::Probe => "probe",
            Self::Import => "import",
            Self::DeviceInit => "device-init",
            Self::Setup => "setup",
            Self::Trace => "trace",
            Self::Lower => "lower",
            Self::Compile => "compile",
            Self::CacheRead => "cache-read",
            Self::CacheWrite => "cache-write",
            Self::FirstRun => "first-run",
            Self::WarmUp => "warm-up",
            Self::Window => "window",
            Self::Run => "run",
            Self::Children => "children",
            Self::Teardown => "teardown",
            Self::Unattributed => "unattributed",
        }
    }

    /// Whether this phase turns source into a compiled program.
    pub fn is_compilation(self) -> bool {
        matches!(self, Self::Trace | Self::Lower | Self::Compile)
    }
}

/// Reads a phase of a document; a phase of a newer firstlight becomes `unattributed`.
pub(crate) fn in_document<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Phase, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = Phase::ALL.into_iter().find(|phase| phase.name() == name);
    Ok(known.unwrap_or(Phase::Unattributed))
}

/// The schema of a phase in a document: the known ones are examples.
pub(crate) fn schema_in_document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "description": "A phase's stable name; a newer minor version may have more.",
        "pattern": "^[a-z][a-z0-9-]*$",
        "examples": Phase::ALL.map(Phase::name),
    })
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn a_phase_of_a_newer_firstlight_is_unattributed() {
        let read = |json: &str| super::in_document(&mut serde_json::Deserializer::from_str(json));
        assert_eq!(read("\"dreaming\"").unwrap(), Phase::Unattributed);
        assert_eq!(read("\"compile\"").unwrap(), Phase::Compile);
        assert!(
            serde_json::from_str::<Phase>("\"dreaming\"").is_err(),
            "a runner speaks our version"
        );
    }

    #[test]
    fn a_phase_has_the_same_name_in_text_and_in_json() {
        for phase in Phase::ALL {
            let json = serde_json::to_string(&phase).unwrap();
            assert_eq!(json, format!("\"{phase}\""));
        }
    }
}
