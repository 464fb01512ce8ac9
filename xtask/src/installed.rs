//! The wheels as their users get them: installed into empty environments, one for each Python.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::python::{NEWEST, NEWEST_PYTHON, OLDEST};
use crate::shell::{Result, root, step};
use crate::wheel::{interpreter, uv};

/// Pythons that the wheels must serve. The test says which of them are not on this machine.
const PYTHONS: [&str; 4] = ["3.11", "3.12", "3.13", "3.14"];

/// The first steps of a user: imports, a fit, a mark outside a measurement.
pub const FIRST_STEPS: &str = "\
import firstlight, histfactory, sys
firstlight.mark('outside a measurement')
model = histfactory.Model.synthetic('small')
assert model.fit().converged and model.significance().z > 0
assert not {'torch', 'jax'} & set(sys.modules)";

/// The sample project's test that passes, and the one that recompiles on purpose.
pub const SAMPLES: [&str; 2] = [
    "test_model.py::test_a_step_is_compiled_once",
    "test_model.py::test_a_last_batch_that_is_smaller_recompiles",
];
/// Lines of pytest's output on both.
pub const EXPECTED: [&str; 2] = ["1 failed, 1 passed", "changed from f32[64,8] to f32[48,8]"];
pub const SAMPLE_PROJECT: &str = "examples/pytest";

/// Installs the wheels into an environment of every Python that is here, side by side, and tries them.
pub fn test(wheels: &[&Path]) -> Result {
    let mut here = Vec::new();
    for version in PYTHONS {
        match interpreter(version) {
            Some(interpreter) => here.push((version, interpreter)),
            None => println!("   there is no Python {version} here: not tried"),
        }
    }
    if here.is_empty() {
        return Err("there is no Python to try the wheels with".to_owned());
    }
    thread::scope(|scope| {
        let started: Vec<_> = here
            .iter()
            .map(|(version, interpreter)| {
                scope.spawn(move || Environment::new(version, interpreter, wheels)?.test())
            })
            .collect();
        started.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

struct Environment {
    version: &'static str,
    folder: PathBuf,
}

impl Environment {
    fn new(version: &'static str, interpreter: &Path, wheels: &[&Path]) -> Result<Self> {
        let folder = root().join("target/python-empty").join(version);
        let made = Self { version, folder };
        let mut venv = uv(&["venv", "--quiet", "--clear", "--python"]);
        made.step("an empty environment", venv.arg(interpreter).arg(&made.folder))?;
        let mut install = uv(&["pip", "install", "--quiet", "--python"]);
        made.step("the wheels and NumPy", install.arg(made.program("python")).args(wheels))?;
        Ok(made)
    }

    fn test(&self) -> Result {
        self.step("a fit", self.python().args(["-c", FIRST_STEPS]))?;
        self.cold("pass", "an empty program")?;
        self.cold("import firstlight; firstlight.mark('here')", "a mark")?;
        self.sample_project()
    }

    fn cold(&self, program: &str, title: &str) -> Result {
        let result = self.folder.join(title.replace(' ', "-"));
        let mut cold = Command::new(self.program("firstlight"));
        cold.args(["cold", "--quiet", "--runs", "2", "--output"]).arg(result).arg("--");
        self.step(
            &format!("the cold start of {title}"),
            cold.arg(self.program("python")).args(["-c", program]),
        )
    }

    fn sample_project(&self) -> Result {
        let lane = if self.version < NEWEST_PYTHON { OLDEST } else { NEWEST };
        let mut install = uv(&["pip", "install", "--quiet", "--constraints", lane.lock]);
        install.arg("--python").arg(self.program("python"));
        self.step("JAX and pytest", install.args(["jax", "pytest"]))?;
        println!("── a test that passes and one that recompiles, Python {}", self.version);
        let mut pytest = self.python();
        pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(SAMPLES);
        pytest.env("JAX_PLATFORMS", "cpu").current_dir(root().join(SAMPLE_PROJECT));
        let ended = pytest.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ended.stdout);
        if ended.status.code() == Some(1) && EXPECTED.iter().all(|words| said.contains(words)) {
            return Ok(());
        }
        Err(format!("pytest, Python {}, did not print {EXPECTED:?}:\n{said}", self.version))
    }

    fn python(&self) -> Command {
        let mut python = Command::new(self.program("python"));
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    fn step(&self, title: &str, command: &mut Command) -> Result {
        step(&format!("{title}, Python {}", self.version), command)
    }
}
