//! Makes the environment that a suite's lock file describes, once per lock file and interpreter.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::EngineError;
use crate::folders::own_folder;
use crate::helper::{self, ANSWER, INSTALL};
use crate::interrupt::Interrupt;
use crate::python::{Interpreter, resolve};
use crate::store::{hex, write_whole};

const RECORD: &str = "firstlight-environment.json";

/// An installed environment and its packages.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Environment {
    pub python: PathBuf,
    pub runtime: String,
    /// SHA-256 of the lock file, or of all of them one after the other.
    pub lock_digest: String,
    /// Program and version that installed it.
    pub installer: String,
    pub packages: BTreeMap<String, String>,
}

/// Finds the environment of these lock files below `cache`, or makes it there; `announce` is called before
/// slow steps.
pub fn provision(
    locks: &[PathBuf],
    interpreter: &Interpreter,
    cache: &Path,
    interrupt: &Interrupt,
    announce: &mut dyn FnMut(&str),
) -> Result<Environment, EngineError> {
    let read = |lock: &PathBuf| fs::read(lock).map_err(EngineError::file("read", lock));
    let content = locks.iter().map(read).collect::<Result<Vec<_>, _>>()?.concat();
    let lock_digest = hex(&Sha256::digest(&content));
    let key = hex(&Sha256::digest(
        [
            lock_digest.as_bytes(),
            interpreter.runtime.as_bytes(),
            interpreter.executable.as_os_str().as_encoded_bytes(),
            b"with byte code",
        ]
        .join(&0),
    ));
    let parent = cache.join("environments");
    let folder = parent.join(&key[..16]);
    own_folder(cache)?;
    fs::create_dir_all(&parent).map_err(EngineError::file("make", &parent))?;
    let _one_at_a_time = exclusive(&parent.join(format!("{}.lock", &key[..16])))?;
    match recorded(&folder) {
        Some(ready) if is_as_recorded(&ready, &folder, &lock_digest)? => return Ok(ready),
        Some(_) => announce("the cached environment was modified; rebuilding it"),
        None => {}
    }
    let _ = fs::remove_dir_all(&folder);
    let installer = Installer::find();
    announce(&format!("installing {} packages with {}", pinned(&content), installer.name()));
    let hashes = is_hashed(&content);
    if !hashes {
        announce("the lock file has no hashes, so packages are not verified");
    }
    let outcome = installer.install(interpreter, locks, hashes, &folder);
    // Ctrl-C reaches the installer too; its error is then not the cause.
    interrupt.check()?;
    outcome?;
    let ready = Interpreter::ask(&folder.join("bin/python"))?;
    let environment = Environment {
        python: folder.join("bin/python"),
        runtime: ready.runtime,
        lock_digest,
        installer: installer.version(&folder),
        packages: ready.packages,
    };
    let record = serde_json::to_string_pretty(&environment).expect("a record has plain fields");
    write_whole(&folder.join(RECORD), &record)?;
    Ok(environment)
}

/// Holds a lock file for as long as it lives, so that two runs do not install into one folder.
fn exclusive(path: &Path) -> Result<File, EngineError> {
    let file = File::create(path).map_err(EngineError::file("make", path))?;
    file.lock().map_err(EngineError::file("lock", path))?;
    Ok(file)
}

/// A folder counts only with its record, which is written last.
fn recorded(folder: &Path) -> Option<Environment> {
    let text = fs::read_to_string(folder.join(RECORD)).ok()?;
    let environment: Environment = serde_json::from_str(&text).ok()?;
    environment.python.exists().then_some(environment)
}

/// Whether an environment still matches its record; the record's existence alone proves nothing.
fn is_as_recorded(
    ready: &Environment,
    folder: &Path,
    lock_digest: &str,
) -> Result<bool, EngineError> {
    let python = folder.join("bin/python");
    if ready.python != python || ready.lock_digest != lock_digest {
        return Ok(false);
    }
    match Interpreter::ask(&python) {
        Ok(found) => Ok(found.runtime == ready.runtime && found.packages == ready.packages),
        Err(EngineError::Interrupted) => Err(EngineError::Interrupted),
        Err(_) => Ok(false),
    }
}

/// Whether every pinned package has a hash, so that the installer can insist on them.
fn is_hashed(lock: &[u8]) -> bool {
    let text = String::from_utf8_lossy(lock);
    let mut all = text.split('\n').filter(|line| !line.trim_start().starts_with('#')).peekable();
    let mut any = false;
    while let Some(line) = all.next() {
        if !line.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        any = true;
        let further = std::iter::from_fn(|| all.next_if(|next| next.starts_with([' ', '\t'])));
        let hashed = line.contains("--hash=")
            | (further.filter(|next| next.contains("--hash=")).count() > 0);
        if !hashed {
            return false;
        }
    }
    any
}

fn pinned(lock: &[u8]) -> usize {
    String::from_utf8_lossy(lock)
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()) && line.contains("=="))
        .count()
}

enum Installer {
    Uv(PathBuf),
    Pip,
}

impl Installer {
    fn find() -> Self {
        resolve("uv").map_or(Self::Pip, |uv| Self::Uv(uv.program))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Uv(_) => "uv",
            Self::Pip => "pip",
        }
    }

    fn install(
        &self,
        interpreter: &Interpreter,
        locks: &[PathBuf],
        hashes: bool,
        folder: &Path,
    ) -> Result<(), EngineError> {
        let python = folder.join("bin/python");
        let strict = hashes.then_some("--require-hashes".as_ref());
        let wanted = locks.iter().flat_map(|lock| ["--requirement".as_ref(), lock.as_os_str()]);
        let wanted = strict.into_iter().chain(wanted);
        match self {
            Self::Uv(uv) => {
                self.run(
                    Command::new(uv)
                        .args(["venv", "--quiet", "--python"])
                        .arg(&interpreter.executable)
                        .arg(folder),
                )?;
                // pip compiles modules to byte code, uv only on request; processes measured with
                // byte code as found must not depend on which of them was there.
                self.run(
                    Command::new(uv)
                        .args(["pip", "install", "--quiet", "--compile-bytecode", "--python"])
                        .arg(&python)
                        .args(wanted),
                )
            }
            Self::Pip => {
                self.run(Command::new(&interpreter.executable).args(["-m", "venv"]).arg(folder))?;
                self.run(
                    Command::new(&python)
                        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                        .args(wanted),
                )
            }
        }
    }

    fn version(&self, folder: &Path) -> String {
        let output = match self {
            Self::Uv(uv) => helper::output(Command::new(uv).arg("--version"), ANSWER),
            Self::Pip => {
                let mut python = Command::new(folder.join("bin/python"));
                helper::output(python.args(["-m", "pip", "--version"]), ANSWER)
            }
        };
        let words = |output: Output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
        };
        output.map_or_else(|_| self.name().to_owned(), words)
    }

    fn run(&self, command: &mut Command) -> Result<(), EngineError> {
        const SHOWN_LINES: usize = 12;
        let failed =
            |tail: String| EngineError::Provision { installer: self.name().to_owned(), tail };
        let output =
            helper::output(command, INSTALL).map_err(|error| helper::failure(&error, failed))?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.trim().lines().collect();
        Err(failed(lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Interpreter, RECORD, fs, is_hashed, provision};
    use crate::interrupt::Interrupt;

    #[test]
    fn an_environment_whose_record_was_altered_is_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let lock = cache.path().join("requirements.lock");
        fs::write(&lock, "# nothing\n").unwrap();
        let interpreter = Interpreter::find(None).unwrap();
        let interrupt = Interrupt::install().unwrap();
        let prepare = || {
            let mut said = Vec::new();
            let locks = [lock.clone()];
            let announce = &mut |text: &str| said.push(text.to_owned());
            let ready =
                provision(&locks, &interpreter, cache.path(), &interrupt, announce).unwrap();
            (ready, said.iter().any(|text| text.contains("modified")))
        };
        let (first, altered) = prepare();
        assert!(!altered);
        assert!(!prepare().1, "it is found as it was left");
        let record = first.python.parent().unwrap().parent().unwrap().join(RECORD);
        let text = fs::read_to_string(&record).unwrap();
        let forged = text.replacen("\"packages\": {", "\"packages\": {\"planted\": \"1.0\",", 1);
        assert_ne!(forged, text);
        fs::write(&record, forged.replace(",}", "}")).unwrap();
        let (second, altered) = prepare();
        assert!(altered);
        assert_eq!(second.packages, first.packages);
    }

    #[test]
    fn hashes_are_insisted_on_where_every_package_has_one() {
        let with = "a==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n    # via x\nb==2 --hash=sha256:02\n";
        assert!(is_hashed(with.as_bytes()));
        assert!(!is_hashed(format!("{with}c==3\n").as_bytes()));
        assert!(!is_hashed(b"# nothing\n"));
    }
}
