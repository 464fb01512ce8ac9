//! Runs programs from the workspace's root and passes on their output.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

pub type Result<T = ()> = std::result::Result<T, String>;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").to_owned()
}

pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Prints a title, runs a command, and returns an error if it fails.
pub fn step(title: &str, command: &mut Command) -> Result {
    println!("── {title}");
    let status = command.status().map_err(|error| format!("{title}: {error}"))?;
    if status.success() { Ok(()) } else { Err(title.to_owned()) }
}

/// The same, and returns the output line by line.
pub fn step_with_output(title: &str, command: &mut Command) -> Result<Vec<String>> {
    println!("── {title}");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("{title}: {error}"))?;
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("stdout is piped")).lines() {
        let line = line.map_err(|error| format!("{title}: {error}"))?;
        println!("{line}");
        lines.push(line);
    }
    let status = child.wait().map_err(|error| format!("{title}: {error}"))?;
    if status.success() { Ok(lines) } else { Err(title.to_owned()) }
}

/// Several programs at the same time; the output of each is printed when it has exited.
pub fn steps_side_by_side(commands: Vec<(&'static str, Command)>) -> Result<Vec<String>> {
    let names: Vec<&str> = commands.iter().map(|(title, _)| *title).collect();
    println!("── {}", names.join(" | "));
    let ended = thread::scope(|scope| {
        let one = |(title, mut command): (&'static str, Command)| {
            let ended = command.output().map_err(|error| format!("{title}: {error}"))?;
            let text = String::from_utf8_lossy(&ended.stdout).into_owned();
            print!("── {title}\n{text}{}", String::from_utf8_lossy(&ended.stderr));
            if !ended.status.success() {
                return Err(title.to_owned());
            }
            Ok(text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let started: Vec<_> =
            commands.into_iter().map(|command| scope.spawn(move || one(command))).collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    let lines: Result<Vec<Vec<String>>> = ended.into_iter().collect();
    Ok(lines?.concat())
}

/// The output of a program, without printing it.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{name}: {error}"))
}

/// Whether a program can be started at all.
pub fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs a program if it is missing: hyperfine, valgrind or chromium, on Debian.
pub fn install(program: &str, package: &str) -> bool {
    if on_path(program) {
        return true;
    }
    let apt = |arguments: &[&str]| {
        Command::new("apt-get")
            .args(arguments)
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let _ = apt(&["update", "-qq"]);
    apt(&["install", "-y", "-qq", package]) && on_path(program)
}

/// Whether a file with this name is in a folder of `PATH`. Slurm's programs do not even print their version without a
/// cluster.
fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
