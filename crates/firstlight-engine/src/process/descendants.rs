//! Finds and kills processes that a command started and left running.
//!
//! firstlight makes itself the reaper of its descendants, so that even a child that left its
//! process group comes to it as an orphan.

use std::fs;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    waitpid,
};

use super::watchdog;
use crate::EngineError;
use crate::cache::remove_stale_scratch;

/// A limit, because a process may start another one whenever it is killed.
const MOST_ROUNDS: u32 = 1_000;

/// From now on orphaned descendants become children of this process.
pub fn adopt_orphans() -> Result<(), EngineError> {
    remove_stale_scratch();
    watchdog::start();
    set_child_subreaper(Some(getpid()))
        .map_err(|error| EngineError::system("become the reaper of descendants")(error.into()))
}

pub(super) fn signal_group(group: Pid, signal: Signal) {
    // A group that no longer exists needs no signal.
    let _ = kill_process_group(group, signal);
}

/// Kills and reaps all processes that a reaped command left; returns their number. Without `/proc` only those
/// in the command's group are known.
pub(super) fn end_survivors(group: Pid) -> u32 {
    let mut ended = 0;
    for _ in 0..MOST_ROUNDS {
        let mut left = children();
        // A process that exited by itself only needs to be reaped.
        left.retain(|&pid| Some(pid) != watchdog::pid() && !is_reaped(pid));
        signal_group(group, Signal::KILL);
        if left.is_empty() {
            return ended;
        }
        ended += u32::try_from(left.len()).unwrap_or(u32::MAX);
        for &pid in &left {
            let _ = kill_process(pid, Signal::KILL);
        }
        for pid in left {
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
    ended
}

fn is_reaped(pid: Pid) -> bool {
    !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None))
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get().to_string();
    let listed = fs::read_to_string(format!("/proc/self/task/{own}/children"));
    match listed {
        Ok(text) => text.split_whitespace().filter_map(parse).collect(),
        // A kernel without that file: look at every process's parent.
        Err(_) => fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| parent(name).as_deref() == Some(&own))
            .filter_map(|name| parse(&name))
            .collect(),
    }
}

fn parse(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

fn parent(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1).map(str::to_owned)
}
