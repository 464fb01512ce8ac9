//! The changing state of a machine: raw readings without conclusions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a machine at one moment; `None` means unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MachineState {
    /// When it was read, UTC.
    pub taken: String,
    /// Logical processors that are online.
    pub cores: Option<u32>,
    /// The online processors that this process may use.
    pub allowed_cores: Option<u32>,
    /// Whether two logical processors share a core.
    pub smt: Option<bool>,
    pub numa_nodes: Option<u32>,
    /// Number of processors per governor; empty if the kernel sets no frequencies.
    #[serde(default)]
    pub governors: BTreeMap<String, u32>,
    pub turbo: Option<Turbo>,
    pub frequency: Option<FrequencyRange>,
    pub throttled: Option<ThrottleCounts>,
    pub load: Option<LoadAverages>,
    /// Tasks that are running or ready to run, this one included.
    pub running: Option<u32>,
    pub ticks: Option<Ticks>,
    pub cpu_quota: Option<CpuQuota>,
    pub memory_total_bytes: Option<u64>,
    pub memory_available_bytes: Option<u64>,
    pub swap_used_bytes: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Address space randomisation as the kernel numbers it: 0 is off.
    pub aslr: Option<u32>,
    pub clock_source: Option<String>,
    pub host: Option<Host>,
    /// The probable kind of container; `None` if nothing indicates one.
    pub container: Option<String>,
    pub on_battery: Option<bool>,
    /// NVIDIA devices; empty without `nvidia-smi`, `None` if it did not answer.
    pub gpus: Option<Vec<GpuState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Turbo {
    pub on: bool,
    pub switch: TurboSwitch,
}

/// The file that switches turbo on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum TurboSwitch {
    /// `/sys/devices/system/cpu/intel_pstate/no_turbo`
    IntelPstate,
    /// `/sys/devices/system/cpu/cpufreq/boost`
    Cpufreq,
}

/// The clocks that the kernel may choose from, over all processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FrequencyRange {
    pub min_hz: u64,
    pub max_hz: u64,
}

/// The number of thermal throttling events since boot, summed over all processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ThrottleCounts {
    pub core: u64,
    pub package: u64,
}

/// Over the last one, five and fifteen minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoadAverages {
    pub one: f64,
    pub five: f64,
    pub fifteen: f64,
}

/// The time use of all processors since boot, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ticks {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub io_wait: u64,
    pub irq: u64,
    pub soft_irq: u64,
    pub stolen: u64,
}

/// The tightest limit of our control group and those above it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CpuQuota {
    Unlimited,
    Cores { cores: f64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Host {
    Physical,
    Virtual {
        /// The hypervisor's own name.
        name: Option<String>,
    },
}

/// One NVIDIA device, as `nvidia-smi` reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GpuState {
    pub index: u32,
    pub name: String,
    pub driver: Option<String>,
    pub utilisation_percent: Option<u32>,
    pub temperature_celsius: Option<u32>,
    pub power_watts: Option<f64>,
    pub clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    /// The reasons why the clock is not higher.
    pub clock_limits: Option<Vec<ClockLimit>>,
    pub persistence: Option<bool>,
    /// Compute processes on the device; `None` if it does not report them.
    pub processes: Option<Vec<GpuProcess>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GpuProcess {
    /// The host's process id; a container may see another one.
    pub pid: u32,
    pub memory_bytes: Option<u64>,
}

/// Reasons for a clock below the highest, as NVML names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ClockLimit {
    GpuIdle,
    ApplicationsClocksSetting,
    SwPowerCap,
    HwSlowdown,
    SyncBoost,
    SwThermalSlowdown,
    HwThermalSlowdown,
    HwPowerBrakeSlowdown,
    DisplayClockSetting,
}

impl ClockLimit {
    /// Each reason with its bit in NVML's mask.
    pub const BITS: [(Self, u64); 9] = [
        (Self::GpuIdle, 0x1),
        (Self::ApplicationsClocksSetting, 0x2),
        (Self::SwPowerCap, 0x4),
        (Self::HwSlowdown, 0x8),
        (Self::SyncBoost, 0x10),
        (Self::SwThermalSlowdown, 0x20),
        (Self::HwThermalSlowdown, 0x40),
        (Self::HwPowerBrakeSlowdown, 0x80),
        (Self::DisplayClockSetting, 0x100),
    ];

    /// A description, if it is an unwanted slowdown.
    pub fn throttling(self) -> Option<&'static str> {
        match self {
            Self::SwPowerCap => Some("power cap"),
            Self::HwSlowdown => Some("hardware slowdown"),
            Self::SwThermalSlowdown => Some("heat"),
            Self::HwThermalSlowdown => Some("heat, by the hardware"),
            Self::HwPowerBrakeSlowdown => Some("power brake"),
            Self::GpuIdle
            | Self::ApplicationsClocksSetting
            | Self::SyncBoost
            | Self::DisplayClockSetting => None,
        }
    }
}
