//! Limits and tests of every signal of a publication, as one line of JSON each with a summary at the end:
//! `published FOLDER [STARTS [SAMPLE]]`. The folder has a folder for each region with a `BkgOnly.json` and
//! its patches. For SAMPLE signals, evenly spaced, minima are compared with the lowest of STARTS random
//! starts.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use histfactory::fit::{Fitter, Search};
use histfactory::inference::{LimitOptions, Note, TestKind};
use histfactory::workspace::Patch;
use histfactory::{FitOptions, Model, ModelError, ModelOptions, Workspace};
use rayon::prelude::*;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Signal {
    name: String,
    background: PathBuf,
    patch: PathBuf,
    compared: bool,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("usage: published FOLDER [STARTS [SAMPLE]]")?;
    let number = |at: usize, default: usize| match arguments.get(at) {
        None => Ok(default),
        Some(text) => text.parse::<usize>(),
    };
    let (starts, sample) = (number(1, 30)?, number(2, 60)?);
    let mut signals = signals(Path::new(folder))?;
    let every = signals.len().div_ceil(sample.max(1)).max(1);
    for signal in signals.iter_mut().step_by(every) {
        signal.compared = starts > 0 && sample > 0;
    }
    let begin = Instant::now();
    let rows: Vec<Value> = signals.par_iter().map(limits).collect();
    let seconds = begin.elapsed().as_secs_f64();
    let compared: Vec<Value> = signals
        .par_iter()
        .filter(|signal| signal.compared)
        .map(|signal| {
            minima(signal, starts).unwrap_or_else(|error| json!({"error": error.to_string()}))
        })
        .collect();
    for row in rows.iter().chain(&compared) {
        println!("{row}");
    }
    let count = |which: &dyn Fn(&Value) -> bool| rows.iter().filter(|row| which(row)).count();
    let worst = |row: &Value| row["worst"].as_f64().unwrap_or(0.0);
    println!(
        "{}",
        json!({
            "signals": rows.len(),
            "seconds": seconds,
            "threads": rayon::current_num_threads(),
            "exceptions": count(&|row| row["error"].is_string()),
            "without_poi": count(&|row| row["without_poi"] == true),
            "disagree": count(&|row| worst(row) > 1e-8),
            "worst": rows.iter().map(worst).fold(0.0, f64::max),
            "missing_bands": count(&|row| row["missing"].as_array().is_some_and(|m| !m.is_empty())),
            "several_minima": count(&|row| row["several"] == true),
            "tested": rows.iter().filter_map(|row| row["tested"].as_f64()).sum::<f64>(),
            "compared": compared.len(),
            "starts": starts,
            "higher": compared.iter().filter(|row| row["higher"].as_f64().is_none_or(|h| h > 1e-8)).count(),
        })
    );
    Ok(())
}

fn signals(folder: &Path) -> Result<Vec<Signal>, Failure> {
    let mut found = Vec::new();
    for region in std::fs::read_dir(folder)? {
        let region = region?;
        let background = region.path().join("BkgOnly.json");
        if !background.is_file() {
            continue;
        }
        for patch in std::fs::read_dir(region.path())? {
            let patch = patch?;
            let file = patch.file_name().to_string_lossy().into_owned();
            if file.starts_with("patch.") {
                let name = format!("{}/{file}", region.file_name().to_string_lossy());
                let (background, patch) = (background.clone(), patch.path());
                found.push(Signal { name, background, patch, compared: false });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn model(signal: &Signal) -> Result<Result<Model, ModelError>, Failure> {
    let mut document: Value = serde_json::from_slice(&std::fs::read(&signal.background)?)?;
    Patch::from_path(&signal.patch)?.apply(&mut document)?;
    Ok(Model::new(&Workspace::from_value(&document)?, &ModelOptions::default()))
}

/// The limits of a signal, and the tests at these values.
fn limits(signal: &Signal) -> Value {
    let row = || -> Result<Value, Failure> {
        let model = match model(signal)? {
            Ok(model) => model,
            Err(ModelError::NoSuchPoi { .. }) => {
                return Ok(json!({"name": signal.name, "without_poi": true}));
            }
            Err(error) => return Err(error.into()),
        };
        let data = model.observed();
        let test = model.hypotest(data, 1.0, TestKind::QTilde)?;
        let limit = model.upper_limit(data, &LimitOptions::default())?;
        let mut worst: f64 = 0.0;
        let mut several = limit.notes.iter().any(is_several);
        for (band, mu) in [limit.observed].into_iter().chain(limit.expected).enumerate() {
            if mu.is_finite() {
                let test = model.hypotest(data, mu, TestKind::QTilde)?;
                several |= test.notes.iter().any(is_several);
                let cls = match band {
                    0 => test.observed.cls,
                    band => test.expected[band - 1].cls,
                };
                worst = worst.max((cls - limit.level).abs());
            }
        }
        let missing: Vec<String> = limit
            .missing
            .iter()
            .map(|missing| format!("{:?}: {}", missing.band, missing.why))
            .collect();
        Ok(json!({
            "name": signal.name,
            "cls": test.observed.cls,
            "observed": limit.observed,
            "expected": limit.expected,
            "worst": worst,
            "missing": missing,
            "several": several,
            "tested": limit.tested.len(),
        }))
    };
    row().unwrap_or_else(|error| json!({"name": signal.name, "error": error.to_string()}))
}

fn is_several(note: &Note) -> bool {
    matches!(note, Note::SeveralMinima { .. })
}

/// Compares the minima of a test and of a limit with the lowest of random starts.
fn minima(signal: &Signal, starts: usize) -> Result<Value, Failure> {
    let Ok(model) = model(signal)? else { return Ok(json!({"name": signal.name, "higher": 0.0})) };
    let poi = model.poi().ok_or("no parameter of interest")?;
    let data = model.observed();
    let limit = model.upper_limit(data, &LimitOptions::default())?.observed;
    let mut fitter = Fitter::new(&model, data)?;
    let mut higher: f64 = 0.0;
    let mut values = Vec::new();
    let tested = [0.0, 1.0, limit];
    for mu in tested.into_iter().filter(|mu| mu.is_finite()) {
        let found = model.test_statistic(data, TestKind::QTilde, mu)?;
        for (fit, fixed) in [(&found.conditional, true), (&found.free, false)] {
            let search = Search::Global { starts, seed: 1 };
            let mut options = FitOptions::default().searching(search);
            if fixed {
                options = options.fixing(poi, mu);
            }
            let lowest = fitter.fit(&options)?.require()?;
            higher = higher.max(fit.nll - lowest.nll);
            let others: Vec<f64> = lowest.other_minima.iter().map(|nll| nll - lowest.nll).collect();
            if !others.is_empty() {
                values.push(json!({"mu": fixed.then_some(mu), "above": others, "ours": fit.nll - lowest.nll}));
            }
        }
    }
    Ok(json!({"name": signal.name, "higher": higher, "several": values}))
}
