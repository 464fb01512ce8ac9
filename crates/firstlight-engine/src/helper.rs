//! Helper programs that are not measured: interpreters that describe themselves, installers, tools of a
//! driver. Each has a time limit, is killed when the user interrupts firstlight, and leaves nothing running.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use firstlight_schema::variables;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::EngineError;
use crate::interrupt::{Running, count};
use crate::process::mark;

/// Long enough for an interpreter on a cold network disk.
pub(crate) const ANSWER: Duration = Duration::from_mins(1);
/// Long enough to download and install a framework.
pub(crate) const INSTALL: Duration = Duration::from_hours(1);

const SLICE: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_millis(500);
/// Longer output is truncated.
const MOST_OUTPUT: u64 = 16 << 20;

/// Runs the program until it exits and returns its output. `TimedOut` and `Interrupted` are errors.
pub fn output(command: &mut Command, limit: Duration) -> io::Result<Output> {
    output_after(0, command, limit)
}

/// The same for work that continues after an interruption: only a further signal kills it.
pub fn closing_output(command: &mut Command, limit: Duration) -> io::Result<Output> {
    output_after(count(), command, limit)
}

/// One further signal kills the program.
fn output_after(before: u32, command: &mut Command, limit: Duration) -> io::Result<Output> {
    // Files take the output however much it is; wrapped, because a folder that is not there is no program
    // that is not there.
    let [mut out, mut errors] = [
        tempfile::tempfile().map_err(io::Error::other)?,
        tempfile::tempfile().map_err(io::Error::other)?,
    ];
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(errors.try_clone()?)
        .env(variables::SESSION, mark().to_string())
        .process_group(0)
        .spawn()?;
    let group = Pid::from_child(&child);
    let running = Running::new(group);
    let ended = wait(&child, limit, before);
    if let Err(error) = ended {
        end(child, group);
        return Err(error);
    }
    let status = child.wait()?;
    // Processes left in its group would run during the first measurement.
    let _ = kill_process_group(group, Signal::KILL);
    drop(running);
    Ok(Output { status, stdout: read(&mut out)?, stderr: read(&mut errors)? })
}

/// Converts a helper's error to a command's error: an interruption is not the helper's fault.
pub(crate) fn failure(
    error: &io::Error,
    otherwise: impl FnOnce(String) -> EngineError,
) -> EngineError {
    match error.kind() {
        ErrorKind::Interrupted => EngineError::Interrupted,
        ErrorKind::TimedOut => otherwise("it exceeded its time limit".to_owned()),
        _ => otherwise(error.to_string()),
    }
}

fn wait(child: &Child, limit: Duration, before: u32) -> io::Result<()> {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let slice = Timespec::try_from(SLICE).map_err(io::Error::other)?;
    let began = Instant::now();
    loop {
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&slice)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if count() > before {
            return Err(ErrorKind::Interrupted.into());
        }
        if began.elapsed() >= limit {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

/// Sends SIGTERM to the group, then SIGKILL. A process that hangs in a driver cannot be killed, so nothing
/// waits for it.
fn end(mut child: Child, group: Pid) {
    let _ = kill_process_group(group, Signal::TERM);
    let began = Instant::now();
    while began.elapsed() < GRACE {
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
        thread::sleep(SLICE / 5);
    }
    let _ = kill_process_group(group, Signal::KILL);
    thread::spawn(move || child.wait());
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> io::Result<Output> {
        output(Command::new("sh").args(["-c", script]), limit)
    }

    fn runs(line: &str) -> bool {
        let listed = Command::new("ps").args(["-eo", "stat,args"]).output().unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        listed.lines().any(|one| one.contains(line) && !one.starts_with('Z'))
    }

    #[test]
    fn a_helper_that_ends_is_heard() {
        let heard = shell("echo out; echo err >&2; exit 3", ANSWER).unwrap();
        assert_eq!((heard.stdout, heard.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
        assert_eq!(heard.status.code(), Some(3));
    }

    #[test]
    fn a_helper_that_hangs_is_ended_with_all_it_started() {
        let error = shell("sleep 4242.17 & sleep 600", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!((0..200).any(|_| {
            thread::sleep(Duration::from_millis(20));
            !runs("sleep 4242.17")
        }));
    }

    #[test]
    fn a_helper_that_succeeds_leaves_nothing_running_in_its_group() {
        assert!(shell("sleep 4242.18 & exit 0", ANSWER).unwrap().status.success());
        assert!((0..200).any(|_| {
            thread::sleep(Duration::from_millis(20));
            !runs("sleep 4242.18")
        }));
    }

    #[test]
    fn a_helper_that_is_not_there_is_an_error_of_its_own() {
        let error = output(&mut Command::new("no-such-tool-anywhere"), ANSWER).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
