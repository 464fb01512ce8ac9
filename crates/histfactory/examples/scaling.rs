//! Measures combinations of a growing number of analyses, as one line of JSON for each size: `scaling
//! [PARAMETERS ...]`. Figures are the mean processor time of a call, in microseconds.
//!
//! `scaling --write PARAMETERS FILE` writes a combination for other programs.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use histfactory::fit::{Fitter, Search};
use histfactory::inference::LimitOptions;
use histfactory::synthetic::combination_of_analyses;
use histfactory::{FitOptions, Model, ModelOptions};
use serde_json::{Map, Value, json};

type Failure = Box<dyn std::error::Error>;

const SIZES: [usize; 6] = [181, 611, 1_060, 2_098, 5_000, 10_000];
const SEED: u64 = 1;
/// Calls are repeated for this many seconds of processor time, but at least three times.
const SECONDS: f64 = 0.5;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, parameters, file] = arguments.as_slice()
        && flag == "--write"
    {
        let workspace = combination_of_analyses(parameters.parse()?, SEED);
        std::fs::write(file, workspace.to_json())?;
        return Ok(());
    }
    let mut sizes = arguments.iter().map(|text| text.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    for parameters in sizes {
        println!("{}", figures(parameters)?);
    }
    Ok(())
}

fn figures(parameters: usize) -> Result<Value, Failure> {
    let workspace = combination_of_analyses(parameters, SEED);
    let begin = Instant::now();
    let model = Model::new(&workspace, &ModelOptions::default())?;
    let compile = begin.elapsed().as_secs_f64() * 1e6;
    let data = model.observed();
    let before = peak_megabytes();
    let mut row = Map::new();
    row.insert("parameters".to_owned(), json!(model.parameter_count()));
    row.insert("bins".to_owned(), json!(model.bin_count()));
    row.insert("compile".to_owned(), json!(compile));
    let mut fitter = Fitter::new(&model, data)?;
    let fit = fitter.fit(&FitOptions::default())?.require()?;
    let mut evaluator = model.evaluator(data);
    let mut measure = |name: &str, call: &mut dyn FnMut() -> Result<(), Failure>| {
        mean_micros(call).map(|figure| row.insert(name.to_owned(), json!(figure)))
    };
    measure("nll_and_gradient_of_100", &mut || {
        for _ in 0..100 {
            black_box(evaluator.nll_and_gradient(black_box(&fit.theta))?);
        }
        Ok(())
    })?;
    measure("fit", &mut || {
        black_box(fitter.fit(&FitOptions::default())?.require()?);
        Ok(())
    })?;
    measure("fit_one_descent", &mut || {
        black_box(fitter.fit(&FitOptions::default().searching(Search::Descent))?.require()?);
        Ok(())
    })?;
    measure("q0", &mut || {
        black_box(model.q0(data)?);
        Ok(())
    })?;
    measure("upper_limit", &mut || {
        black_box(model.upper_limit(data, &LimitOptions::default())?);
        Ok(())
    })?;
    let hundred = row["nll_and_gradient_of_100"].as_f64().unwrap_or(f64::NAN);
    row.insert("nll_and_gradient".to_owned(), json!(hundred / 100.0));
    row.insert("nll_at_fit".to_owned(), json!(fit.nll));
    row.insert("kkt".to_owned(), json!(fit.kkt));
    row.insert("iterations".to_owned(), json!(fit.iterations));
    // The memory that fits and limits used beyond the workspace itself.
    row.insert("megabytes".to_owned(), json!(peak_megabytes() - before));
    row.insert("peak_megabytes".to_owned(), json!(peak_megabytes()));
    Ok(Value::Object(row))
}

/// The peak memory of the process, where the system reports it.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
}

/// The mean over calls: the system counts processor time in steps of a few milliseconds.
fn mean_micros(call: &mut dyn FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    call()?;
    let begin = Instant::now();
    let start = on_processor(begin);
    let mut calls = 0.0;
    loop {
        call()?;
        calls += 1.0;
        let spent = on_processor(begin) - start;
        if calls >= 3.0 && spent > SECONDS * 1e6 {
            return Ok(spent / calls);
        }
    }
}

/// Processor time of this thread in microseconds, where the system reports it. Otherwise the elapsed time,
/// which includes other programs.
fn on_processor(begin: Instant) -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = status.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
    nanoseconds.map_or_else(|| begin.elapsed().as_secs_f64() * 1e6, |nanoseconds| nanoseconds / 1e3)
}
