//! Runs a command three times, with no, little and much tracing, and keeps what was recorded.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::Outcome;
use firstlight_schema::trace::Tracing;
use firstlight_schema::variables;

use crate::EngineError;
use crate::interrupt::Interrupt;
use crate::process::{Launch, Show, Stage, Start};
use crate::python::resolve;

const HOOK: &str = include_str!("../../../python/tracing/sitecustomize.py");

/// One of the runs.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub tracing: Tracing,
    /// Start and end of each step, on the monotonic clock.
    pub steps: Vec<(u64, u64)>,
    pub wall: Nanos,
    /// The profile folder; none for the untraced run.
    pub profile: Option<PathBuf>,
}

/// Records the command's runs below a folder, the least traced first.
pub fn record(
    command: &[String],
    folder: &Path,
    timeout: Duration,
    interrupt: &Interrupt,
    mut starting: impl FnMut(Tracing),
) -> Result<Vec<Recorded>, EngineError> {
    let program = resolve(&command[0])?.program;
    let hooks = folder.join("hooks");
    fs::create_dir_all(&hooks).map_err(EngineError::file("make", &hooks))?;
    let hook = hooks.join("sitecustomize.py");
    fs::write(&hook, HOOK).map_err(EngineError::file("write", &hook))?;
    let mut stage = Stage::new(folder, interrupt)?;
    let mut runs = Vec::new();
    for (tracing, level) in
        [(Tracing::Untraced, "none"), (Tracing::HostOnly, "host"), (Tracing::Python, "python")]
    {
        starting(tracing);
        let own = folder.join(level);
        fs::create_dir_all(&own).map_err(EngineError::file("make", &own))?;
        let launch = Launch {
            program: program.clone(),
            arguments: command[1..].iter().map(Into::into).collect(),
            directory: None,
            variables: environment(&hooks, &own, level),
            requests: Vec::new(),
            timeout,
            show: Show::Tail,
        };
        let seen = stage.observe(&mut Start::new(launch)?)?;
        match seen.outcome {
            Outcome::Completed => {}
            Outcome::Interrupted => return Err(EngineError::Interrupted),
            other => {
                let tail = seen.streams.stderr_tail.trim_end().to_owned();
                return Err(EngineError::Recording { outcome: format!("{other:?}"), tail });
            }
        }
        runs.push(Recorded {
            tracing,
            steps: steps(&own.join("steps.json"))?,
            wall: seen.reaped.since(seen.spawn),
            profile: (tracing != Tracing::Untraced).then(|| own.join("profile")),
        });
    }
    Ok(runs)
}

fn environment(hooks: &Path, own: &Path, level: &str) -> Vec<(OsString, Option<OsString>)> {
    let original = std::env::var_os(variables::PYTHONPATH);
    let mut path = hooks.as_os_str().to_owned();
    if let Some(original) = &original {
        path.push(":");
        path.push(original);
    }
    // The program's working directory is its own; ours may be told relative to another.
    let own = fs::canonicalize(own).unwrap_or_else(|_| own.to_owned());
    vec![
        (variables::PYTHONPATH.into(), Some(path)),
        (variables::ORIGINAL_PYTHONPATH.into(), original),
        (variables::TRACE_FOLDER.into(), Some(own.into())),
        (variables::TRACE_LEVEL.into(), Some(level.into())),
    ]
}

fn steps(file: &Path) -> Result<Vec<(u64, u64)>, EngineError> {
    let Ok(text) = fs::read_to_string(file) else { return Err(EngineError::NoSteps) };
    let steps: Vec<(u64, u64)> = serde_json::from_str(&text).unwrap_or_default();
    if steps.is_empty() { Err(EngineError::NoSteps) } else { Ok(steps) }
}
