//! Measures calls on one core, as one line of JSON: `speed WORKSPACE.json [SECONDS]`. Each figure is the
//! median over batches of calls, in microseconds; the toys use all cores.
//!
//! `speed --write FILE` writes the synthetic twin for which the figures are published.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use histfactory::derivative::Convention;
use histfactory::fit::{Covariance, Fit, FitError, Fitter, Search};
use histfactory::inference::{Dataset, LimitOptions};
use histfactory::synthetic::Twin;
use histfactory::toys::{BatchEvaluator, ToyOptions};
use histfactory::{Data, FitOptions, Model, ModelOptions, Workspace};
use rayon::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: speed WORKSPACE.json [SECONDS]")?;
    if path == "--write" {
        let file = arguments.next().ok_or("usage: speed --write FILE")?;
        std::fs::write(file, Twin::Combination.workspace(1).to_json())?;
        return Ok(());
    }
    let seconds: f64 = arguments.next().map_or(Ok(0.3), |text| text.parse())?;
    let budget = Duration::from_secs_f64(seconds);
    let json = std::fs::read(&path)?;
    let workspace = Workspace::from_slice(&json)?;
    let model = Model::new(&workspace, &ModelOptions::default())?;
    let data = model.observed();
    let poi = model.poi().ok_or("the workspace has no parameter of interest")?;

    let mut figures: Vec<(&str, f64)> = Vec::new();
    let mut measure = |name: &'static str, call: &mut dyn FnMut()| {
        figures.push((name, median_micros(budget, call)));
    };
    measure("parse", &mut || {
        black_box(Workspace::from_slice(&json)).ok();
    });
    measure("compile", &mut || {
        black_box(Model::new(&workspace, &ModelOptions::default())).ok();
    });
    let best = model.fit(data, &FitOptions::default())?;
    let mut evaluator = model.evaluator(data);
    measure("nll", &mut || {
        black_box(evaluator.nll(black_box(&best.theta))).ok();
    });
    measure("nll_and_gradient", &mut || {
        black_box(evaluator.nll_and_gradient(black_box(&best.theta))).ok();
    });
    let toys = model.toys(&best.theta, 64, 1)?;
    let points = best.theta.repeat(toys.len());
    let mut batch = BatchEvaluator::new(&model);
    measure("nll_of_64", &mut || {
        black_box(batch.nll(black_box(&points), &toys)).ok();
    });
    let mut yields = Vec::new();
    measure("nll_and_yield_gradient", &mut || {
        let convention = Convention::TemplatesFixed;
        let found = evaluator.nll_and_yield_gradient(&best.theta, convention, &mut yields);
        black_box(found).ok();
    });
    let mut matrix = evaluator.hessian(&best.theta)?;
    measure("hessian", &mut || {
        black_box(evaluator.hessian_into(black_box(&best.theta), &mut matrix)).ok();
    });
    let mut fitter = Fitter::new(&model, data)?;
    measure("fit", &mut || {
        black_box(fitter.fit(&FitOptions::default())).ok();
    });
    measure("fit_one_descent", &mut || {
        black_box(fitter.fit(&FitOptions::default().searching(Search::Descent))).ok();
    });
    measure("fit_background", &mut || {
        black_box(fitter.fit(&FitOptions::default().fixing(poi, 0.0))).ok();
    });
    measure("fit_with_covariance", &mut || {
        black_box(fitter.fit(&FitOptions::default().with_covariance())).ok();
    });
    measure("fit_and_read_covariance", &mut || {
        black_box(read(&mut fitter, |covariance| covariance.matrix().get(poi, poi)));
    });
    measure("fit_and_read_uncertainties", &mut || {
        black_box(read(&mut fitter, |covariance| covariance.sigma(poi)));
    });
    measure("upper_limit", &mut || {
        black_box(model.upper_limit(data, &LimitOptions::default())).ok();
    });
    measure("q0", &mut || {
        black_box(model.q0(data)).ok();
    });
    measure("asimov_significance_with_gradient", &mut || {
        let convention = Convention::TemplatesFixed;
        black_box(model.significance_with_gradient(Dataset::default(), convention)).ok();
    });
    measure("load", &mut || {
        black_box(load(&path));
    });
    let thousand = ToyOptions::new(1_000, 1);
    measure("toys_1000", &mut || {
        black_box(model.toy_fits(&best.theta, &thousand, &FitOptions::default())).ok();
    });
    measure("toys_1000_one_by_one", &mut || {
        black_box(one_by_one(&model, &best.theta, &thousand)).ok();
    });
    let [differ, kkt] = compare_toys(&model, &best.theta, &thousand)?;
    figures.push(("toys_differ", differ));
    figures.push(("toys_kkt", kkt));
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    figures
        .push(("upper_limit_fits", model.upper_limit(data, &LimitOptions::default())?.fits as f64));
    figures.push(("nll_at_init", model.nll(model.init(), data)?));
    figures.push(("nll_at_fit", best.nll));
    figures.push(("kkt", best.kkt));
    let text: Vec<String> =
        figures.iter().map(|(name, micros)| format!("\"{name}\": {micros:e}")).collect();
    println!("{{{}}}", text.join(", "));
    Ok(())
}

fn load(path: &str) -> Option<Model> {
    let workspace = Workspace::from_slice(&std::fs::read(path).ok()?).ok()?;
    Model::new(&workspace, &ModelOptions::default()).ok()
}

/// A fit, and a number of its covariance.
fn read(fitter: &mut Fitter<'_>, number: impl Fn(&Covariance) -> f64) -> Option<f64> {
    let fit = fitter.fit(&FitOptions::default().with_covariance()).ok()?;
    fit.covariance.as_ref().map(number)
}

/// The largest difference between toys fitted together and one by one, and the largest projected gradient.
fn compare_toys(model: &Model, theta: &[f64], toys: &ToyOptions) -> Result<[f64; 2], FitError> {
    let together = model.toy_fits(theta, toys, &FitOptions::default())?;
    let together: Vec<Fit> =
        together.into_iter().map(|toy| toy.map(|toy| toy.fit)).collect::<Result<_, _>>()?;
    let alone = one_by_one(model, theta, toys)?;
    let differences = together.iter().zip(&alone).map(|(one, two)| (one.nll - two.nll).abs());
    let kkt = together.iter().map(|fit| fit.kkt).fold(0.0, f64::max);
    Ok([differences.fold(0.0, f64::max), kkt])
}

/// The same toys, each fitted on its own.
fn one_by_one(model: &Model, theta: &[f64], toys: &ToyOptions) -> Result<Vec<Fit>, FitError> {
    let options = FitOptions::default().from(theta);
    let numbers: Vec<u64> = (0..toys.count).collect();
    let blocks = numbers.par_chunks(16).map(|numbers| {
        let data: Result<Vec<Data>, _> =
            numbers.iter().map(|number| model.toy(theta, toys.seed, *number)).collect();
        let data = data?;
        let mut fitter = Fitter::new(model, &data[0])?;
        let fit = |data| {
            fitter.set_data(data)?;
            fitter.fit(&options)
        };
        data.iter().map(fit).collect::<Result<Vec<Fit>, FitError>>()
    });
    Ok(blocks.collect::<Result<Vec<_>, _>>()?.concat())
}

fn median_micros(budget: Duration, call: &mut dyn FnMut()) -> f64 {
    let begin = Instant::now();
    call();
    let once = begin.elapsed().max(Duration::from_nanos(20));
    let batch = (2e-3 / once.as_secs_f64()).clamp(1.0, 1e5).round();
    let mut samples = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < budget || samples.len() < 3 {
        let start = Instant::now();
        let mut calls = 0.0;
        while calls < batch {
            call();
            calls += 1.0;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / batch);
    }
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
