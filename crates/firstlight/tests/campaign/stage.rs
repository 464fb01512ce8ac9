//! Common parts of all cases: separate folders, a monitored firstlight, cores.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::random::Random;
use super::{Programs, Row};

/// All processes of the campaign take much less time.
const HANG: Duration = Duration::from_mins(1);

pub(super) struct Stage<'a> {
    pub(super) programs: &'a Programs,
    pub(super) seed: u64,
}

/// The exit status and output of a command.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) text: String,
}

/// A folder for one case, with separate runs, caches and temporary files.
pub(super) struct Place<'a> {
    pub(super) folder: TempDir,
    programs: &'a Programs,
}

impl Stage<'_> {
    /// Runs this many cases on all cores; a lost case has a reason.
    pub(super) fn cases(
        &self,
        count: usize,
        case: impl Fn(usize, &mut Random) -> Result<(), String> + Sync,
    ) -> Row {
        let cores = thread::available_parallelism().map_or(1, usize::from).min(4);
        let every_nth = |first: usize| -> Vec<String> {
            let lost = |number: usize| {
                let mut random = Random(self.seed ^ (number as u64).wrapping_mul(0x5851_f42d));
                case(number, &mut random).err().map(|why| format!("case {number}: {why}"))
            };
            (first..count).step_by(cores).filter_map(lost).collect()
        };
        let lost = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..cores).map(|first| scope.spawn(move || every_nth(first))).collect();
            threads
                .into_iter()
                .flat_map(|one| one.join().unwrap_or_else(|_| vec!["a case panicked".to_owned()]))
                .collect()
        });
        Row { tried: count, lost, ..Row::default() }
    }

    pub(super) fn place(&self) -> Place<'_> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("tmp")).expect("a folder in it");
        Place { folder, programs: self.programs }
    }
}

impl Place<'_> {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// A command in this folder, with a clean environment.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env("TMPDIR", self.path().join("tmp"));
        command.env("FIRSTLIGHT_RUNS", self.path().join("runs"));
        command.env("FIRSTLIGHT_CACHE", self.path().join("cache"));
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub(super) fn firstlight(&self, arguments: &[&str]) -> Result<Ended, String> {
        let mut command = self.command(&self.programs.firstlight);
        self.end(command.args(arguments))
    }

    pub(super) fn replay(&self) -> String {
        self.programs.replay.to_string_lossy().into_owned()
    }

    /// Starts a command whose output goes to files in this folder.
    pub(super) fn start(&self, command: &mut Command) -> Child {
        let file = |name: &str| fs::File::create(self.path().join(name)).expect("a file");
        command.stdout(file("stdout")).stderr(file("stderr")).spawn().expect("it starts")
    }

    /// Waits for a command; a hang, a panic and a signal are errors.
    pub(super) fn end(&self, command: &mut Command) -> Result<Ended, String> {
        let mut child = self.start(command);
        let ended = self.wait(&mut child)?;
        match ended.status.code() {
            Some(101) | None => Err(format!("{}: {}", ended.status, shortened(&ended.text))),
            Some(_) => Ok(ended),
        }
    }

    pub(super) fn wait(&self, child: &mut Child) -> Result<Ended, String> {
        let began = Instant::now();
        let status = loop {
            match child.try_wait().expect("it is a child") {
                Some(status) => break status,
                None if began.elapsed() > HANG => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err("it hangs".to_owned());
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let read = |name: &str| fs::read(self.path().join(name)).unwrap_or_default();
        let text = [read("stdout"), read("stderr")].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.contains("panicked at") {
            return Err(format!("it panicked: {}", shortened(&text)));
        }
        Ok(Ended { status, text })
    }

    /// Whether all processes started with this word have exited, and no scratch folder is left.
    pub(super) fn is_clear(&self, word: &str) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let left = fs::read_dir(self.path().join("tmp")).map_or(0, Iterator::count);
            if left == 0 && !someone_runs(word) {
                return Ok(());
            }
            if began.elapsed() > Duration::from_secs(10) {
                return Err(format!("{left} scratch folders, or an orphan {word}, are left"));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

pub(super) fn expect(ended: &Ended, codes: &[i32]) -> Result<(), String> {
    match ended.status.code() {
        Some(code) if codes.contains(&code) => Ok(()),
        _ => Err(format!("{}, expected {codes:?}: {}", ended.status, shortened(&ended.text))),
    }
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}

fn someone_runs(word: &str) -> bool {
    let lines = fs::read_dir("/proc").into_iter().flatten().flatten();
    lines
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.split(|&byte| byte == 0).any(|argument| argument == word.as_bytes()))
}
