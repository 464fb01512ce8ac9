//! All signals of a published search: limits, tests at the limits, and minima compared with those of random
//! starts. pyhf tests some of the signals in the same run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Workshop, judge};
use crate::bench::histfactory::{environment, shared_workspace};
use xtask::shell::{Result, cargo, output, root, step};

const ARCHIVE: &str = "sbottom-all-signals.tar.gz";
const STARTS: &str = "30";
const SAMPLE: &str = "60";
/// Signals that pyhf tests.
const WITH_PYHF: usize = 3;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let Some(archive) = shared_workspace(ARCHIVE) else {
        println!("   {ARCHIVE} is not in shared/data/workspaces beside the checkout: skipped");
        return Ok(());
    };
    let build = ["build", "--release", "--quiet", "-p", "histfactory", "--example", "published"];
    step("bench published: the example", cargo().args(build))?;
    let folder = workshop.folder.path().join("published");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut unpack = Command::new("tar");
    step("bench published: unpack", unpack.arg("xzf").arg(&archive).arg("-C").arg(&folder))?;
    let example = root().join("target/release/examples/published");
    let text = output(Command::new(example).arg(&folder).args([STARTS, SAMPLE]))?;
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}")))
        .collect::<Result<_>>()?;
    let summary = rows.last().ok_or("no output")?;
    let number = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN);
    println!(
        "   {} signals on {} threads in {:.1} s: limits with bands and seven tests each",
        summary["signals"],
        summary["threads"],
        number("seconds"),
    );
    println!(
        "   {} without a parameter of interest, {} with a band without a limit, {} with several minima",
        summary["without_poi"], summary["missing_bands"], summary["several_minima"],
    );
    judge("exceptions", &summary["exceptions"].to_string(), "0", number("exceptions") == 0.0);
    let text = format!("{} (largest {:.1e})", summary["disagree"], number("worst"));
    judge("limits and tests apart by more than 1e-8", &text, "0", number("disagree") == 0.0);
    let text = format!("{} of {}", summary["higher"], summary["compared"]);
    judge("minima above the lowest of 30 random starts", &text, "0", number("higher") == 0.0);
    several(&rows);
    beside_pyhf(&folder, &rows)
}

/// The table of the signals in the sample with several minima.
fn several(rows: &[Value]) {
    println!("   signal | fits with several minima | ours above the lowest");
    for row in rows {
        let Some(several) = row["several"].as_array().filter(|several| !several.is_empty()) else {
            continue;
        };
        let name = row["name"].as_str().unwrap_or_default();
        let higher = row["higher"].as_f64().unwrap_or(f64::NAN);
        println!("   {name} | {} | {higher:.1e}", several.len());
    }
}

/// CLs at 1 from pyhf, with its default minimiser.
fn beside_pyhf(folder: &Path, rows: &[Value]) -> Result {
    let python = environment()?;
    let script = "import json, sys, time, jsonpatch, pyhf\n\
        doc = json.load(open(sys.argv[1])); patch = json.load(open(sys.argv[2]))\n\
        model = pyhf.Workspace(jsonpatch.apply_patch(doc, patch)).model()\n\
        data = pyhf.Workspace(jsonpatch.apply_patch(doc, patch)).data(model)\n\
        begin = time.perf_counter()\n\
        cls = float(pyhf.infer.hypotest(1.0, data, model))\n\
        print(json.dumps({'cls': cls, 'seconds': time.perf_counter() - begin}))";
    let tested: Vec<&Value> = rows.iter().filter(|row| row["cls"].is_number()).collect();
    for row in tested.iter().step_by((tested.len() / WITH_PYHF).max(1)).take(WITH_PYHF) {
        let name = row["name"].as_str().unwrap_or_default();
        let patch = folder.join(name);
        let background = patch.with_file_name("BkgOnly.json");
        let mut command = Command::new(&python);
        command.arg("-c").arg(script).arg(background).arg(&patch);
        let text = output(&mut command)?;
        let theirs: Value = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
        println!(
            "   {name}: CLs at 1 {:.6}, pyhf {:.6} in {:.2} s",
            row["cls"].as_f64().unwrap_or(f64::NAN),
            theirs["cls"].as_f64().unwrap_or(f64::NAN),
            theirs["seconds"].as_f64().unwrap_or(f64::NAN),
        );
    }
    Ok(())
}
