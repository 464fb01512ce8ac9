//! The mark by which the watchdog recognises every process of its firstlight.
//!
//! A daemon may leave its session, drop its environment, close all descriptors and lose its parent. It keeps
//! its resource limits. `RLIMIT_LOCKS` has had no effect since Linux 2.4.25, so firstlight writes its mark
//! there, for itself and thereby for all that it starts: starting a process costs no further call. Where the
//! limit cannot be set, a variable in the environment is the only mark.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use firstlight_schema::variables;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getrlimit, pidfd_open, pidfd_send_signal,
    setrlimit,
};

use crate::clock::now;

/// The first bits of every mark; no person sets a limit like this.
const KIND: u64 = 0x464c;
const KIND_SHIFT: u32 = 48;
/// Process numbers take at most so many bits.
const PID_BITS: u32 = 22;

/// The mark on the processes of this firstlight: its process number and the moment of its start.
pub(crate) fn mark() -> u64 {
    static MARK: OnceLock<u64> = OnceLock::new();
    *MARK.get_or_init(|| {
        let pid = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
        let room = (1 << KIND_SHIFT) - 1;
        KIND << KIND_SHIFT | ((now().0 >> 20) << PID_BITS | pid) & room
    })
}

/// The mark of the firstlight that started this one.
pub(super) fn inherited() -> Option<u64> {
    getrlimit(Resource::Locks).current.filter(|&limit| is_mark(limit))
}

/// From now on this process and all that it starts carry the mark.
pub(super) fn carry() {
    let known = getrlimit(Resource::Locks);
    let _ = setrlimit(Resource::Locks, Rlimit { current: Some(mark()), ..known });
}

fn is_mark(limit: u64) -> bool {
    limit >> KIND_SHIFT == KIND
}

/// A running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process {
    pid: i32,
    /// Its start time, because process ids are reused.
    start: u64,
    parent: i32,
    limit: Option<u64>,
    /// The variable of its environment is the mark.
    named: bool,
}

impl Process {
    fn read(pid: i32, variable: &str) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let (parent, start) = stat(&folder)?;
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        let named = environment.split(|&byte| byte == 0).any(|one| one == variable.as_bytes());
        let limits = fs::read_to_string(folder.join("limits")).unwrap_or_default();
        let limit = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
        let limit = limit.and_then(|line| line.split_whitespace().next()?.parse().ok());
        Some(Self { pid, start, parent, limit, named })
    }

    /// Sends the signal to this process, and not to another one that reuses its id.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        let same = stat(&PathBuf::from(format!("/proc/{}", self.pid)));
        if same.is_some_and(|(_, start)| start == self.start) {
            let _ = pidfd_send_signal(&fd, signal);
        }
    }
}

/// Parent and start time of a process that is not a zombie.
fn stat(folder: &Path) -> Option<(i32, u64)> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    Some((fields.next()?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}

/// The processes that carry the mark or descend from one that does. Among them may be another firstlight,
/// whose processes carry its own mark: they are included. `above` is the mark of the firstlight that started
/// this one; its processes are not.
///
/// Those with the mark are stopped as soon as they are seen, the youngest first: a short-lived process that
/// starts the next one would be gone before the end of the list.
pub(super) fn stop_marked(mark: u64, above: Option<u64>) -> BTreeSet<Process> {
    let variable = format!("{}={mark}", variables::SESSION);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // A firstlight that is still exiting carries the mark and is the watchdog's parent.
    pids.retain(|&pid| pid != getpid().as_raw_nonzero().get());
    pids.sort_unstable();
    let mut all = Vec::with_capacity(pids.len());
    for pid in pids.into_iter().rev() {
        let Some(process) = Process::read(pid, &variable) else { continue };
        if process.named || process.limit == Some(mark) {
            process.signal(Signal::STOP);
        }
        all.push(process);
    }
    closure(&all, mark, above)
}

fn closure(all: &[Process], mark: u64, above: Option<u64>) -> BTreeSet<Process> {
    let mut marks = BTreeSet::from([mark]);
    let mut found: BTreeSet<Process> = BTreeSet::new();
    loop {
        let pids: BTreeSet<i32> = found.iter().map(|one| one.pid).collect();
        let ours = |one: &&Process| {
            one.named
                || one.limit.is_some_and(|limit| marks.contains(&limit))
                || pids.contains(&one.parent)
        };
        let next: BTreeSet<Process> = all.iter().filter(ours).copied().collect();
        if next.len() == found.len() {
            return next;
        }
        found = next;
        let inner = found.iter().filter_map(|one| one.limit);
        marks.extend(inner.filter(|&limit| is_mark(limit) && Some(limit) != above));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, limit: Option<u64>, named: bool) -> Process {
        Process { pid, start: 1, parent, limit, named }
    }

    #[test]
    fn a_mark_is_one_of_ours_and_no_limit_that_people_set() {
        assert!(is_mark(mark()) && mark() != u64::MAX);
        for limit in [0, 64, 1 << 40, u64::MAX] {
            assert!(!is_mark(limit));
        }
    }

    #[test]
    fn all_that_carry_a_mark_or_descend_from_them_are_found_and_no_one_else() {
        let of = |number: u64| Some(KIND << KIND_SHIFT | number);
        let (outer, own, inner) = (of(1), of(2), of(3));
        let all = [
            process(10, 1, outer, false),
            // A helper that was started before the limit was set.
            process(11, 10, outer, true),
            process(12, 1, own, false),
            // Without any mark, but its parent has one.
            process(13, 12, None, false),
            // A firstlight that is measured, and a daemon of its.
            process(14, 12, inner, false),
            process(15, 1, inner, false),
            process(16, 1, None, false),
            process(17, 10, outer, false),
        ];
        let found = closure(&all, own.unwrap(), outer);
        let pids: Vec<i32> = found.iter().map(|one| one.pid).collect();
        assert_eq!(pids, [11, 12, 13, 14, 15]);
    }
}
