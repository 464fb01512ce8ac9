//! Starts a process with as few system calls as possible: everything is prepared beforehand, so only the
//! necessary calls lie between the clock's first reading and `exec`.
//!
//! `posix_spawn` would do the same work as `clone` does here, and also query every signal handler, map a
//! stack and read limits for each process. See `docs/design/why-processes-are-born-by-clone.md`.

use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

use firstlight_schema::variables;
use rustix::process::Pid;

use super::launch::{Launch, Show};
use crate::EngineError;

/// Room for the few calls between birth and `exec`, in units that keep it aligned.
const STACK: usize = (64 << 10) / size_of::<u128>();
/// Signals that this process catches or ignores and a new one must not.
const TAKEN_OVER: [c_int; 8] = [
    libc::SIGPIPE,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGXFSZ,
];

/// A command in the form in which the kernel takes it.
#[derive(Debug)]
pub struct Start {
    pub(super) launch: Launch,
    program: CString,
    arguments: Strings,
    environment: Strings,
    directory: Option<CString>,
    /// Standard input; empty where there is none.
    input: Option<File>,
    /// The descriptor that the environment names.
    channel: Option<RawFd>,
}

impl Start {
    /// The environment is this process's own with the launch's changes.
    pub fn new(launch: Launch) -> Result<Self, EngineError> {
        let path = launch.program.clone();
        Self::prepared(launch).map_err(|source| EngineError::Spawn { path, source })
    }

    fn prepared(launch: Launch) -> io::Result<Self> {
        let program = text(launch.program.as_os_str())?;
        let mut arguments = vec![program.clone()];
        for argument in &launch.arguments {
            arguments.push(text(argument)?);
        }
        let directory = launch.directory.as_ref().map(|path| text(path.as_os_str())).transpose()?;
        let environment = Strings::new(environment(&launch.variables, None)?);
        let arguments = Strings::new(arguments);
        let input = launch.stdin.as_ref().map(File::open).transpose()?;
        Ok(Self { launch, program, arguments, environment, directory, input, channel: None })
    }

    /// Every process reads its standard input from the beginning.
    pub(super) fn rewind_input(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Seek::rewind)
    }

    /// The number under which the process finds its end of the channel.
    pub(super) fn name_channel(&mut self, channel: Option<RawFd>) {
        if self.channel != channel {
            let changed = environment(&self.launch.variables, channel);
            self.environment = Strings::new(changed.expect("the changes were taken before"));
            self.channel = channel;
        }
    }
}

/// This process's variables with the changes, each name once.
fn environment(
    changes: &[(OsString, Option<OsString>)],
    channel: Option<RawFd>,
) -> io::Result<Vec<CString>> {
    let channel = channel.map(|fd| (OsString::from(variables::FD), OsString::from(fd.to_string())));
    let session = (OsString::from(variables::SESSION), OsString::from(super::mark().to_string()));
    let is_changed = |name: &OsStr| {
        name == session.0.as_os_str()
            || name == variables::CONFIG
            || changes.iter().any(|(changed, _)| changed == name)
            || channel.as_ref().is_some_and(|(changed, _)| changed == name)
    };
    let kept = std::env::vars_os().filter(|(name, _)| !is_changed(name));
    let last =
        |index: usize| !changes[index + 1..].iter().any(|(name, _)| *name == changes[index].0);
    let set = (0..changes.len())
        .filter(|&index| last(index))
        .filter_map(|index| Some((changes[index].0.clone(), changes[index].1.clone()?)));
    kept.chain(set)
        .chain(channel.clone())
        .chain([session.clone()])
        .map(|(mut variable, value)| {
            variable.push("=");
            variable.push(value);
            text(&variable)
        })
        .collect()
}

fn text(of: &OsStr) -> io::Result<CString> {
    CString::new(of.as_bytes()).map_err(io::Error::from)
}

/// Strings with the list of pointers to them that `execve` takes.
#[derive(Debug)]
struct Strings {
    pointers: Vec<*const c_char>,
    /// The targets of the pointers, pinned on the heap.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(owned: Vec<CString>) -> Self {
        let pointers = owned.iter().map(|text| text.as_ptr()).chain([null()]).collect();
        Self { pointers, _owned: owned }
    }
}

/// The output of a process, and the settings that all processes share.
#[derive(Debug)]
pub(super) struct Spawner {
    nothing: File,
    stack: Vec<u128>,
}

/// A process that has been started.
#[derive(Debug)]
pub(super) struct Born {
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
}

/// The inputs of the new process before `exec`, and its only output.
struct Birth<'a> {
    start: &'a Start,
    /// Standard input, output and error.
    streams: [RawFd; 3],
    unblocked: &'a libc::sigset_t,
    /// The signal that it gets when firstlight is gone.
    when_orphaned: c_int,
    error: AtomicI32,
}

impl Spawner {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { nothing: File::open("/dev/null")?, stack: vec![0; STACK] })
    }

    /// Starts the process; it has become its program when this returns.
    pub(super) fn spawn(&mut self, start: &Start, captured: [RawFd; 2]) -> io::Result<Born> {
        let [output, errors] = match start.launch.show {
            Show::Tail => captured,
            Show::Inherit => [libc::STDOUT_FILENO, libc::STDERR_FILENO],
            Show::OnStderr => [libc::STDERR_FILENO; 2],
        };
        let unblocked = block_signals()?;
        let birth = Birth {
            start,
            streams: [start.input.as_ref().unwrap_or(&self.nothing).as_raw_fd(), output, errors],
            unblocked: &unblocked,
            when_orphaned: match super::watchdog::pid() {
                Some(_) => libc::SIGSTOP,
                None => libc::SIGKILL,
            },
            error: AtomicI32::new(0),
        };
        let born = clone(&birth, &mut self.stack);
        set_signals(&unblocked);
        let born = born?;
        match birth.error.load(Ordering::Relaxed) {
            0 => Ok(born),
            code => {
                // The process exited before `exec`.
                super::wait::reap(born.pid)?;
                Err(io::Error::from_raw_os_error(code))
            }
        }
    }
}

/// A new process that shares this one's memory until it becomes its program, while this thread
/// waits.
#[expect(unsafe_code, reason = "no safe wrapper starts a process this way")]
fn clone(birth: &Birth<'_>, stack: &mut [u128]) -> io::Result<Born> {
    let mut pidfd: RawFd = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the stack is ours alone and aligned, `become_program` takes what `birth` is, and both
    // outlive the use, since this thread goes on only when the new process has left them.
    let pid = unsafe {
        libc::clone(
            become_program,
            stack.as_mut_ptr_range().end.cast(),
            flags,
            std::ptr::from_ref(birth).cast_mut().cast(),
            &raw mut pidfd,
        )
    };
    match Pid::from_raw(pid) {
        Some(pid) if pidfd >= 0 => {
            // SAFETY: the kernel has just opened it for us.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Born { pid, pidfd })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// The new process's first steps. It shares all memory with its parent, whose thread is suspended. It
/// therefore allocates nothing, locks nothing and never returns.
#[expect(unsafe_code, reason = "only bare system calls may be made here")]
extern "C" fn become_program(birth: *mut c_void) -> c_int {
    // SAFETY: the parent passed a `Birth` and keeps it until this process has left its memory.
    let birth = unsafe { &*birth.cast::<Birth<'_>>() };
    // SAFETY: every call is async-signal-safe, and every pointer is the parent's and still valid.
    unsafe {
        prepare(birth);
        libc::execve(
            birth.start.program.as_ptr(),
            birth.start.arguments.pointers.as_ptr(),
            birth.start.environment.pointers.as_ptr(),
        );
        birth.error.store(*libc::__errno_location(), Ordering::Relaxed);
        libc::_exit(127)
    }
}

/// A group of its own, its streams and folder, and the signals as any program expects them.
///
/// # Safety
/// Only in a new process that shares its parent's memory and will leave it.
#[expect(unsafe_code, reason = "only bare system calls may be made here")]
unsafe fn prepare(birth: &Birth<'_>) {
    let fails = |result: c_int| {
        if result < 0 {
            // SAFETY: as for the whole; the process ends here.
            unsafe {
                birth.error.store(*libc::__errno_location(), Ordering::Relaxed);
                libc::_exit(127)
            }
        }
    };
    // SAFETY: the calls take numbers, or pointers that `birth` keeps valid.
    unsafe {
        fails(libc::setpgid(0, 0));
        // When firstlight is killed, this signal stops the process until the watchdog kills it and its
        // children.
        libc::prctl(libc::PR_SET_PDEATHSIG, birth.when_orphaned);
        for (number, &stream) in (0..).zip(&birth.streams) {
            if stream != number {
                fails(libc::dup2(stream, number));
            }
        }
        if let Some(directory) = &birth.start.directory {
            fails(libc::chdir(directory.as_ptr()));
        }
        for signal in TAKEN_OVER {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::sigprocmask(libc::SIG_SETMASK, birth.unblocked, std::ptr::null_mut());
    }
}

/// Blocks all signals, so that no handler of ours runs in the new process; returns what was blocked
/// before.
#[expect(unsafe_code, reason = "the standard library knows no signal masks")]
fn block_signals() -> io::Result<libc::sigset_t> {
    // SAFETY: a set of signals is plain data that the calls fill in.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) {
            0 => Ok(before),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

#[expect(unsafe_code, reason = "the standard library knows no signal masks")]
fn set_signals(mask: &libc::sigset_t) {
    // SAFETY: the set came from the same call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::process::wait::reap;

    fn launch(program: &str, arguments: &[&str]) -> Launch {
        Launch {
            program: PathBuf::from(program),
            arguments: arguments.iter().map(OsString::from).collect(),
            directory: None,
            variables: Vec::new(),
            requests: Vec::new(),
            timeout: Duration::from_secs(10),
            show: Show::Tail,
            stdin: None,
            interpreter: None,
        }
    }

    /// The output and exit status of a shell script.
    fn output(launch: Launch, channel: Option<RawFd>) -> (String, Option<i32>) {
        let mut start = Start::new(launch).unwrap();
        start.name_channel(channel);
        let file = tempfile::tempfile().unwrap();
        let streams = [file.as_raw_fd(); 2];
        let born = Spawner::new().unwrap().spawn(&start, streams).unwrap();
        let (status, _) = reap(born.pid).unwrap();
        let mut text = vec![0; usize::try_from(file.metadata().unwrap().len()).unwrap()];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut text, 0).unwrap();
        (String::from_utf8(text).unwrap(), status.code())
    }

    fn shell(script: &str) -> Launch {
        launch("/bin/sh", &["-c", script])
    }

    #[test]
    fn arguments_folder_and_exit_code_arrive() {
        let mut launch = launch("/bin/sh", &["-c", "echo \"$0 $1\"; pwd; exit 3", "a b", ""]);
        launch.directory = Some(PathBuf::from("/"));
        assert_eq!(output(launch, None), ("a b \n/\n".to_owned(), Some(3)));
    }

    #[test]
    fn a_variable_is_what_it_was_last_set_to_and_the_channel_is_named() {
        let mut launch = shell("echo $A-${HOME-none}-$FIRSTLIGHT_FD; test -n \"$PATH\"");
        let set = |name: &str, value: Option<&str>| (name.into(), value.map(OsString::from));
        launch.variables =
            vec![set("A", Some("1")), set("HOME", None), set("A", None), set("A", Some("2"))];
        assert_eq!(output(launch, Some(9)), ("2-none-9\n".to_owned(), Some(0)));
    }

    #[test]
    fn a_variable_that_is_set_and_then_removed_is_not_there() {
        let mut launch = shell("echo ${A-none}");
        launch.variables = vec![("A".into(), Some("1".into())), ("A".into(), None)];
        assert_eq!(output(launch, None).0, "none\n");
    }

    #[test]
    fn it_leads_a_group_of_its_own() {
        let script = "read -r _ _ _ _ group _ < /proc/$$/stat; test $group = $$";
        assert_eq!(output(shell(script), None).1, Some(0));
    }

    /// Blocked, ignored and caught signals; higher ones belong to the C library.
    fn signals(text: &str) -> Vec<u64> {
        let mask = |line: &str| u64::from_str_radix(line.split_once(":\t").unwrap().1, 16).unwrap();
        text.lines().map(|line| mask(line) & 0x7fff_ffff).collect()
    }

    #[test]
    fn its_signals_are_those_of_a_process_that_the_standard_library_starts() {
        let script = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status";
        let expected = std::process::Command::new("/bin/sh").args(["-c", script]).output().unwrap();
        // Those that this program takes over are as at first, also where they were ignored before.
        let ours = TAKEN_OVER.iter().map(|signal| 1 << (signal - 1)).sum::<u64>();
        let mut expected = signals(&String::from_utf8(expected.stdout).unwrap());
        expected[1] &= !ours;
        assert_eq!(signals(&output(shell(script), None).0), expected);
    }

    #[test]
    fn what_cannot_be_started_is_an_error_and_leaves_no_process() {
        for (program, kind) in [
            ("/no/such/program", io::ErrorKind::NotFound),
            ("/etc/passwd", io::ErrorKind::PermissionDenied),
        ] {
            let start = Start::new(launch(program, &[])).unwrap();
            let error = Spawner::new().unwrap().spawn(&start, [1, 2]).unwrap_err();
            assert_eq!(error.kind(), kind);
        }
        let mut nowhere = shell("true");
        nowhere.directory = Some(PathBuf::from("/no/such/folder"));
        let start = Start::new(nowhere).unwrap();
        assert!(Spawner::new().unwrap().spawn(&start, [1, 2]).is_err());
    }
}
