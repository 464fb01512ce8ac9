//! `cargo xtask dist`: builds and checks everything that is published, without publishing it.
//!
//! zig links both wheels against glibc 2.17, so that they run on every Linux of the last ten years. Two
//! builds of one commit are identical byte for byte: paths are left out, and times are the commit's.

mod archive;
mod check;
mod sources;
mod wheels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Result, output, root};
use crate::{installed, systems, wheel};

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// The checksums of everything else in the folder.
pub const SUMS: &str = "SHA256SUMS";
/// The commit that the files were built from.
pub const COMMIT: &str = "COMMIT";

pub fn dist(arguments: &[String]) -> Result {
    let twice = match arguments {
        [] => false,
        [option] if option == "--twice" => true,
        _ => return Err("usage: cargo xtask dist [--twice]".to_owned()),
    };
    wheel::provide_uv()?;
    let folder = folder();
    let first = Build { folder: folder.clone(), target: root().join("target/dist-build") };
    let (made, missing) = first.run()?;
    if twice {
        let second = Build {
            folder: root().join("target/dist-again"),
            target: root().join("target/dist-build-again"),
        };
        let _ = fs::remove_dir_all(&second.target);
        let again = second.run()?.0;
        compare(&made, &again)?;
        let _ = fs::remove_dir_all(&second.target);
        let _ = fs::remove_dir_all(&second.folder);
    }
    let mut lines = Vec::new();
    for path in &made {
        lines.extend(check::policy(path)?);
        lines.push(format!("{:>10} bytes  {}  {}", size(path)?, digest(path)?, name(path)));
    }
    let wheels: Vec<&Path> = made.iter().map(PathBuf::as_path).filter(is_wheel).collect();
    let untried = try_wheels(&wheels)?;
    sources::check(&made)?;
    write_sums(&folder, &made)?;
    write_commit(&folder)?;
    println!("\n{}", lines.join("\n"));
    for triple in missing {
        println!("not built: {triple}, because its Rust standard library is not installed");
        println!("hint: rustup target add {triple}");
    }
    for line in untried {
        println!("{line}");
    }
    println!(
        "{}",
        if twice { "two builds are equal" } else { "built once: use --twice to compare" }
    );
    Ok(())
}

/// Where everything that is published lies.
pub fn folder() -> PathBuf {
    root().join("target/dist")
}

/// One build of everything, with folders of its own.
struct Build {
    folder: PathBuf,
    target: PathBuf,
}

impl Build {
    /// Builds wheels, archives and source packages. Also returns the targets that cannot be built here.
    fn run(&self) -> Result<(Vec<PathBuf>, Vec<&'static str>)> {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder)
            .map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let mut missing = Vec::new();
        for triple in TARGETS {
            if !is_installed(triple)? {
                missing.push(triple);
                continue;
            }
            wheels::build(self, triple)?;
            archive::pack(self, triple)?;
        }
        sources::pack(self)?;
        let entries = fs::read_dir(&self.folder)
            .map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let mut made: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        made.sort();
        for path in &made {
            check::clean(path, &self.paths()?)?;
        }
        Ok((made, missing))
    }

    /// Folders of this machine, and what published files say instead. The innermost comes last, because
    /// the compiler uses the last that fits.
    fn paths(&self) -> Result<Vec<(String, &'static str)>> {
        let cargo = std::env::var("CARGO_HOME")
            .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
            .map_err(|_| "neither CARGO_HOME nor HOME is set".to_owned())?;
        Ok(vec![
            (cargo, "cargo"),
            (root().display().to_string(), "firstlight"),
            (self.target.display().to_string(), "target"),
        ])
    }
}

fn is_wheel(path: &&Path) -> bool {
    path.extension().is_some_and(|end| end == "whl")
}

/// Tries wheels with every Python of this machine and on other systems. Returns a line for each system on
/// which they were not tried.
pub fn try_wheels(wheels: &[&Path]) -> Result<Vec<String>> {
    let end = format!("_{}.whl", std::env::consts::ARCH);
    let own: Vec<&Path> =
        wheels.iter().copied().filter(|path| name(path).ends_with(&end)).collect();
    installed::test(&own)?;
    systems::test(wheels)
}

fn is_installed(triple: &str) -> Result<bool> {
    let libraries =
        output(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]))?;
    Ok(Path::new(libraries.trim()).is_dir())
}

/// When the commit was made, in seconds since 1970.
fn committed() -> Result<String> {
    let mut git = Command::new("git");
    let time = output(git.args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
    Ok(time.trim().to_owned())
}

fn compare(first: &[PathBuf], second: &[PathBuf]) -> Result {
    if first.len() != second.len() {
        return Err("two builds made different files".to_owned());
    }
    for (one, other) in first.iter().zip(second) {
        if name(one) != name(other) || digest(one)? != digest(other)? {
            return Err(format!("{} and {} differ", one.display(), other.display()));
        }
    }
    Ok(())
}

fn write_sums(folder: &Path, made: &[PathBuf]) -> Result {
    let lines: Result<Vec<String>> =
        made.iter().map(|path| Ok(format!("{}  {}\n", digest(path)?, name(path)))).collect();
    let path = folder.join(SUMS);
    fs::write(&path, lines?.concat()).map_err(|error| format!("{}: {error}", path.display()))
}

/// With a word about uncommitted changes, where there are any.
fn write_commit(folder: &Path) -> Result {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(root()));
    let mut commit = git(&["rev-parse", "HEAD"])?;
    if !git(&["status", "--porcelain"])?.is_empty() {
        commit.push_str("with uncommitted changes\n");
    }
    let path = folder.join(COMMIT);
    fs::write(&path, commit).map_err(|error| format!("{}: {error}", path.display()))
}

pub fn digest(path: &Path) -> Result<String> {
    let text = output(Command::new("sha256sum").arg(path))?;
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}

fn size(path: &Path) -> Result<u64> {
    fs::metadata(path)
        .map(|found| found.len())
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
