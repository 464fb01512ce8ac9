//! Resolves the command as typed to the program that really runs, without a shim in between.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use firstlight_schema::variables;

use crate::EngineError;
use crate::helper::{self, ANSWER};

/// A program, and the shim that was typed in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub program: PathBuf,
    pub shim: Option<PathBuf>,
}

/// Finds the program on the path as a shell would, and the one behind it if that is a shim, which
/// would cost every measured process a tenth of a second.
pub fn resolve(typed: &str) -> Result<Resolved, EngineError> {
    let found = search(typed).ok_or_else(|| EngineError::NoProgram(typed.to_owned()))?;
    Ok(match behind_shim(&found) {
        Some(program) => Resolved { program, shim: Some(found) },
        None => Resolved { program: found, shim: None },
    })
}

fn search(typed: &str) -> Option<PathBuf> {
    if typed.contains('/') {
        return Some(PathBuf::from(typed)).filter(|path| is_program(path));
    }
    let folders = std::env::var_os(variables::PATH)?;
    std::env::split_paths(&folders).map(|folder| folder.join(typed)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Version managers keep small scripts, or links to themselves, in a folder named `shims`.
fn behind_shim(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let script = || {
        let mut start = [0; 2];
        fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
            && start == *b"#!"
    };
    if folder.file_name()? != "shims" || !(path.is_symlink() || script()) {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let program = if name.starts_with("python") {
        first_line(Command::new(path).args(["-I", "-c", "import sys; print(sys.executable)"]))
    } else {
        first_line(Command::new(folder.parent()?.join("libexec/pyenv")).args(["which", name]))
    };
    program.map(PathBuf::from).filter(|program| is_program(program))
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = helper::output(command, ANSWER).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::resolve;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = resolve("no-such-program-anywhere").unwrap_err();
        assert_eq!(error.to_string(), "program `no-such-program-anywhere` not found");
        assert!(resolve("/etc/hostname-that-is-no-program").is_err());
    }

    #[test]
    fn the_interpreter_behind_a_shim_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("versions/3/bin/python3");
        script(&real, "#!/bin/sh\n");
        let shim = folder.path().join("shims/python3");
        script(&shim, &format!("#!/bin/sh\necho {}\n", real.display()));
        let resolved = resolve(shim.to_str().unwrap()).unwrap();
        assert_eq!(resolved.program, real);
        assert_eq!(resolved.shim, Some(shim));
    }

    #[test]
    fn a_plain_program_is_taken_as_it_is() {
        let resolved = resolve("sh").unwrap();
        assert!(resolved.program.ends_with("sh"));
        assert_eq!(resolved.shim, None);
    }
}
