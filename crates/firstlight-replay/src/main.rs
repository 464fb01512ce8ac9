//! A fake runner that follows a script: speaks the protocol, breaks it, hangs, crashes.
//!
//! The script is a file of JSON lines, one action each; `"$now"` anywhere in a message is replaced by the
//! clock's reading when it is sent.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use firstlight_schema::variables;
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    /// Write a message.
    Say(Value),
    /// Write these characters and no end of line.
    Raw(String),
    /// Read this many requests.
    Listen(u32),
    SleepMs(u64),
    /// Fill stdout with this many bytes.
    Stdout(usize),
    Stderr(String),
    /// Close the descriptor.
    Close,
    /// Start a process in a separate session that would outlive this one.
    Survivor,
    IgnoreTerm,
    Hang,
    Signal(i32),
    Exit(u8),
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).expect("the script's path is the first argument");
    let script = fs::read_to_string(&path).expect("the script can be read");
    let mut stage = Stage::new();
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        let action = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        if let Some(code) = stage.perform(action) {
            return code;
        }
    }
    ExitCode::SUCCESS
}

struct Stage {
    socket: Option<BufReader<UnixStream>>,
}

impl Stage {
    #[expect(unsafe_code, reason = "a descriptor's number is all that is inherited")]
    fn new() -> Self {
        let number = std::env::var(variables::FD).ok().and_then(|text| text.parse().ok());
        // SAFETY: the measuring process opened this descriptor for us, and nothing else uses it.
        let socket = number.map(|fd| BufReader::new(unsafe { UnixStream::from_raw_fd(fd) }));
        Self { socket }
    }

    fn write(&mut self, text: &str) {
        if let Some(socket) = &mut self.socket {
            // The parent may have closed the connection by now, which is correct.
            let _ = socket.get_mut().write_all(text.as_bytes());
        }
    }

    #[expect(clippy::zombie_processes, reason = "the survivor is meant to be left behind")]
    fn perform(&mut self, action: Action) -> Option<ExitCode> {
        match action {
            Action::Say(message) => self.write(&format!("{}\n", stamped(message))),
            Action::Raw(text) => self.write(&text),
            Action::Listen(count) => {
                for _ in 0..count {
                    let socket = self.socket.as_mut().expect("there is a descriptor to listen on");
                    socket.read_line(&mut String::new()).expect("the parent sends a request");
                }
            }
            Action::SleepMs(time) => std::thread::sleep(Duration::from_millis(time)),
            Action::Stdout(bytes) => fill(bytes),
            Action::Stderr(text) => {
                std::io::stderr().write_all(text.as_bytes()).expect("stderr is open");
            }
            Action::Close => self.socket = None,
            Action::Survivor => {
                let mut survivor = Command::new("setsid");
                survivor.args(["sleep", "613"]).stdout(Stdio::null()).stderr(Stdio::null());
                survivor.spawn().expect("setsid is there");
                std::thread::sleep(Duration::from_millis(100));
            }
            Action::IgnoreTerm => {
                let flag = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(signal_hook::consts::SIGTERM, flag).expect("SIGTERM");
            }
            Action::Hang => std::thread::sleep(Duration::from_hours(1)),
            Action::Signal(number) => {
                let signal = Signal::from_named_raw(number).expect("a signal");
                kill_process(getpid(), signal).expect("a process can signal itself");
                std::thread::sleep(Duration::from_secs(5));
            }
            Action::Exit(code) => return Some(ExitCode::from(code)),
        }
        None
    }
}

fn fill(bytes: usize) {
    let chunk = vec![b'x'; 1 << 16];
    let mut out = std::io::stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let some = left.min(chunk.len());
        out.write_all(&chunk[..some]).expect("stdout is read");
        left -= some;
    }
}

fn stamped(value: Value) -> Value {
    match value {
        Value::String(text) if text == "$now" => {
            let time = clock_gettime(ClockId::Monotonic);
            Value::from(time.tv_sec * 1_000_000_000 + time.tv_nsec)
        }
        Value::Array(items) => items.into_iter().map(stamped).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, stamped(value))).collect()
        }
        other => other,
    }
}
