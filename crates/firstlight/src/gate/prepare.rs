//! Builds a checkout with the user's own command line, before anything is measured.

use std::process::Command;
use std::time::Duration;

use firstlight_engine::EngineError;
use firstlight_engine::helper::output;

use super::trial::{Side, Trial, described};
use crate::error::Error;
use crate::printer::Printer;

/// Longer builds hang.
const LIMIT: Duration = Duration::from_hours(2);
const SHOWN_LINES: usize = 15;

/// Runs the command line of `--prepare` where commands run in the checkout.
pub(crate) fn prepare(trial: &Trial<'_>, side: &Side, printer: &mut Printer) -> Result<(), Error> {
    let Some(line) = trial.prepare else { return Ok(()) };
    let commit = described(&side.revision);
    printer.aside(&format!("preparing {commit}: {line}"));
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(&side.folder);
    let failed = |words: String| Error::NotPrepared { commit: commit.clone(), words };
    let done = output(&mut shell, LIMIT).map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => EngineError::Interrupted.into(),
        std::io::ErrorKind::TimedOut => failed("it exceeded two hours".to_owned()),
        _ => failed(error.to_string()),
    })?;
    if done.status.success() {
        return Ok(());
    }
    let how = done.status.code().map_or_else(
        || format!("`{line}` was killed: {}", done.status),
        |code| format!("`{line}` exited with code {code}"),
    );
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let tail = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    Err(failed(if tail.is_empty() {
        how
    } else {
        format!("{how}; last lines of stderr:\n\n{tail}")
    }))
}
