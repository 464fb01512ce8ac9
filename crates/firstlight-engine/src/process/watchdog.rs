//! A process that outlives firstlight by a moment, to clear what it left behind.
//!
//! No handler runs when firstlight is killed. The watchdog holds the read end of a pipe whose write end
//! only firstlight holds, so it wakes when firstlight is gone, however that came about. It then kills all
//! processes that carry firstlight's mark in their environment and removes its scratch folders.

use std::fs;
use std::io::{self, PipeWriter, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use firstlight_schema::variables;
use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::cache::remove_stale_scratch;

/// The hidden argument that makes firstlight a watchdog.
pub const ARGUMENT: &str = "--watch-over-processes-of";

/// How often the watchdog looks again: a process that is being killed may still start another.
const ROUNDS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// What marks the processes of this firstlight.
pub(crate) fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| getpid().as_raw_nonzero().to_string())
}

/// The watchdog of this process, started once. Without one, processes are still killed by firstlight
/// itself, only not after firstlight was killed.
pub(super) fn start() {
    static WATCHDOG: OnceLock<Option<(Child, PipeWriter)>> = OnceLock::new();
    WATCHDOG.get_or_init(|| spawn().ok());
}

/// The watchdog's own process, which does not belong to any command.
pub(super) fn pid() -> Option<Pid> {
    PID.get().copied()
}

static PID: OnceLock<Pid> = OnceLock::new();

fn spawn() -> io::Result<(Child, PipeWriter)> {
    let (read, write) = io::pipe()?;
    let child = Command::new(std::env::current_exe()?)
        .args([ARGUMENT, mark()])
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
    for _ in 0..ROUNDS {
        let marked = marked(mark);
        if marked.is_empty() {
            break;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(PAUSE);
    }
    remove_stale_scratch();
}

/// The processes whose environment carries the mark.
fn marked(mark: &str) -> Vec<Pid> {
    let line = format!("{}={mark}", variables::SESSION);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| carries(&entry.path(), &line))
        .filter_map(|entry| pid_of(&entry))
        .collect()
}

fn carries(process: &Path, line: &str) -> bool {
    let zombie = fs::read_to_string(process.join("stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')));
    !zombie
        && fs::read(process.join("environ"))
            .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == line.as_bytes()))
}

fn pid_of(entry: &fs::DirEntry) -> Option<Pid> {
    Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)
}
