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

pub(super) fn bench(workshop: &Workshop) -> Result {
    println!("── bench spawn: `true`, {ROUNDS} rounds of {RUNS} runs, interleaved with hyperfine");
    if !install("hyperfine", "hyperfine") {
        return Err("hyperfine is not installed, and apt-get could not install it".to_owned());
    }
    let version = output(Command::new("hyperfine").arg("--version"))?;
    let (mut reported, mut elapsed) = (Vec::new(), Vec::new());
    let (mut ours_all, mut peers_all) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (ours, peer) = if round % 2 == 0 {
            let ours = firstlight(workshop)?;
            (ours, hyperfine(workshop)?)
        } else {
            let peer = hyperfine(workshop)?;
            (firstlight(workshop)?, peer)
        };
        reported.push(ours.median / peer.median);
        elapsed.push(ours.per_run / peer.per_run);
        ours_all.push(ours);
        peers_all.push(peer);
    }
    let micros = |values: &[Figures], one: fn(&Figures) -> f64| {
        median(&values.iter().map(one).collect::<Vec<_>>()) * 1e6
    };
    println!(
        "   reported per sample: firstlight {:.0} µs, {} {:.0} µs",
        micros(&ours_all, |f| f.median),
        version.trim(),
        micros(&peers_all, |f| f.median),
    );
    println!(
        "   elapsed per sample, everything included: firstlight {:.0} µs, hyperfine {:.0} µs",
        micros(&ours_all, |f| f.per_run),
        micros(&peers_all, |f| f.per_run),
    );
    for (what, ratios) in [("reported time, ratio", reported), ("elapsed time, ratio", elapsed)] {
        let (low, high) = interval(&ratios);
        let figure = format!("{:.3} ({low:.3} to {high:.3}, 95 %)", median(&ratios));
        judge_interval(what, &figure, "no more than hyperfine's", (low, high), 1.0);
    }
    Ok(())
}

/// The order-statistic interval of the median of forty values: from the 14th to the 27th.
fn interval(ratios: &[f64]) -> (f64, f64) {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[13], sorted[26])
}

/// Seconds: the reported median, and the elapsed time divided by the runs.
struct Figures {
    median: f64,
    per_run: f64,
}

fn firstlight(workshop: &Workshop) -> Result<Figures> {
    let export = workshop.folder.path().join("cold.json");
    let (runs, path) = (RUNS.to_string(), export.display().to_string());
    let started = Instant::now();
    output(&mut workshop.firstlight(&[
        "cold",
        "--runs",
        &runs,
        "--export-json",
        &path,
        "--",
        "true",
    ]))?;
    let per_run = started.elapsed().as_secs_f64() / f64::from(RUNS);
    let json = read(&export)?;
    let regime = &json["cases"][0]["arms"][0]["regimes"][0];
    let median = regime["summary"]["wall"]["point"].as_f64().ok_or("no valid sample")? / 1e9;
    Ok(Figures { median, per_run })
}

fn hyperfine(workshop: &Workshop) -> Result<Figures> {
    let export = workshop.folder.path().join("hyperfine.json");
    let started = Instant::now();
    output(
        Command::new("hyperfine")
            .args(["--shell=none", "--style=none", "--runs", &RUNS.to_string(), "--export-json"])
            .arg(&export)
            .arg("true"),
    )?;
    let per_run = started.elapsed().as_secs_f64() / f64::from(RUNS);
    let json = read(&export)?;
    let median = json["results"][0]["median"].as_f64().ok_or("hyperfine wrote no median")?;
    Ok(Figures { median, per_run })
}

fn read(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
