//! Compares histfactory with nextstat and pyhf with JAX, in one run: on the synthetic twin, and on the
//! 184-parameter workspace of `shared/data` if it is beside the checkout.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::{Workshop, judge, median};
use xtask::shell::{Result, cargo, exists, output, root, step};

const PEERS: [&str; 2] = ["nextstat", "pyhf-jax"];
const PACKAGES: [&str; 3] = ["pyhf[jax]==0.7.6", "jax==0.10.2", "nextstat==0.10.1"];

/// A figure of ours in microseconds, its limit, and its name for the other tools.
const WANTED: [(&str, &str, f64, Option<&str>); 13] = [
    ("loading the JSON", "load", 12_000.0, Some("load")),
    ("NLL", "nll", f64::INFINITY, Some("nll")),
    ("NLL and gradient", "nll_and_gradient", 15.0, Some("nll_and_gradient")),
    ("the same and all yields", "nll_and_yield_gradient", 25.0, None),
    ("Hessian", "hessian", 150.0, None),
    ("fit", "fit", 2_500.0, Some("fit")),
    ("fit with a covariance that nobody reads", "fit_with_covariance", 700.0, None),
    ("fit with uncertainties, read", "fit_and_read_uncertainties", 700.0, None),
    ("fit with the covariance matrix, read", "fit_and_read_covariance", 700.0, None),
    ("limit with bands", "upper_limit", 12_000.0, None),
    ("q0", "q0", 3_000.0, Some("q0")),
    ("Asimov significance, all yields", "asimov_significance_with_gradient", 3_000.0, None),
    ("1,000 toy fits, all cores", "toys_1000", 1_500_000.0, None),
];

pub(super) fn bench(workshop: &Workshop) -> Result {
    let build = ["build", "--release", "--quiet", "-p", "histfactory", "--example", "speed"];
    step("bench histfactory: the example", cargo().args(build))?;
    let build = ["build", "--release", "--quiet", "-p", "histfactory-cli"];
    step("bench histfactory: the program", cargo().args(build))?;
    let python = environment()?;
    let twin = workshop.folder.path().join("twin.json");
    output(Command::new(speed()).arg("--write").arg(&twin))?;
    on(&python, "the synthetic twin (184 parameters)", &twin)?;
    let Some(path) = shared() else {
        println!("   shared/data is not beside the checkout: tHu is left out");
        return Ok(());
    };
    on(&python, "tHu (184 parameters)", &path)
}

fn speed() -> PathBuf {
    root().join("target/release/examples/speed")
}

/// All figures on one workspace.
fn on(python: &Path, name: &str, workspace: &Path) -> Result {
    println!("── bench histfactory: {name}");
    let ours = figures(Command::new(speed()).arg(workspace).arg("1"))?;
    let script = Workshop::script("histfactory_peers.py");
    let mut peers = Vec::new();
    for peer in PEERS {
        let mut command = Command::new(python);
        command.args([&script, peer]).arg(workspace).arg("0.5").env("JAX_PLATFORMS", "cpu");
        peers.push((peer, figures(&mut command)?));
    }
    for (what, key, limit, with_peers) in WANTED {
        let figure = number(&ours, key)?;
        let mut text = micros(figure);
        for (peer, theirs) in &peers {
            if let Some(key) = with_peers {
                let theirs = number(theirs, key)?;
                let ratio = theirs / figure;
                let _ = write!(text, "; {peer} {} ({ratio:.0}x)", micros(theirs));
            }
        }
        if limit.is_finite() {
            judge(what, &text, &format!("at most {}", micros(limit)), figure <= limit);
        } else {
            println!("   {what}: {text}");
        }
    }
    let (each, one) = (number(&ours, "nll_of_64")? / 64.0, number(&ours, "nll")?);
    println!("   NLL of 64 points in a batch, each: {} ({:.1}x)", micros(each), one / each);
    let more = number(&ours, "fit")? / number(&ours, "fit_one_descent")? - 1.0;
    let text = format!("{:.0} %", 100.0 * more);
    judge("looking for other minima adds to a fit", &text, "at most 10 %", more <= 0.1);
    let share = 1.0 - number(&ours, "fit")? / number(&ours, "fit_and_read_covariance")?;
    let text = format!("{:.0} %", 100.0 * share);
    judge("share of the covariance in a fit with it", &text, "at most 25 %", share <= 0.25);
    let fits = number(&ours, "upper_limit_fits")?;
    judge("fits of a limit with bands", &format!("{fits:.0}"), "at most 28", fits <= 28.0);
    toys(&ours)?;
    first_fit(python, &script, workspace)?;
    for (peer, theirs) in &peers {
        let (init, fit) = (number(theirs, "nll_at_init")?, number(theirs, "nll_at_fit")?);
        let (our_init, our_fit) = (number(&ours, "nll_at_init")?, number(&ours, "nll_at_fit")?);
        let relative = (our_init - init).abs() / init.abs();
        println!("   NLL at the start differs from {peer}'s by {relative:.0e} relative");
        println!("   at the minimum {peer} stays {:.1e} above ours", fit - our_fit);
    }
    let kkt = number(&ours, "kkt")?;
    judge("projected gradient", &format!("{kkt:.0e}"), "below 1e-9", kkt < 1e-9);
    Ok(())
}

/// Compares toys that share their first step with the same toys one by one.
fn toys(ours: &Value) -> Result {
    let (together, alone) = (number(ours, "toys_1000")?, number(ours, "toys_1000_one_by_one")?);
    let ratio = alone / together;
    println!("   1,000 toy fits one by one: {} ({ratio:.2}x)", micros(alone));
    let differ = number(ours, "toys_differ")?;
    judge("minima of toys differ by", &format!("{differ:.0e}"), "below 1e-9", differ < 1e-9);
    let kkt = number(ours, "toys_kkt")?;
    judge("projected gradient of toys", &format!("{kkt:.0e}"), "below 1e-9", kkt < 1e-9);
    Ok(())
}

/// The time from the start of a process to the end of its first fit.
fn first_fit(python: &Path, script: &str, workspace: &Path) -> Result {
    let ours = wall(20, || {
        let mut command = Command::new(root().join("target/release/histfactory"));
        command.arg("fit").arg(workspace).args(["--format", "json"]);
        command
    })?;
    let mut text = format!("{:.1} ms", ours * 1e3);
    for (peer, runs) in [("nextstat", 3), ("pyhf-jax", 1)] {
        let theirs = wall(runs, || {
            let mut command = Command::new(python);
            command.args([script, peer]).arg(workspace).arg("first-fit");
            command.env("JAX_PLATFORMS", "cpu");
            command
        })?;
        let _ = write!(text, "; {peer} {:.0} ms ({:.0}x)", theirs * 1e3, theirs / ours);
    }
    judge("process start to first fit", &text, "under 25 ms", ours < 0.025);
    Ok(())
}

fn wall(runs: usize, command: impl Fn() -> Command) -> Result<f64> {
    let mut seconds = Vec::new();
    for _ in 0..runs {
        let begin = Instant::now();
        output(&mut command())?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    Ok(median(&seconds))
}

fn figures(command: &mut Command) -> Result<Value> {
    let text = output(command)?;
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))
}

fn number(figures: &Value, key: &str) -> Result<f64> {
    figures[key].as_f64().ok_or_else(|| format!("no figure `{key}` in {figures}"))
}

fn micros(figure: f64) -> String {
    match figure {
        figure if figure < 1e3 => format!("{figure:.1} µs"),
        figure if figure < 1e6 => format!("{:.2} ms", figure / 1e3),
        figure => format!("{:.2} s", figure / 1e6),
    }
}

fn shared() -> Option<PathBuf> {
    shared_workspace("workspace_tHu.json")
}

/// A workspace that must not be published here.
pub(super) fn shared_workspace(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("HISTFACTORY_SHARED_DATA").map(PathBuf::from);
    let beside =
        root().ancestors().map(|ancestor| ancestor.join("shared/data")).find(|f| f.is_dir());
    let path = given.or(beside)?.join("workspaces").join(name);
    path.is_file().then_some(path)
}

/// The other tools in a separate environment below `target`.
pub(super) fn environment() -> Result<PathBuf> {
    let folder = root().join("target/python-histfactory");
    let python = folder.join("bin/python");
    let record = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&record).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    if exists("uv") {
        let mut venv = Command::new("uv");
        step(
            "a Python environment for the peers",
            venv.args(["venv", "--quiet", "--clear"]).arg(&folder),
        )?;
        let mut install = Command::new("uv");
        install.args(["pip", "install", "--quiet", "--python"]).arg(&python).args(PACKAGES);
        step("pyhf, JAX and nextstat", &mut install)?;
    } else {
        let mut venv = Command::new("python3");
        step("a Python environment for the peers", venv.args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        step("pyhf, JAX and nextstat", install.args(PACKAGES))?;
    }
    std::fs::write(&record, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}
