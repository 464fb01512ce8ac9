//! Steps, and summaries over them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::part::{Bucket, Part, PartTime};
use crate::estimate::Estimate;
use crate::nanos::Nanos;

/// How steps were identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum StepsBy {
    /// By the program's annotations.
    Annotation,
    /// From one call of the most frequently called compiled function to the next.
    RepeatedCall,
    /// From one run of the most frequent program to the next.
    RepeatedModule,
    /// A single step: the whole recording.
    WholeTrace,
}

impl StepsBy {
    /// How the steps were found.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotation => "annotated",
            Self::RepeatedCall => "from call to call",
            Self::RepeatedModule => "from program to program",
            Self::WholeTrace => "the whole recording",
        }
    }
}

/// One step: its parts sum to its duration, to the nanosecond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    pub name: String,
    pub number: i64,
    /// From the recording's first event.
    pub start_ns: Nanos,
    pub duration_ns: Nanos,
    /// The time between the previous step and this one.
    pub gap_ns: Nanos,
    /// Whether something was traced, lowered or compiled in it.
    pub compiled: bool,
    /// The reason why medians exclude it although nothing was compiled in it; absent if they include it.
    #[serde(default)]
    pub left_out: Option<LeftOut>,
    /// Only parts with a non-zero time.
    pub parts: Vec<PartTime>,
    /// Outside the compiled program and its calls: `wait` and `host` together.
    pub host_outside_ns: Nanos,
    /// Host work outside compiled calls while the program ran or data moved; not part of any sum.
    pub overlapped_host_ns: Nanos,
    /// Time during which any kernel or program ran; not part of any sum.
    pub device_busy_ns: Nanos,
    /// Inside calls of compiled functions on any thread; not part of any sum.
    pub region_ns: Nanos,
    pub calls: u32,
    /// Peak of the largest allocator during the step; absent if it was not recorded.
    #[serde(default)]
    pub peak_bytes: Option<u64>,
    /// Busy times of each device in it, if there are several.
    #[serde(default)]
    pub devices: Vec<DeviceTime>,
    /// For drawing: invisibly short intervals are left out.
    pub timeline: Vec<Stretch>,
}

impl Step {
    /// Whether medians include it: nothing was compiled in it, and it is a whole step.
    pub fn is_steady(&self) -> bool {
        !self.compiled && self.left_out.is_none()
    }

    pub fn part(&self, part: Part) -> Nanos {
        self.parts.iter().filter(|row| row.part == part).map(|row| row.ns).sum()
    }

    /// From the first device that finishes to the last one.
    pub fn skew(&self) -> Option<Nanos> {
        let ends = || self.devices.iter().map(|device| device.end_ns.0);
        let (first, last) = (ends().min()?, ends().max()?);
        (self.devices.len() > 1).then(|| Nanos(last - first))
    }

    /// Outside the compiled program and its calls.
    pub fn outside(parts: &[PartTime]) -> Nanos {
        let outside = |row: &&PartTime| matches!(row.part.bucket(), Bucket::Wait | Bucket::Host);
        parts.iter().filter(outside).map(|row| row.ns).sum()
    }

    pub fn bucket(&self, bucket: Bucket) -> Nanos {
        self.parts.iter().filter(|row| row.part.bucket() == bucket).map(|row| row.ns).sum()
    }
}

/// A device in a step; times are from the step's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeviceTime {
    /// `/device:GPU:0`, `cpu:3`
    pub device: String,
    pub busy_ns: Nanos,
    /// The times at which it began and finished.
    pub start_ns: Nanos,
    pub end_ns: Nanos,
}

/// The time between the first and the last device that finish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Skew {
    /// From the first device that finishes a steady step to the last one.
    pub median: Estimate,
    /// The device that is most often the last, and in how many steady steps.
    pub last: String,
    pub last_in: u32,
}

/// The reason why medians exclude a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum LeftOut {
    /// The steps were guessed, and no following step shows its end.
    Unended,
    /// Nothing was called or ran in it, unlike in other steps.
    Empty,
}

/// An interval of a step, measured from the step's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stretch {
    pub part: Part,
    pub start_ns: Nanos,
    pub duration_ns: Nanos,
}

/// A bucket, or a part of one, over the steady steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyRow {
    pub bucket: Bucket,
    /// Absent for the whole bucket.
    pub part: Option<Part>,
    pub median: Estimate,
    /// The share of the mean step.
    pub share: f64,
}
