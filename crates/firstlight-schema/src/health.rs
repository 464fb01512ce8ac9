//! The document `doctor`: the suitability of a machine for measurements, as checks of its state.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::machine_state::MachineState;
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "doctor";
pub const VERSION: Version = Version { major: 1, minor: 0 };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HealthDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    pub machine: Machine,
    pub state: MachineState,
    pub checks: Vec<HealthCheck>,
}

impl HealthDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}

/// One question about the machine, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HealthCheck {
    pub name: CheckName,
    pub status: CheckStatus,
    /// The observed value, as text; the raw readings are in the state.
    pub value: String,
    /// Why it matters.
    pub why: String,
    /// A command or setting that helps, if the check warns and there is one.
    pub advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CheckStatus {
    Ok,
    Warn,
    /// The machine does not report this value.
    Unknown,
}

/// The stable names of the checks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CheckName {
    Load,
    StolenTime,
    CpuQuota,
    VirtualMachine,
    Governor,
    Turbo,
    Throttling,
    Battery,
    Memory,
    Swap,
    ClockSource,
    GpuUse,
    GpuThrottling,
    GpuPersistence,
}

impl CheckName {
    /// All checks in display order.
    pub const ALL: [Self; 14] = [
        Self::Load,
        Self::StolenTime,
        Self::CpuQuota,
        Self::VirtualMachine,
        Self::Governor,
        Self::Turbo,
        Self::Throttling,
        Self::Battery,
        Self::Memory,
        Self::Swap,
        Self::ClockSource,
        Self::GpuUse,
        Self::GpuThrottling,
        Self::GpuPersistence,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::StolenTime => "stolen-time",
            Self::CpuQuota => "cpu-quota",
            Self::VirtualMachine => "virtual-machine",
            Self::Governor => "governor",
            Self::Turbo => "turbo",
            Self::Throttling => "throttling",
            Self::Battery => "battery",
            Self::Memory => "memory",
            Self::Swap => "swap",
            Self::ClockSource => "clock-source",
            Self::GpuUse => "gpu-use",
            Self::GpuThrottling => "gpu-throttling",
            Self::GpuPersistence => "gpu-persistence",
        }
    }

    /// Why it matters, in one sentence.
    pub fn why(self) -> &'static str {
        match self {
            Self::Load => "other processes compete for cores and caches",
            Self::StolenTime => {
                "the hypervisor gave this machine's processors to other guests while work was waiting"
            }
            Self::CpuQuota => {
                "once the quota of a period is used up, every process stops until the next period"
            }
            Self::VirtualMachine => {
                "other guests share the hardware, and this machine cannot see what they do"
            }
            Self::Governor => {
                "the clock follows the load, so a process that has just started runs slower for a while"
            }
            Self::Turbo => {
                "speed then depends on temperature and on how many cores are busy, so later runs differ \
                 from earlier ones"
            }
            Self::Throttling => {
                "the processor lowers its clock when it is too hot, in the middle of a measurement"
            }
            Self::Battery => "on battery a machine saves power by lowering its clock",
            Self::Memory => "with little memory left, every start reads its files from disk again",
            Self::Swap => {
                "reading swapped pages from disk is counted as time of the process that touches them"
            }
            Self::ClockSource => "with a slow clock source, every clock reading is a system call",
            Self::GpuUse => "other work on the device takes its time, its memory and its clock",
            Self::GpuThrottling => {
                "the device lowers its clock for power or heat, so its speed changes during a run"
            }
            Self::GpuPersistence => {
                "without persistence mode the driver initialises again for every process that finds \
                 the device unused, which slows each cold start"
            }
        }
    }

    /// Whether it disturbs a run while it lasts, and does not only distinguish it from other runs.
    pub fn disturbs_a_run(self) -> bool {
        match self {
            Self::Load
            | Self::StolenTime
            | Self::CpuQuota
            | Self::Memory
            | Self::GpuUse
            | Self::GpuThrottling => true,
            Self::VirtualMachine
            | Self::Governor
            | Self::Turbo
            | Self::Throttling
            | Self::Battery
            | Self::Swap
            | Self::ClockSource
            | Self::GpuPersistence => false,
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::CheckName;

    #[test]
    fn a_check_has_the_same_name_in_json_and_in_text() {
        for name in CheckName::ALL {
            assert_eq!(serde_json::to_value(name).unwrap(), name.name());
        }
    }
}
