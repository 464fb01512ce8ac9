//! `cargo xtask suite`: runs the suite `histfactory` with the wheel and runner of this repository.
//!
//! The suite's lock file names published packages. Our own wheel and the runner are built here and placed
//! below `target/suite-histfactory`, and firstlight uses that interpreter unchanged: it records every package
//! in it, and the paths of programs. For published results, `FIRSTLIGHT_CACHE` names a path that reveals
//! nothing about the machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::real_interpreter;
use crate::shell::{Result, cargo, root, step};
use crate::wheel;

const SUITE: &str = "suites/histfactory";

pub fn suite(arguments: &[String]) -> Result {
    let build = ["build", "--release", "--quiet", "--package", "firstlight"];
    let runner = ["--package", "histfactory-runner"];
    step("firstlight and the runner", cargo().args(build).args(runner))?;
    let place =
        env::var_os("FIRSTLIGHT_CACHE").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = place.join("suite-histfactory");
    let programs = programs(&folder)?;
    let torch = arguments.iter().any(|word| word == "--extra=torch")
        || arguments.windows(2).any(|pair| pair == ["--extra", "torch"]);
    let python = environment(&folder, torch)?;
    let mut path = vec![programs];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let path = env::join_paths(path).map_err(|error| error.to_string())?;
    let mut run = Command::new(root().join("target/release/firstlight"));
    run.arg("run").arg(root().join(SUITE)).arg("--python").arg(&python).args(arguments);
    step("the suite", run.env("PATH", path).current_dir(root()))
}

/// The runner with the workspaces beside it, in a folder that is added to the path.
fn programs(folder: &Path) -> Result<PathBuf> {
    let programs = folder.join("bin");
    let problem = |error: std::io::Error| format!("{}: {error}", programs.display());
    fs::create_dir_all(&programs).map_err(problem)?;
    let place = programs.join("histfactory-runner");
    let _ = fs::remove_file(&place);
    fs::copy(root().join("target/release/histfactory-runner"), &place).map_err(problem)?;
    step("the workspaces", Command::new(&place).arg("workspaces").arg(&programs))?;
    Ok(programs)
}

/// The packages of the lock files, installed once per content, and the newly built wheel.
fn environment(folder: &Path, torch: bool) -> Result<PathBuf> {
    let wheel = wheel::build(wheel::Product::Histfactory, "release")?;
    let folder = folder.join(if torch { "python-torch" } else { "python" });
    let python = folder.join("bin/python");
    let mut locks = vec![root().join(SUITE).join("requirements.lock")];
    if torch {
        locks.push(root().join(SUITE).join("requirements-torch.lock"));
    }
    let read = |lock: &PathBuf| fs::read(lock).map_err(|why| format!("{}: {why}", lock.display()));
    let wanted = locks.iter().map(read).collect::<Result<Vec<_>>>()?.concat();
    let record = folder.join("installed.lock");
    if fs::read(&record).ok().as_ref() != Some(&wanted) {
        let _ = fs::remove_dir_all(&folder);
        let mut venv = wheel::uv(&["venv", "--quiet", "--python", &real_interpreter()?]);
        step("a Python environment for the suite", venv.arg(&folder))?;
        let mut install = wheel::uv(&["pip", "install", "--quiet", "--python"]);
        install.arg(&python);
        for lock in &locks {
            install.arg("--requirement").arg(lock);
        }
        step("its packages", &mut install)?;
        fs::write(&record, wanted).map_err(|why| format!("{}: {why}", record.display()))?;
    }
    wheel::install(&python, &wheel)?;
    Ok(python)
}
