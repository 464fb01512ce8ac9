//! The speed of reading and attributing traces, compared with xprof and `HolisticTraceAnalysis` on the same
//! files. The files are repeated recordings of the fixtures, and one full of Python frames.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Workshop, judge};
use xtask::python::real_interpreter;
use xtask::shell::{Result, cargo, exists, output, root, step};

const LEAST_XPLANE: f64 = 150.0;
const LEAST_KINETO: f64 = 300.0;
const MOST_TIMES: f64 = 5.0;
const MOST_SECONDS: f64 = 2.0;
/// The time limit of another tool.
const PATIENCE: Duration = Duration::from_mins(5);

pub(super) fn bench(workshop: &Workshop) -> Result {
    let folder = workshop.folder.path().join("traces");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let bench = ["bench", "--quiet", "--package", "firstlight-trace", "--bench", "traces", "--"];
    let made = folder.display().to_string();
    step("bench trace: long recordings", cargo().args(bench).args(["make", &made]))?;
    let peers = environment();
    for (file, least) in [
        ("frames.xplane.pb", LEAST_XPLANE),
        ("gpu.xplane.pb", LEAST_XPLANE),
        ("gpu.pt.trace.json", LEAST_KINETO),
        ("stacks.pt.trace.json", LEAST_KINETO),
    ] {
        println!("── bench trace: {file}");
        let path = folder.join(file);
        let text = output(cargo().args(bench).arg("read").arg(&path))?;
        let report: Value =
            serde_json::from_str(&text).map_err(|error| format!("{text}: {error}"))?;
        own(&report, least);
        whole(workshop, &path)?;
        match &peers {
            Ok(python) => peer(python, &folder, &path),
            Err(problem) => println!("   the peers could not be installed: {problem}"),
        }
    }
    Ok(())
}

/// The time of the library on one core.
fn own(report: &Value, least: f64) {
    let number = |key: &str| report[key].as_f64().unwrap_or(f64::NAN);
    let speed = number("megabytes-per-s");
    let bytes = number("bytes");
    let figure = format!("{speed:.0} MB/s, {:.1} MB, {} events", bytes / 1e6, report["events"]);
    judge("reading", &figure, &format!("at least {least} MB/s"), speed >= least);
    let times = number("peak-bytes") / bytes;
    let figure = format!("{:.0} MB, {times:.1} times the file", number("peak-bytes") / 1e6);
    judge("memory", &figure, "at most 5 times the file", times <= MOST_TIMES);
    let million = 2e6 / number("events");
    let both = number("read-s") + number("attribute-s");
    let figure = format!(
        "{:.2} s for {} steps; two million events at this rate in {:.2} s",
        number("attribute-s"),
        report["steps"],
        both * million
    );
    judge("reading and attributing", &figure, "two million in 2 s", both * million <= MOST_SECONDS);
}

/// The elapsed time of the whole command.
fn whole(workshop: &Workshop, path: &Path) -> Result {
    let path = path.display().to_string();
    let start = Instant::now();
    output(&mut workshop.firstlight(&["trace", &path, "--quiet"]))?;
    println!("   firstlight trace, the whole command: {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The same file in another tool.
fn peer(python: &Path, folder: &Path, path: &Path) {
    let kind = if path.extension().is_some_and(|end| end == "pb") { "xprof" } else { "hta" };
    let mut command = Command::new("timeout");
    command
        .arg(PATIENCE.as_secs().to_string())
        .arg(python)
        .arg(root().join("benches/trace_peers.py"))
        .args([kind, &path.display().to_string(), &folder.display().to_string()]);
    match output(&mut command) {
        Ok(text) => println!("   {}", text.lines().last().unwrap_or_default()),
        Err(problem) => {
            let last = problem.lines().last().unwrap_or_default().to_owned();
            println!("   {kind} failed or took longer than {} s: {last}", PATIENCE.as_secs());
        }
    }
}

/// The other tools in a separate environment below `target`.
fn environment() -> Result<PathBuf> {
    const PACKAGES: [&str; 3] = ["xprof==2.24.1", "HolisticTraceAnalysis==0.5.0", "setuptools<81"];
    let folder = root().join("target/python-traces");
    let python = folder.join("bin/python");
    if folder.join("complete").exists() {
        return Ok(python);
    }
    let real = real_interpreter()?;
    if exists("uv") {
        let mut make = Command::new("uv");
        make.args(["venv", "--quiet", "--clear", "--python", &real]).arg(&folder);
        step("a Python environment for the peers (uv)", &mut make)?;
        let mut install = Command::new("uv");
        install.args(["pip", "install", "--quiet", "--python"]).arg(&python).args(PACKAGES);
        step("xprof and HolisticTraceAnalysis", &mut install)?;
    } else {
        let mut make = Command::new(&real);
        step("a Python environment for the peers", make.args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES);
        step("xprof and HolisticTraceAnalysis", &mut install)?;
    }
    fs::write(folder.join("complete"), "").map_err(|error| error.to_string())?;
    Ok(python)
}
