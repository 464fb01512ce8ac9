//! A process that outlives firstlight by a moment, to clear what it left behind.
//!
//! No handler runs when firstlight is killed. The watchdog holds the read end of a pipe whose write end
//! only firstlight holds, so it wakes when firstlight is gone, however that came about. It then kills all
//! processes that carry firstlight's mark in their environment, with all they started, and removes its
//! scratch folders. A daemon that both dropped its environment and outlived its parent is not found.

use std::collections::BTreeSet;
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

/// The processes whose environment carries the mark, and their descendants whatever theirs carries.
fn marked(mark: &str) -> Vec<Pid> {
    let line = format!("{}={mark}", variables::SESSION);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<Process> =
        entries.filter_map(|entry| Process::read(&entry.path(), &line)).collect();
    let mut found: BTreeSet<i32> = all.iter().filter(|one| one.marked).map(|one| one.pid).collect();
    let mut before = 0;
    while found.len() > before {
        before = found.len();
        let children = all.iter().filter(|one| found.contains(&one.parent)).map(|one| one.pid);
        found.extend(children.collect::<Vec<_>>());
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// A process that has not ended.
struct Process {
    pid: i32,
    parent: i32,
    marked: bool,
}

impl Process {
    fn read(folder: &Path, line: &str) -> Option<Self> {
        let pid = folder.file_name()?.to_str()?.parse().ok()?;
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        if fields.next()? == "Z" {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        let marked = environment.split(|&byte| byte == 0).any(|one| one == line.as_bytes());
        Some(Self { pid, parent, marked })
    }
}
