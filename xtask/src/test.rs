//! `cargo xtask test`: runs all checks and tests, and counts the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::prebuilt::WHOLE;
use crate::shell::{Result, cargo, install, root, step, step_with_output, steps_side_by_side};
use crate::{kernels, python, wheel};

/// The Python package, relative to `python/`.
const PACKAGE: &str = "../crates/histfactory-python";
/// The package of the CUDA kernels, relative to `python/`.
const KERNELS: &str = "../crates/histfactory-cuda";
/// Tests with missing input append their names to the file in this variable.
const SKIPPED: &str = "FIRSTLIGHT_SKIPPED";
/// Python tests that compare times. They run after the others, one process for each file.
const TIMED: [&str; 2] = ["test_planted.py", "test_trace_truth.py"];

/// Python tests that take longest. They begin first.
const LONGEST: [&str; 4] =
    ["test_suites.py", "test_trace_page.py", "test_pytest_plugin.py", "test_histfactory_pyhf.py"];

/// Tests of the adapters, which also run with the newest frameworks. PyTorch has one version.
const ADAPTERS: [&str; 3] =
    ["tests/test_jax.py", "tests/test_numba.py", "tests/test_trace_causes.py"];

pub fn test() -> Result {
    let mut stages = Stages::default();
    let tested = all(&mut stages);
    stages.print();
    let (rust, python, package) = tested?;
    for (name, counts) in [("Rust", rust), ("Python", python), ("package", package)] {
        println!("{name} tests: {} passed, {} skipped", counts.passed, counts.skipped);
    }
    let passed = rust.passed + python.passed + package.passed;
    let skipped = rust.skipped + python.skipped + package.skipped;
    println!("{passed} passed, 0 failed, {skipped} skipped");
    let expected = if shared_data() { 0 } else { rust.skipped };
    if skipped > expected {
        return Err(format!("{} tests were skipped unexpectedly", skipped - expected));
    }
    Ok(())
}

/// All stages in turn, with the tests that ran: of Rust, of Python, of the Python package.
fn all(stages: &mut Stages) -> Result<(Counts, Counts, Counts)> {
    slurm();
    // Packages are downloaded while the compiler works.
    let environments = thread::spawn(environments);
    stages.take("formatting", || step("formatting", cargo().args(["fmt", "--all", "--check"])))?;
    let lints = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stages.take("lints", || step("lints", cargo().args(lints)))?;
    stages.take("build", || step("programs and tests", cargo().args(WHOLE)))?;
    stages.take("layers, licences, generated files", || {
        step("checks", Command::new(program("workbench")).arg("check").current_dir(root()))
    })?;
    let rust = stages.take("Rust tests", rust_tests)?;
    stages.take("snapshots", snapshots)?;
    let pythons = stages.take("Python environments", || {
        environments.join().map_err(|_| "the Python environments".to_owned())?
    })?;
    stages.take("CUDA kernels", kernels::check)?;
    let python = stages.take("Python tests", || python_tests(&pythons))?;
    let package =
        stages.take("Python package", || counted(&wheel::test(&pythons.jax)?, "Python package"))?;
    Ok((rust, python, package))
}

/// Interpreters with the packages of the tests.
struct Pythons {
    jax: PathBuf,
    /// The newest supported frameworks on the newest supported Python.
    newest: PathBuf,
    torch: PathBuf,
}

fn environments() -> Result<Pythons> {
    python::kernels()?;
    let pythons =
        Pythons { jax: python::environment()?, newest: python::newest()?, torch: wheel::torch()? };
    browser();
    Ok(pythons)
}

fn program(name: &str) -> PathBuf {
    root().join("target/debug").join(name)
}

/// Third-party workspaces and recordings, which are not part of the repository.
fn shared_data() -> bool {
    root().ancestors().any(|folder| folder.join("shared/data").is_dir())
}

/// How long each stage took, and how much processor time its programs used.
#[derive(Default)]
struct Stages(Vec<(&'static str, Duration, Duration)>);

impl Stages {
    fn take<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (began, used) = (Instant::now(), processor_time());
        let result = work();
        self.0.push((name, began.elapsed(), processor_time().saturating_sub(used)));
        result
    }

    fn print(&self) {
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        println!("\nminutes, processor minutes");
        for (name, elapsed, used) in &self.0 {
            println!("{:7.1} {:7.1}  {name}", minutes(*elapsed), minutes(*used));
        }
        let elapsed = self.0.iter().map(|(_, elapsed, _)| *elapsed).sum();
        let used = self.0.iter().map(|(_, _, used)| *used).sum();
        println!("{:7.1} {:7.1}  in all", minutes(elapsed), minutes(used));
    }
}

/// The processor time of all programs that were started and have ended. Zero without `/proc`.
fn processor_time() -> Duration {
    /// Linux counts these times in hundredths of a second on every machine.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program comes first, in parentheses, and may contain spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u32 = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    TICK * ticks
}

/// Checks that our own published results still follow from their raw readings.
fn snapshots() -> Result {
    let folder = root().join("snapshots");
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|end| end == "zst"));
    paths.sort();
    let title = format!("{} snapshots", paths.len());
    step(&title, Command::new(program("firstlight")).args(["verify", "--quiet"]).args(&paths))
}

fn rust_tests() -> Result<Counts> {
    let record = root().join("target/tmp/skipped.txt");
    let _ = fs::remove_file(&record);
    let _ = fs::create_dir_all(root().join("target/tmp"));
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--workspace", "--no-fail-fast"]).env(SKIPPED, &record);
    // Tests that start programs wait for most of their time.
    let cores = thread::available_parallelism().map_or(2, usize::from);
    tests.env("RUST_TEST_THREADS", (2 * cores).to_string());
    let lines = step_with_output("Rust tests", &mut tests)?;
    let mut counts = counted(&lines, "Rust tests")?;
    let recorded = fs::read_to_string(&record).unwrap_or_default();
    let names: BTreeSet<&str> = recorded.lines().collect();
    for name in &names {
        println!("skipped: {name}");
    }
    let skipped = u32::try_from(names.len()).unwrap_or(u32::MAX);
    counts.passed = counts.passed.saturating_sub(skipped);
    counts.skipped += skipped;
    Ok(counts)
}

fn python_tests(pythons: &Pythons) -> Result<Counts> {
    let of = |python: &Path, name: &str, arguments: &[&str]| {
        let mut command = Command::new(python);
        command.args(["-m", name]).args(arguments).current_dir(root().join("python"));
        command
    };
    let tool = |name: &str, arguments: &[&str]| of(&pythons.jax, name, arguments);
    let folders = [".", "../suites", "../benches", "../examples", "../xtask", PACKAGE, KERNELS];
    let mut ruff = tool("ruff", &["check", "--quiet"]);
    step("Python lints", ruff.args(folders))?;
    let mut formatting = tool("ruff", &["format", "--quiet", "--check"]);
    step("Python formatting", formatting.args(folders))?;
    step("Python types", &mut tool("mypy", &["firstlight"]))?;
    let package = format!("{PACKAGE}/python/histfactory");
    step("Python types, histfactory", &mut tool("mypy", &[&package]))?;
    let tests_with = |python: &Path, options: &[&str]| {
        let mut pytest = of(python, "pytest", options);
        pytest.env("FIRSTLIGHT_TORCH_PYTHON", &pythons.torch);
        pytest.env("FIRSTLIGHT_BINARY", program("firstlight"));
        pytest.env_remove("PYTHONDONTWRITEBYTECODE");
        pytest
    };
    let tests = |options: &[&str]| tests_with(&pythons.jax, options);
    let timed: Vec<String> = TIMED.iter().map(|name| format!("tests/{name}")).collect();
    let beside = ["--numprocesses", "2", "--dist", "loadfile"];
    let mut others = tests(&beside);
    // The longest files first, so that no worker is left with one at the end.
    others.args(["--no-loadscope-reorder", "--durations=12"]).args(untimed_files()?);
    let mut adapters = tests_with(&pythons.newest, &["-p", "no:cacheprovider"]);
    adapters.args(ADAPTERS);
    let untimed = vec![("Python tests", others), ("adapters with the newest frameworks", adapters)];
    let mut lines = steps_side_by_side(untimed)?;
    lines.extend(step_with_output("Python tests that compare times", tests(&beside).args(&timed))?);
    counted(&lines, "Python tests")
}

/// The files of Python tests that do not compare times, the longest first.
fn untimed_files() -> Result<Vec<String>> {
    let folder = root().join("python/tests");
    let found = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = found.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with("test_") && !TIMED.contains(&name.as_str())).collect();
    names.sort();
    names.sort_by_key(|name| LONGEST.iter().position(|long| long == name).unwrap_or(LONGEST.len()));
    Ok(names.into_iter().map(|name| format!("tests/{name}")).collect())
}

/// The report is tested in a real browser. If there is none and none can be installed, those tests fail: they
/// never count as passed without having run. Other tests start a real Slurm on loopback. If it cannot be
/// installed, they are listed as skipped.
fn slurm() {
    println!("── Slurm");
    if !(install("sbatch", "slurm-wlm") && install("munge", "munge")) {
        println!("there is no Slurm: the tests of runs on a cluster are skipped");
        println!("hint: install it, on Debian with `apt-get install slurm-wlm munge`");
    }
}

fn browser() {
    println!("── a browser");
    if !install("chromium", "chromium") {
        println!("there is no Chromium: the tests of the HTML report cannot run and will fail");
        println!("hint: install it, on Debian with `apt-get install chromium`");
    }
}

/// The numbers of tests that ran and that did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    passed: u32,
    skipped: u32,
}

/// Adds up the `N passed` and `N skipped` or `N ignored` of all summaries. A suite without any test has not
/// passed.
fn counted(lines: &[String], what: &str) -> Result<Counts> {
    let before = |line: &String, word: &str| -> u32 {
        let words: Vec<&str> =
            line.split([' ', ';', ',']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|&known| known == word);
        at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
    };
    let sum = |word: &str| lines.iter().map(|line| before(line, word)).sum::<u32>();
    let counts = Counts { passed: sum("passed"), skipped: sum("skipped") + sum("ignored") };
    if counts.passed == 0 { Err(format!("{what}: nothing ran")) } else { Ok(counts) }
}

#[cfg(test)]
mod tests {
    use super::{Counts, counted};

    #[test]
    fn the_summaries_of_both_kinds_of_tests_are_counted() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let rust = "running 3 tests\n...\ntest result: ok. 3 passed; 0 failed; 0 ignored\n\
                    test result: ok. 12 passed; 0 failed";
        assert_eq!(counted(&lines(rust), "r"), Ok(Counts { passed: 15, skipped: 0 }));
        let python = counted(&lines("36 passed, 1 skipped in 1.21s"), "p");
        assert_eq!(python, Ok(Counts { passed: 36, skipped: 1 }));
        let ignored = counted(&lines("test result: ok. 2 passed; 0 failed; 3 ignored"), "r");
        assert_eq!(ignored, Ok(Counts { passed: 2, skipped: 3 }));
        assert!(counted(&lines("no tests ran in 0.01s"), "p").is_err());
    }
}
