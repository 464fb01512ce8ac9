//! `cargo xtask test`: everything that must pass, and how many tests ran.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::shell::{Result, cargo, install, root, step, step_with_output};
use crate::{generate, layering, licences, python, wheel};

/// The Python package, seen from `python/`.
const PACKAGE: &str = "../crates/histfactory-python";

pub(crate) fn test() -> Result {
    let mut stages = Stages::default();
    stages.take("formatting", || step("formatting", cargo().args(["fmt", "--all", "--check"])))?;
    let lints = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stages.take("lints", || step("lints", cargo().args(lints)))?;
    stages.take("layers, licences, generated files", || {
        layering::check()?;
        licences::check()?;
        generate::generate(true)
    })?;
    let rust = stages.take("Rust tests", rust_tests)?;
    stages.take("snapshots", snapshots)?;
    let python = stages.take("Python tests", python_tests)?;
    let package = stages.take("Python package", || {
        let runner = ["build", "--quiet", "--package", "histfactory-runner"];
        step("the runner of the suite histfactory", cargo().args(runner))?;
        counted(&wheel::test(&python::environment()?)?, "Python package")
    })?;
    stages.print();
    for (name, counts) in [("Rust", rust), ("Python", python), ("package", package)] {
        println!("{name} tests: {} passed, {} skipped", counts.passed, counts.skipped);
    }
    let passed = rust.passed + python.passed + package.passed;
    let skipped = rust.skipped + python.skipped + package.skipped;
    println!("{passed} passed, 0 failed, {skipped} skipped");
    if skipped > 0 {
        return Err(format!("{skipped} tests were skipped, and none may be"));
    }
    Ok(())
}

/// How long each stage took.
#[derive(Default)]
struct Stages(Vec<(&'static str, Duration)>);

impl Stages {
    fn take<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let result = work();
        self.0.push((name, began.elapsed()));
        result
    }

    fn print(&self) {
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        println!("\nminutes");
        for (name, time) in &self.0 {
            println!("{:7.1}  {name}", minutes(*time));
        }
        println!("{:7.1}  in all", minutes(self.0.iter().map(|(_, time)| *time).sum()));
    }
}

/// Our own published results still follow from their raw readings. The Rust tests have built the program.
fn snapshots() -> Result {
    let folder = root().join("snapshots");
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|end| end == "zst"));
    paths.sort();
    for path in paths {
        let title = format!("snapshot {}", path.file_name().unwrap_or_default().display());
        let program = root().join("target/debug/firstlight");
        step(&title, Command::new(program).args(["verify", "--quiet"]).arg(&path))?;
    }
    Ok(())
}

fn rust_tests() -> Result<Counts> {
    let lines = step_with_output(
        "Rust tests",
        cargo().args(["test", "--quiet", "--workspace", "--no-fail-fast"]),
    )?;
    counted(&lines, "Rust tests")
}

fn python_tests() -> Result<Counts> {
    let python = python::environment()?;
    let tool = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", name]).args(arguments).current_dir(root().join("python"));
        command
    };
    let folders = [".", "../suites", "../benches", PACKAGE];
    let mut ruff = tool("ruff", &["check", "--quiet"]);
    step("Python lints", ruff.args(folders))?;
    let mut formatting = tool("ruff", &["format", "--quiet", "--check"]);
    step("Python formatting", formatting.args(folders))?;
    step("Python types", &mut tool("mypy", &["firstlight"]))?;
    let package = format!("{PACKAGE}/python/histfactory");
    step("Python types, histfactory", &mut tool("mypy", &[&package]))?;
    browser();
    let mut pytest = tool("pytest", &[]);
    pytest.env("FIRSTLIGHT_TORCH_PYTHON", wheel::torch()?);
    pytest.env("FIRSTLIGHT_BINARY", root().join("target/debug/firstlight"));
    pytest.env_remove("PYTHONDONTWRITEBYTECODE");
    let lines = step_with_output("Python tests", &mut pytest)?;
    counted(&lines, "Python tests")
}

/// The report is looked at in a real browser. Where there is none and none can be installed, those
/// tests fail: they never count as passed without having run.
fn browser() {
    println!("── a browser");
    if !install("chromium", "chromium") {
        println!("there is no Chromium: the tests of the HTML report cannot run and will fail");
        println!("hint: install it, on Debian with `apt-get install chromium`");
    }
}

/// Tests that ran, and those that did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    passed: u32,
    skipped: u32,
}

/// Adds up the `N passed` and `N skipped` or `N ignored` of all summaries. A suite that ran nothing has
/// not passed.
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
