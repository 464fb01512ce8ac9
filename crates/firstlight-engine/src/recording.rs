//! Runs a command or the workload of a suite's arm three times: without tracing, with little and with much
//! tracing. Keeps the recordings.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::Outcome;
use firstlight_schema::suite::{ArmFile, CaseFile, Program};
use firstlight_schema::trace::Tracing;
use firstlight_schema::variables;
use serde_json::json;

use crate::EngineError;
use crate::interrupt::Interrupt;
use crate::process::{Launch, Show, Stage, Start};
use crate::python::{Hooks, resolve};
use crate::sampling::{SuitePlan, Target, prepare, target};

/// The files at the front of the path of every recorded process.
const HOOKS: [(&str, &str); 3] = [
    ("sitecustomize.py", include_str!("../embedded/tracing/sitecustomize.py")),
    ("_firstlight_recording.py", include_str!("../embedded/tracing/_firstlight_recording.py")),
    (WORKLOAD, include_str!("../embedded/tracing/workload.py")),
];
const WORKLOAD: &str = "workload.py";

/// Steps of an arm: enough for medians, few enough for a recording with Python frames.
const STEPS: u32 = 30;
const FEWEST_STEPS: u32 = 6;
const WITHIN: Duration = Duration::from_secs(20);

const LEVELS: [(Tracing, &str); 3] =
    [(Tracing::Untraced, "none"), (Tracing::HostOnly, "host"), (Tracing::Python, "python")];

/// One of the runs.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub tracing: Tracing,
    /// Start and end of each step, on the monotonic clock.
    pub steps: Vec<(u64, u64)>,
    /// The same for the workload's baseline, after each step; empty without one.
    pub baselines: Vec<(u64, u64)>,
    pub wall: Nanos,
    /// The profile folder; none for the untraced run.
    pub profile: Option<PathBuf>,
}

/// A program or arm that is recorded, and therefore run three times.
#[derive(Debug)]
pub enum Work<'a> {
    Command { words: &'a [String], timeout: Duration },
    Arm { plan: &'a SuitePlan<'a>, case: &'a CaseFile, arm: &'a ArmFile, hooks: &'a Hooks },
}

/// Whether an arm is one that can be recorded: a workload in Python.
pub fn can_be_recorded(arm: &ArmFile) -> bool {
    matches!(arm.program(), Program::Workload(_))
}

/// Records the runs below a folder, the least traced first.
pub fn record(
    work: &Work<'_>,
    folder: &Path,
    interrupt: &Interrupt,
    mut starting: impl FnMut(Tracing),
) -> Result<Vec<Recorded>, EngineError> {
    fs::create_dir_all(folder).map_err(EngineError::file("make", folder))?;
    // Processes have working directories of their own.
    let folder = &fs::canonicalize(folder).map_err(EngineError::file("find", folder))?;
    let hooks = folder.join("hooks");
    fs::create_dir_all(&hooks).map_err(EngineError::file("make", &hooks))?;
    for (name, text) in HOOKS {
        let path = hooks.join(name);
        fs::write(&path, text).map_err(EngineError::file("write", &path))?;
    }
    let mut subject = Subject::new(work, &hooks)?;
    let mut stage = Stage::new(folder, interrupt)?;
    let mut runs = Vec::new();
    for (tracing, level) in LEVELS {
        starting(tracing);
        let own = folder.join(level);
        fs::create_dir_all(&own).map_err(EngineError::file("make", &own))?;
        let mut launch = subject.launch()?;
        launch.variables.extend(environment(&hooks, &own, level));
        let seen = stage.observe(&mut Start::new(launch)?)?;
        match seen.outcome {
            Outcome::Completed => {}
            Outcome::Interrupted => return Err(EngineError::Interrupted),
            other => {
                let tail = seen.streams.stderr_tail.trim_end().to_owned();
                return Err(EngineError::Recording { outcome: other.to_string(), tail });
            }
        }
        let steps = spans(&own.join("steps.json"));
        if steps.is_empty() {
            return Err(EngineError::NoSteps);
        }
        runs.push(Recorded {
            tracing,
            steps,
            baselines: spans(&own.join("baselines.json")),
            wall: seen.reaped.since(seen.spawn),
            profile: (tracing != Tracing::Untraced).then(|| own.join("profile")),
        });
    }
    Ok(runs)
}

/// The cache policy of a suite's arm while it is recorded.
pub const COMPILERS: Policy = Policy::Clean;

/// The program that each run starts.
enum Subject {
    Command(Launch),
    /// With private caches, which are empty at the start of each run.
    Arm(Box<Target>),
}

impl Subject {
    fn new(work: &Work<'_>, own: &Path) -> Result<Self, EngineError> {
        Ok(match work {
            Work::Command { words, timeout } => Self::Command(Launch {
                program: resolve(&words[0])?.program,
                arguments: words[1..].iter().map(Into::into).collect(),
                directory: None,
                variables: Vec::new(),
                requests: Vec::new(),
                timeout: *timeout,
                show: Show::Tail,
                stdin: None,
                interpreter: None,
            }),
            Work::Arm { plan, case, arm, hooks } => {
                let mut target = target(plan, arm)?;
                target.launch.arguments = vec![own.join(WORKLOAD).into()];
                let asked = asked(plan, case, arm, hooks).to_string();
                target.launch.variables.push((variables::TRACE_WORK.into(), Some(asked.into())));
                Self::Arm(Box::new(target))
            }
        })
    }

    fn launch(&mut self) -> Result<Launch, EngineError> {
        const POLICY: CachePolicy = CachePolicy {
            compilers: COMPILERS,
            bytecode: Policy::AsFound,
            page_cache: Policy::AsFound,
        };
        match self {
            Self::Command(launch) => Ok(launch.clone()),
            Self::Arm(target) => {
                target.scratch.prepare(POLICY)?;
                let mut launch = target.launch.clone();
                let caches = target.scratch.variables(POLICY, &launch.variables);
                launch.variables.extend(caches);
                Ok(launch)
            }
        }
    }
}

/// The instructions for `workload.py`.
fn asked(plan: &SuitePlan<'_>, case: &CaseFile, arm: &ArmFile, hooks: &Hooks) -> serde_json::Value {
    let prepare = prepare(case, arm);
    json!({
        "package": hooks.package(),
        "workload": prepare.workload,
        "case": prepare.case,
        "parameters": prepare.parameters,
        "arm": prepare.arm,
        "options": prepare.options,
        "warm-up": plan.suite.file.warm.warm_up,
        "steps": STEPS,
        "at-least": FEWEST_STEPS,
        "within-ns": Nanos::from(WITHIN),
    })
}

fn environment(hooks: &Path, own: &Path, level: &str) -> Vec<(OsString, Option<OsString>)> {
    let original = std::env::var_os(variables::PYTHONPATH);
    let mut path = hooks.as_os_str().to_owned();
    if let Some(original) = &original {
        path.push(":");
        path.push(original);
    }
    vec![
        (variables::PYTHONPATH.into(), Some(path)),
        (variables::ORIGINAL_PYTHONPATH.into(), original),
        (variables::TRACE_FOLDER.into(), Some(own.into())),
        (variables::TRACE_LEVEL.into(), Some(level.into())),
    ]
}

/// The times that a run recorded, if any.
fn spans(file: &Path) -> Vec<(u64, u64)> {
    let text = fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
