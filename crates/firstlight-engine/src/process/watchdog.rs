//! A process that outlives firstlight briefly, to clean up after it.
//!
//! No handler runs when firstlight is killed. The watchdog holds the read end of a pipe whose write end only
//! firstlight holds, so it wakes when firstlight exits for any reason. It then kills all processes that carry
//! firstlight's mark, with their children, and removes the scratch folders. See
//! `docs/design/why-processes-carry-a-mark.md`.

use std::collections::BTreeSet;
use std::io::{self, PipeWriter, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use firstlight_schema::variables;
use rustix::process::{Pid, Signal};

use super::marks::{self, mark, stop_marked};
use crate::cache::remove_stale_scratch;

/// The hidden argument that makes firstlight a watchdog.
pub const ARGUMENT: &str = "--watch-over-processes-of";

/// The largest number of rounds in which the watchdog kills processes.
const MOST_ROUNDS: u32 = 100;
/// The number of consecutive empty searches after a find, because a search can miss a process that is just
/// starting.
const QUIET_ROUNDS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);
/// How often it looks for processes that were started while it looked.
const MOST_LOOKS: u32 = 1_000;

/// The watchdog of this process, started once. Without one, processes are still killed by firstlight
/// itself, only not after firstlight was killed.
pub(super) fn start() {
    static WATCHDOG: OnceLock<Option<(Child, PipeWriter)>> = OnceLock::new();
    WATCHDOG.get_or_init(|| {
        // The watchdog itself must not carry the mark.
        let started = spawn().ok();
        marks::carry();
        started
    });
}

/// The watchdog's own process, which does not belong to any command.
pub(super) fn pid() -> Option<Pid> {
    PID.get().copied()
}

static PID: OnceLock<Pid> = OnceLock::new();

fn spawn() -> io::Result<(Child, PipeWriter)> {
    let (read, write) = io::pipe()?;
    let child = Command::new(std::env::current_exe()?)
        .args([ARGUMENT, &mark().to_string()])
        .stdin(read)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .env_remove(variables::SESSION)
        // Ctrl-C goes to the terminal's group.
        .process_group(0)
        .spawn()?;
    PID.get_or_init(|| Pid::from_child(&child));
    Ok((child, write))
}

/// The watchdog waits until its standard input closes, then cleans up.
pub fn watch_over(mark: &str) {
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    if let Ok(mark) = mark.parse() {
        let mut left = 1;
        for _ in 0..MOST_ROUNDS {
            let frozen = freeze(mark);
            for process in &frozen {
                process.signal(Signal::KILL);
            }
            left = if frozen.is_empty() { left - 1 } else { QUIET_ROUNDS };
            if left == 0 {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    remove_stale_scratch();
}

/// Stops all marked processes. One that is stopped cannot start another, so that in the end none is missing,
/// however fast they start each other.
fn freeze(mark: u64) -> BTreeSet<marks::Process> {
    // The watchdog inherited the mark above ours, if there is one.
    let above = marks::inherited();
    let mut frozen = BTreeSet::new();
    for _ in 0..MOST_LOOKS {
        let fresh: Vec<_> = stop_marked(mark, above).difference(&frozen).copied().collect();
        if fresh.is_empty() {
            break;
        }
        for process in &fresh {
            process.signal(Signal::STOP);
        }
        frozen.extend(fresh);
    }
    frozen
}
