//! Combinations of a growing number of analyses: the growth of evaluations, fits, tests and limits with the
//! number of parameters. nextstat fits the smaller ones in the same run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Workshop, judge};
use crate::bench::histfactory::environment;
use xtask::shell::{Result, cargo, output, root, step};

/// The limits at [`AT`] parameters: milliseconds, with megabytes last.
const WANTED: [(&str, &str, f64); 5] = [
    ("NLL and gradient", "nll_and_gradient", 0.06),
    ("fit", "fit", 60.0),
    ("q0", "q0", 150.0),
    ("limit with bands", "upper_limit", 2_000.0),
    ("memory", "peak_megabytes", 150.0),
];
const AT: f64 = 2_098.0;
/// The largest exponent in the number of parameters.
const EXPONENT: f64 = 1.5;
/// nextstat's time for one fit grows quickly.
const MOST_FOR_NEXTSTAT: f64 = 1_100.0;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let build = ["build", "--release", "--quiet", "-p", "histfactory", "--example", "scaling"];
    step("bench scaling: the example", cargo().args(build))?;
    let example = root().join("target/release/examples/scaling");
    // One process for each size, because memory is counted from its start.
    let mut rows: Vec<Value> = Vec::new();
    for parameters in ["181", "611", "1060", "2098", "5000", "10000"] {
        let text = output(Command::new(&example).arg(parameters))?;
        rows.push(serde_json::from_str(text.trim()).map_err(|error| format!("{text}: {error}"))?);
    }
    println!("── bench scaling: combinations of analyses, one core");
    println!("   parameters | bins | NLL and gradient | fit | q0 | limit with bands | memory");
    for row in &rows {
        println!(
            "   {} | {} | {:.3} ms | {:.2} ms | {:.1} ms | {:.0} ms | {:.0} MB",
            row["parameters"],
            row["bins"],
            number(row, "nll_and_gradient"),
            number(row, "fit"),
            number(row, "q0"),
            number(row, "upper_limit"),
            number(row, "peak_megabytes"),
        );
    }
    for (what, key, limit) in WANTED {
        let exponent = exponent(&rows, key);
        if let Some(row) = rows.iter().find(|row| row["parameters"].as_f64() == Some(AT)) {
            let figure = number(row, key);
            let unit = if key == "peak_megabytes" { "MB" } else { "ms" };
            let text = format!("{figure:.3} {unit}");
            judge(what, &text, &format!("at most {limit} {unit} at {AT}"), figure <= limit);
        }
        let text = format!("{exponent:.2}");
        judge(&format!("exponent of {what}"), &text, "at most 1.5", exponent <= EXPONENT);
    }
    let kkt = rows.iter().map(|row| row["kkt"].as_f64().unwrap_or(f64::NAN)).fold(0.0, f64::max);
    judge("projected gradient", &format!("{kkt:.0e}"), "below 1e-9", kkt < 1e-9);
    beside_nextstat(workshop.folder.path(), &example, &rows)
}

/// In milliseconds, or megabytes.
fn number(row: &Value, key: &str) -> f64 {
    let figure = row[key].as_f64().unwrap_or(f64::NAN);
    if key == "peak_megabytes" { figure } else { figure / 1e3 }
}

/// The slope of a straight line through the logarithms.
fn exponent(rows: &[Value], key: &str) -> f64 {
    let points: Vec<[f64; 2]> = rows
        .iter()
        .map(|row| [row["parameters"].as_f64().unwrap_or(f64::NAN).ln(), number(row, key).ln()])
        .collect();
    let count = f64::from(u32::try_from(points.len()).unwrap_or(u32::MAX));
    let mean = |at: usize| points.iter().map(|point| point[at]).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(1));
    let along: f64 = points.iter().map(|point| (point[0] - x) * (point[1] - y)).sum();
    along / points.iter().map(|point| (point[0] - x).powi(2)).sum::<f64>()
}

fn beside_nextstat(folder: &Path, example: &Path, rows: &[Value]) -> Result {
    let python = environment()?;
    let script = "import json, sys, time, pathlib, nextstat\n\
        model = nextstat.from_pyhf(pathlib.Path(sys.argv[1]).read_text())\n\
        begin = time.perf_counter()\n\
        fit = nextstat.fit(model)\n\
        print(json.dumps({'nll': fit.nll, 'seconds': time.perf_counter() - begin}))";
    for row in rows {
        let parameters = row["parameters"].as_f64().unwrap_or(f64::NAN);
        if parameters > MOST_FOR_NEXTSTAT {
            continue;
        }
        let file = folder.join(format!("combination-{parameters}.json"));
        output(Command::new(example).arg("--write").arg(parameters.to_string()).arg(&file))?;
        let found = output(Command::new(&python).arg("-c").arg(script).arg(&file));
        match found {
            Ok(text) => {
                let theirs: Value =
                    serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
                let seconds = theirs["seconds"].as_f64().unwrap_or(f64::NAN);
                let ours = number(row, "fit") / 1e3;
                println!(
                    "   nextstat, fit with {parameters} parameters: {seconds:.2} s ({:.0}x), {:.1e} above our minimum",
                    seconds / ours,
                    theirs["nll"].as_f64().unwrap_or(f64::NAN)
                        - row["nll_at_fit"].as_f64().unwrap_or(f64::NAN),
                );
            }
            Err(error) => println!("   nextstat fails with {parameters} parameters: {error}"),
        }
    }
    Ok(())
}
