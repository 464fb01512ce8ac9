//! Runs a command of Slurm with a time limit, out of reach of the terminal's Ctrl-C.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

const SLICE: Duration = Duration::from_millis(10);

/// The output of a command that ends in time.
pub fn output(command: &mut Command, limit: Duration) -> io::Result<Output> {
    // Files take the output however much it is.
    let (mut out, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(errors.try_clone()?)
        .process_group(0)
        .spawn()?;
    let until = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Err(ErrorKind::TimedOut.into());
        }
        thread::sleep(SLICE);
    };
    Ok(Output { status, stdout: read(&mut out)?, stderr: read(&mut errors)? })
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> io::Result<Output> {
        output(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn output_and_status_are_those_of_the_command() {
        let found = shell("echo out; echo err >&2; exit 3", Duration::from_mins(1)).unwrap();
        assert_eq!((found.stdout, found.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
        assert_eq!(found.status.code(), Some(3));
    }

    #[test]
    fn a_command_that_hangs_is_killed() {
        let error = shell("sleep 600", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
