//! `cargo xtask test`: everything that must pass, and how many tests ran.

use std::fs;
use std::process::Command;

use crate::shell::{Result, cargo, install, root, step, step_with_output};
use crate::{generate, layering, licences, python, wheel};

/// The Python package, seen from `python/`.
const PACKAGE: &str = "../crates/histfactory-python";

pub(crate) fn test() -> Result {
    step("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("lints", cargo().args(lints))?;
    layering::check()?;
    licences::check()?;
    generate::generate(true)?;

    snapshots()?;
    let rust = rust_tests()?;
    let python = python_tests()?;
    let runner = ["build", "--quiet", "--package", "histfactory-runner"];
    step("the runner of the suite histfactory", cargo().args(runner))?;
    let package = counted(&wheel::test(&python::environment()?)?, "Python package")?;
    println!("\nRust tests run:   {rust}");
    println!("Python tests run: {python}");
    println!("Package tests run: {package}");
    println!("Tests run in all: {}, none failed", rust + python + package);
    Ok(())
}

/// Our own published results still follow from their raw readings.
fn snapshots() -> Result {
    let folder = root().join("snapshots");
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|end| end == "zst"));
    paths.sort();
    for path in paths {
        let title = format!("snapshot {}", path.file_name().unwrap_or_default().display());
        let arguments = ["run", "--quiet", "--package", "firstlight", "--", "verify"];
        step(&title, cargo().args(arguments).arg(&path))?;
    }
    Ok(())
}

fn rust_tests() -> Result<u32> {
    let lines = step_with_output(
        "Rust tests",
        cargo().args(["test", "--quiet", "--workspace", "--no-fail-fast"]),
    )?;
    counted(&lines, "Rust tests")
}

fn python_tests() -> Result<u32> {
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

/// Adds up the `N passed` of all summaries. A suite that ran nothing has not passed.
fn counted(lines: &[String], what: &str) -> Result<u32> {
    let passed = |line: &String| -> u32 {
        let words: Vec<&str> = line.split([' ', ';', ',']).collect();
        let before = words.iter().position(|&word| word == "passed");
        before.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
    };
    match lines.iter().map(passed).sum() {
        0 => Err(format!("{what}: nothing ran")),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn the_summaries_of_both_kinds_of_tests_are_counted() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let rust = "running 3 tests\n...\ntest result: ok. 3 passed; 0 failed; 0 ignored\n\
                    test result: ok. 12 passed; 0 failed";
        assert_eq!(counted(&lines(rust), "r"), Ok(15));
        assert_eq!(counted(&lines("36 passed, 1 skipped in 1.21s"), "p"), Ok(36));
        assert!(counted(&lines("no tests ran in 0.01s"), "p").is_err());
    }
}
