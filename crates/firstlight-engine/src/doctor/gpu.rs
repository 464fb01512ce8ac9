//! Queries `nvidia-smi` for its devices, with a short time limit.

use std::io::{self, ErrorKind};
use std::process::Command;
use std::time::Duration;

use firstlight_schema::machine_state::GpuState;

use super::nvidia_smi::{DEVICES, FORMAT, PROCESSES, devices, with_processes};
use crate::helper;

const PROGRAM: &str = "nvidia-smi";
/// A healthy `nvidia-smi` answers within a second, even if it loads the driver first.
const LIMIT: Duration = Duration::from_secs(5);

/// Empty without `nvidia-smi`; `None` if it does not answer.
pub(super) fn ask() -> Option<Vec<GpuState>> {
    let known = match answer(PROGRAM, &[DEVICES, FORMAT], LIMIT) {
        Answer::NoProgram => return Some(Vec::new()),
        Answer::Failed => return None,
        Answer::Text(text) => devices(&text),
    };
    let processes = match answer(PROGRAM, &[PROCESSES, FORMAT], LIMIT) {
        Answer::Text(text) => Some(text),
        Answer::NoProgram | Answer::Failed => None,
    };
    Some(with_processes(known, processes.as_deref()))
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    NoProgram,
    /// `nvidia-smi` could not be started, timed out or failed.
    Failed,
    Text(String),
}

fn answer(program: &str, arguments: &[&str], limit: Duration) -> Answer {
    match listen(program, arguments, limit) {
        Ok(text) => Answer::Text(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Answer::NoProgram,
        Err(_) => Answer::Failed,
    }
}

/// The program's output.
fn listen(program: &str, arguments: &[&str], limit: Duration) -> io::Result<String> {
    let output = helper::output(Command::new(program).args(arguments), limit)?;
    if !output.status.success() {
        return Err(io::Error::other("it failed"));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Answer, answer};

    const LONG: Duration = Duration::from_mins(1);

    fn shell(script: &str, limit: Duration) -> Answer {
        answer("sh", &["-c", script], limit)
    }

    #[test]
    fn a_tool_that_is_not_there_is_no_error() {
        assert_eq!(answer("no-such-tool-anywhere", &[], LONG), Answer::NoProgram);
    }

    #[test]
    fn a_tool_that_answers_is_believed_and_one_that_fails_is_not() {
        assert_eq!(shell("echo 1; echo 2", LONG), Answer::Text("1\n2\n".to_owned()));
        assert_eq!(shell("echo something; exit 9", LONG), Answer::Failed);
    }

    #[test]
    fn a_tool_that_hangs_is_ended() {
        assert_eq!(shell("exec sleep 600", Duration::from_millis(50)), Answer::Failed);
    }
}
