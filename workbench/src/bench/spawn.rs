//! The cost of a sample of `true`, compared with hyperfine without a shell.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::{Workshop, judge_interval, median};
use xtask::shell::{Result, install, output};

const ROUNDS: u32 = 40;
const RUNS: u32 = 400;
/// A second length separates what every sample costs from what a whole result costs once.
const FEW: u32 = 100;

pub(super) fn bench(workshop: &Workshop) -> Result {
    println!(
        "── bench spawn: `true`, {ROUNDS} rounds of {RUNS} and {FEW} runs, interleaved with hyperfine"
    );
    if !install("hyperfine", "hyperfine") {
        return Err("hyperfine is not installed, and apt-get could not install it".to_owned());
    }
    let version = output(Command::new("hyperfine").arg("--version"))?;
    let (mut ours_all, mut peers_all) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            ours_all.push(Figures::new(workshop, firstlight)?);
            peers_all.push(Figures::new(workshop, hyperfine)?);
        } else {
            peers_all.push(Figures::new(workshop, hyperfine)?);
            ours_all.push(Figures::new(workshop, firstlight)?);
        }
    }
    let version = version.trim();
    for (what, one, unit, scale) in Figures::ALL {
        let middle = |all: &[Figures]| scale * median(&all.iter().map(one).collect::<Vec<_>>());
        let (ours, peer) = (middle(&ours_all), middle(&peers_all));
        println!("   {what}: firstlight {ours:.0} {unit}, {version} {peer:.0} {unit}");
    }
    for (what, one, _, _) in &Figures::ALL[..2] {
        let pairs = ours_all.iter().zip(&peers_all);
        let ratios: Vec<f64> = pairs.map(|(ours, peer)| one(ours) / one(peer)).collect();
        let (low, high) = interval(&ratios);
        let figure = format!("{:.3} ({low:.3} to {high:.3}, 95 %)", median(&ratios));
        let what = format!("{what}, ratio");
        judge_interval(&what, &figure, "no more than hyperfine's", (low, high), 1.0);
    }
    Ok(())
}

/// The order-statistic interval of the median of forty values: from the 14th to the 27th.
fn interval(ratios: &[f64]) -> (f64, f64) {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[13], sorted[26])
}

/// Seconds.
struct Figures {
    /// The median that the tool reports.
    reported: f64,
    /// The elapsed time of a further sample.
    each: f64,
    /// The elapsed time of a result without its samples: start, sealing, check.
    once: f64,
}

/// A name, the figure, its unit, and how many of them are a second.
type Named = (&'static str, fn(&Figures) -> f64, &'static str, f64);

impl Figures {
    const ALL: [Named; 3] = [
        ("reported per sample", |figures| figures.reported, "µs", 1e6),
        ("elapsed for each further sample", |figures| figures.each, "µs", 1e6),
        ("elapsed once for a result", |figures| figures.once, "ms", 1e3),
    ];

    /// The figures of a tool, which returns the median that it reports.
    fn new(workshop: &Workshop, tool: fn(&Workshop, u32) -> Result<f64>) -> Result<Self> {
        let timed = |runs: u32| {
            let started = Instant::now();
            tool(workshop, runs).map(|reported| (reported, started.elapsed().as_secs_f64()))
        };
        let ((_, few), (reported, all)) = (timed(FEW)?, timed(RUNS)?);
        let each = (all - few) / f64::from(RUNS - FEW);
        Ok(Self { reported, each, once: few - f64::from(FEW) * each })
    }
}

fn firstlight(workshop: &Workshop, runs: u32) -> Result<f64> {
    let export = workshop.folder.path().join("cold.json");
    let (runs, path) = (runs.to_string(), export.display().to_string());
    let command = ["cold", "--runs", &runs, "--export-json", &path, "--", "true"];
    output(&mut workshop.firstlight(&command))?;
    let json = read(&export)?;
    let regime = &json["cases"][0]["arms"][0]["regimes"][0];
    Ok(regime["summary"]["wall"]["point"].as_f64().ok_or("no valid sample")? / 1e9)
}

fn hyperfine(workshop: &Workshop, runs: u32) -> Result<f64> {
    let export = workshop.folder.path().join("hyperfine.json");
    let runs = runs.to_string();
    let options = ["--shell=none", "--style=none", "--runs", &runs, "--export-json"];
    output(Command::new("hyperfine").args(options).arg(&export).arg("true"))?;
    let median = read(&export)?["results"][0]["median"].as_f64();
    Ok(median.ok_or("hyperfine wrote no median")?)
}

fn read(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
