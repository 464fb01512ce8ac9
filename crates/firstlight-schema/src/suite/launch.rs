//! The table `[launch]`: runs on other machines, and the machines that may be merged.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::duration;
use crate::machine::Machine;
use crate::machine_state::MachineState;

/// The machines on which the suite runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LaunchFile {
    /// Facts about the hardware that must be the same for all shards of a merged snapshot.
    pub same: Vec<HardwareKey>,
    /// How `firstlight run --on slurm` submits the suite.
    pub slurm: SlurmFile,
}

impl Default for LaunchFile {
    fn default() -> Self {
        let same = vec![HardwareKey::Cpu, HardwareKey::Cores, HardwareKey::Gpus];
        Self { same, slurm: SlurmFile::default() }
    }
}

/// A Slurm array. Each task measures whole rounds with all arms on one node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SlurmFile {
    pub partition: Option<String>,
    pub account: Option<String>,
    /// Devices of each task, such as `"gpu:1"`.
    pub gres: Option<String>,
    /// Features that a node must have, such as `"a100"`.
    pub constraint: Option<String>,
    /// Time limit of one task, such as `"2h"`. A task that exceeds it seals the processes measured so far.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "String")]
    pub time: Duration,
    /// Tasks of the array. Each measures its share of the processes of every arm.
    #[schemars(range(min = 1))]
    pub nodes: u32,
    /// Whether a task has its node to itself. Otherwise other tasks disturb the measurement.
    pub exclusive: bool,
}

impl Default for SlurmFile {
    fn default() -> Self {
        Self {
            partition: None,
            account: None,
            gres: None,
            constraint: None,
            time: Duration::from_hours(1),
            nodes: 2,
            exclusive: true,
        }
    }
}

/// A fact about the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum HardwareKey {
    /// The name of the processor.
    Cpu,
    /// The processors that firstlight may use.
    Cores,
    /// Memory in whole gibibytes.
    Memory,
    /// The release of the kernel.
    Kernel,
    /// The names of the NVIDIA devices.
    Gpus,
    /// The version of the NVIDIA driver.
    Driver,
}

impl HardwareKey {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cores => "cores",
            Self::Memory => "memory",
            Self::Kernel => "kernel",
            Self::Gpus => "gpus",
            Self::Driver => "driver",
        }
    }

    /// The machine's value as text; `unknown` if it could not be determined.
    pub fn value(self, machine: &Machine, state: &MachineState) -> String {
        let gpus = || state.gpus.as_ref();
        let found = match self {
            Self::Cpu => machine.cpu.clone(),
            Self::Cores => machine.cores.map(|cores| cores.to_string()),
            Self::Memory => machine.memory_bytes.map(|bytes| format!("{} GiB", bytes >> 30)),
            Self::Kernel => machine.kernel.clone(),
            Self::Gpus => gpus().map(|gpus| {
                let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            }),
            Self::Driver => gpus().and_then(|gpus| gpus.first()).and_then(|gpu| gpu.driver.clone()),
        };
        found.unwrap_or_else(|| "unknown".to_owned())
    }
}

impl fmt::Display for HardwareKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
