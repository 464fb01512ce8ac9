//! The wheels of firstlight and histfactory, and the tests of the package `histfactory`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installed;
use crate::prebuilt::REAL_CARGO;
use crate::python::{TORCH, real_interpreter};
use crate::shell::{Result, cargo, exists, output, root, step, steps_side_by_side};

pub const MATURIN: &str = "maturin==1.16.0";
const FOLDER: &str = "crates/histfactory-python";

/// A product with a separate wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    Firstlight,
    Histfactory,
}

impl Product {
    pub const ALL: [Self; 2] = [Self::Firstlight, Self::Histfactory];

    pub fn name(self) -> &'static str {
        match self {
            Self::Firstlight => "firstlight",
            Self::Histfactory => "histfactory",
        }
    }

    /// The folder of its `pyproject.toml`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Firstlight => "python",
            Self::Histfactory => FOLDER,
        }
    }
}

/// Tests for the environment with PyTorch; all others run in the one with pyhf and JAX.
const WITH_TORCH: [&str; 5] = [
    "test_torch.py",
    "test_torch_gpu.py",
    "test_histogram.py",
    "test_example.py",
    "test_fronts.py",
];

/// The variable with the interpreter with JAX, for the tests of both fronts.
const JAX_PYTHON: &str = "HISTFACTORY_JAX_PYTHON";

/// uv: the one on the path, otherwise our own below `target`.
pub fn uv(arguments: &[&str]) -> Command {
    let own = root().join("target/uv/bin/uv");
    let mut command = if exists("uv") { Command::new("uv") } else { Command::new(own) };
    command.args(arguments).current_dir(root());
    command
}

pub fn has_uv() -> bool {
    exists("uv") || root().join("target/uv/bin/uv").exists()
}

/// Without uv, pip installs it below `target`.
pub fn provide_uv() -> Result {
    if has_uv() {
        return Ok(());
    }
    let folder = root().join("target/uv");
    let mut venv = Command::new(real_interpreter()?);
    step("a Python environment for uv", venv.args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/python"));
    step("uv", pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"]))
}

/// Builds a wheel. The profile `dev` packs the binaries of the Rust tests.
pub fn build(product: Product, profile: &str) -> Result<PathBuf> {
    provide_uv()?;
    let folder = root().join("target/wheels").join(profile).join(product.name());
    let _ = fs::remove_dir_all(&folder);
    let mut maturin = uv(&["tool", "run", MATURIN, "build", "--quiet", "--profile", profile]);
    maturin.current_dir(root().join(product.folder()));
    if profile == "dev" {
        let this = std::env::current_exe().map_err(|error| format!("xtask: {error}"))?;
        maturin.env(REAL_CARGO, cargo().get_program()).env("CARGO", this);
    }
    step(&format!("the wheel of {}", product.name()), maturin.arg("--out").arg(&folder))?;
    let found = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wheel = found.flatten().map(|entry| entry.path());
    let wheel = wheel.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl"));
    wheel.ok_or_else(|| "maturin left no wheel behind".to_owned())
}

/// Installs the wheel into an environment with its dependencies.
pub fn install(python: &Path, wheel: &Path) -> Result {
    let options = ["pip", "install", "--quiet", "--no-deps", "--reinstall", "--python"];
    step("the wheel, installed", uv(&options).arg(python).arg(wheel))
}

/// Adds a package without its dependencies; returns whether that worked.
pub fn add(python: &Path, package: &str) -> bool {
    let options = ["pip", "install", "--quiet", "--no-deps", "--python"];
    uv(&options).arg(python).arg(package).status().is_ok_and(|status| status.success())
}

/// PyTorch in a separate environment below `target`, created once.
pub fn torch() -> Result<PathBuf> {
    provide_uv()?;
    TORCH.made_with(&real_interpreter()?)
}

/// All tests of the package; `python` has pyhf and JAX.
pub fn test(python: &Path) -> Result<Vec<String>> {
    let wheel = build(Product::Histfactory, "dev")?;
    installed::test(&[&build(Product::Firstlight, "dev")?, &wheel])?;
    install(python, &wheel)?;
    let torch = torch()?;
    install(&torch, &wheel)?;
    let mut with_jax = pytest(python);
    with_jax.args(tests()?);
    let mut with_torch = pytest(&torch);
    with_torch.args(WITH_TORCH).env(JAX_PYTHON, python);
    steps_side_by_side(vec![("Python package", with_jax), ("Python package, PyTorch", with_torch)])
}

/// The files of tests that do not need PyTorch.
fn tests() -> Result<Vec<String>> {
    let folder = root().join(FOLDER).join("tests");
    let found = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = found.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with("test_") && !WITH_TORCH.contains(&name.as_str()))
        .collect();
    names.sort();
    Ok(names)
}

fn pytest(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).env("JAX_PLATFORMS", "cpu");
    command.current_dir(root().join(FOLDER).join("tests")).env("CUDA_VISIBLE_DEVICES", "");
    command
}

/// A Python of that version: on the path, or installed by pyenv, whose shims may reject it.
pub fn interpreter(version: &str) -> Option<PathBuf> {
    let program = ["-c", "import sys; print(sys.executable)"];
    if let Ok(found) = output(Command::new(format!("python{version}")).args(program)) {
        return Some(PathBuf::from(found.trim()));
    }
    let folder = output(Command::new("pyenv").arg("root")).ok()?;
    let versions = fs::read_dir(Path::new(folder.trim()).join("versions")).ok()?;
    let start = format!("{version}.");
    let mut named =
        versions.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
    Some(named.next()?.path().join("bin/python"))
}
