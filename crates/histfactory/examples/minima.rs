//! Compares minima with the lowest of random starts, as one line of JSON for each model: `minima [--starts N]
//! [--toys N] [--synthetic FROM COUNT] WORKSPACE.json...`
//!
//! For each model it compares the fits of q̃ at μ = 0, 1 and 2 to the observed data, and q₀ and q̃ at μ = 1
//! of N toys drawn at the background fit. A positive number is how far a fit is above the lowest one, or how
//! far a statistic is too high (because of the fit with the tested value) or too low (because of the free
//! fit).

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::path::PathBuf;
use std::time::Instant;

use histfactory::fit::{Fitter, Search};
use histfactory::inference::TestKind;
use histfactory::synthetic::{Limits, any};
use histfactory::toys::ToyOptions;
use histfactory::{Data, FitOptions, Model, ModelOptions, Workspace};
use rayon::prelude::*;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Default)]
struct Settings {
    starts: usize,
    toys: u64,
    synthetic: [u64; 2],
    files: Vec<PathBuf>,
}

fn main() -> Result<(), Failure> {
    let settings = settings()?;
    let mut models: Vec<(String, Model)> = Vec::new();
    for file in &settings.files {
        let workspace = Workspace::from_slice(&std::fs::read(file)?)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match Model::new(&workspace, &ModelOptions::default()) {
            Ok(model) => models.push((name, model)),
            Err(error) => println!("{}", json!({"name": name, "error": error.to_string()})),
        }
    }
    let [from, count] = settings.synthetic;
    for seed in from..from + count {
        if let Ok(model) = Model::new(&any(seed, Limits::default()), &ModelOptions::default()) {
            models.push((format!("synthetic {seed}"), model));
        }
    }
    let rows: Vec<Value> = models
        .par_iter()
        .map(|(name, model)| {
            let row = compare(name, model, &settings);
            row.unwrap_or_else(|error| json!({"name": name, "error": error.to_string()}))
        })
        .collect();
    for row in &rows {
        println!("{row}");
    }
    Ok(())
}

fn settings() -> Result<Settings, Failure> {
    let mut settings = Settings { starts: 30, ..Settings::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64, Failure> {
            Ok(arguments.next().ok_or("a number is missing")?.parse()?)
        };
        match argument.as_str() {
            "--starts" => settings.starts = usize::try_from(number()?)?,
            "--toys" => settings.toys = number()?,
            "--synthetic" => settings.synthetic = [number()?, number()?],
            file => settings.files.push(file.into()),
        }
    }
    Ok(settings)
}

/// The lowest of random starts.
struct Lowest<'a> {
    model: &'a Model,
    poi: usize,
    starts: usize,
}

impl Lowest<'_> {
    fn nll(&self, data: &Data, mu: Option<f64>, from: &[f64]) -> Result<(f64, bool), Failure> {
        let search = Search::Global { starts: self.starts, seed: 7 };
        let mut options = FitOptions::default().searching(search).from(from);
        options = if let Some(mu) = mu {
            options.fixing(self.poi, mu)
        } else {
            let [low, high] = self.model.bounds()[self.poi];
            options.bounding(self.poi, [low.max(0.0), high])
        };
        let fit = Fitter::new(self.model, data)?.fit(&options)?.require()?;
        Ok((fit.nll, !fit.other_minima.is_empty()))
    }
}

fn compare(name: &str, model: &Model, settings: &Settings) -> Result<Value, Failure> {
    let poi = model.poi().ok_or("no parameter of interest")?;
    let lowest = Lowest { model, poi, starts: settings.starts };
    let data = model.observed();
    let mut above: f64 = 0.0;
    let mut several = 0;
    for mu in [0.0, 1.0, 2.0] {
        let found = model.test_statistic(data, TestKind::QTilde, mu)?;
        for (fit, mu) in [(&found.conditional, Some(mu)), (&found.free, None)] {
            let (nll, others) = lowest.nll(data, mu, &fit.theta)?;
            above = above.max(fit.nll - nll);
            several += usize::from(others);
        }
    }
    let mut row = json!({
        "name": name, "parameters": model.parameter_count(), "several": several, "above": above,
    });
    if settings.toys > 0 {
        let background = model.test_statistic(data, TestKind::Q0, 0.0)?.conditional;
        row["toys"] = json!([
            toys(&lowest, &background.theta, TestKind::Q0, 0.0, settings.toys)?,
            toys(&lowest, &background.theta, TestKind::QTilde, 1.0, settings.toys)?,
        ]);
    }
    Ok(row)
}

/// Compares statistics of toys with those of the lowest minima.
fn toys(
    lowest: &Lowest<'_>,
    theta: &[f64],
    kind: TestKind,
    mu: f64,
    count: u64,
) -> Result<Value, Failure> {
    let model = lowest.model;
    let options = ToyOptions::new(count, 11);
    let begin = Instant::now();
    let statistics = model.toy_statistics(theta, mu, kind, &options, &|_| {})?;
    let seconds = begin.elapsed().as_secs_f64();
    let drawn = model.toys(theta, count, options.seed)?;
    let differences: Vec<Option<f64>> = drawn
        .par_iter()
        .zip(&statistics)
        .map(|(data, statistic)| {
            let conditional = lowest.nll(data, Some(mu), theta).ok()?.0;
            let fit = {
                let options = FitOptions::default()
                    .searching(Search::Global { starts: lowest.starts, seed: 8 });
                let mut options = options.from(theta);
                if kind == TestKind::QTilde {
                    let [low, high] = model.bounds()[lowest.poi];
                    options = options.bounding(lowest.poi, [low.max(0.0), high]);
                }
                model.fit(data, &options).ok()?.require().ok()?
            };
            let (free, mu_hat) = (fit.nll.min(conditional), fit.theta[lowest.poi]);
            let t = (2.0 * (conditional - free)).max(0.0);
            let expected = match kind {
                TestKind::QTilde if mu_hat > mu => 0.0,
                TestKind::Q0 if mu_hat < 0.0 => 0.0,
                _ => t,
            };
            Some((*statistic)? - expected)
        })
        .collect();
    let known: Vec<f64> = differences.iter().flatten().copied().collect();
    let high: Vec<f64> = known.iter().copied().filter(|d| *d > 1e-6).collect();
    let low: Vec<f64> = known.iter().copied().filter(|d| *d < -1e-6).collect();
    Ok(json!({
        "kind": format!("{kind:?}"), "count": count, "compared": known.len(),
        "too_high": high.len(), "highest": high.iter().copied().fold(0.0, f64::max),
        "too_low": low.len(), "lowest": low.iter().copied().fold(0.0, f64::min),
        "milliseconds": 1e3 * seconds,
    }))
}
