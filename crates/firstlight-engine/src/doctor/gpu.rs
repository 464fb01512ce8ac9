//! Asks `nvidia-smi` for its devices, and does not wait for long.

use std::io::{self, ErrorKind, Seek};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use firstlight_schema::machine_state::GpuState;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::nvidia_smi::{DEVICES, FORMAT, PROCESSES, devices, with_processes};

const PROGRAM: &str = "nvidia-smi";
/// A healthy one answers within a second, even where it has to load the driver first.
const LIMIT: Duration = Duration::from_secs(5);

/// Empty where there is no such program; `None` where it gives no answer.
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
    /// It could not be started, took too long or ended with an error.
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

/// What the program writes until it ends; a file takes it however much it is.
fn listen(program: &str, arguments: &[&str], limit: Duration) -> io::Result<String> {
    // Wrapped, because a folder that is not there is no program that is not there.
    let mut output = tempfile::tempfile().map_err(io::Error::other)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(Stdio::null())
        .spawn()?;
    if !ends_within(&child, limit)? {
        let _ = child.kill();
        // A process that hangs in the driver cannot be killed, and nobody should wait for it.
        thread::spawn(move || child.wait());
        return Err(ErrorKind::TimedOut.into());
    }
    if !child.wait()?.success() {
        return Err(io::Error::other("it failed"));
    }
    output.rewind()?;
    io::read_to_string(output)
}

fn ends_within(child: &Child, limit: Duration) -> io::Result<bool> {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let ended = retry_on_intr(|| poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)))?;
    Ok(ended > 0)
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
