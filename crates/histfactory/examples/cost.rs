//! One job, for counting its instructions: `cost WORKSPACE.json JOB SEARCH COUNT`.
//!
//! JOB is `fit`, `q0`, `limit`, `toys-q0` or `toys-qtilde`, SEARCH is `mirrored` or `descent`, and COUNT the number of
//! repetitions or toys. `valgrind --tool=callgrind cost …` with two counts gives the cost of one. Toys are drawn
//! at the background fit. A number in place of WORKSPACE.json is the seed of a synthetic workspace.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use histfactory::fit::Search;
use histfactory::inference::{LimitOptions, TestKind, TestOptions};
use histfactory::synthetic::{Limits, any};
use histfactory::toys::ToyOptions;
use histfactory::{FitOptions, Model, ModelOptions, Workspace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [path, job, search, count] = arguments[..] else {
        return Err("usage: cost WORKSPACE.json JOB SEARCH COUNT".into());
    };
    let workspace = match path.parse::<u64>() {
        Ok(seed) => any(seed, Limits::default()),
        Err(_) => Workspace::from_slice(&std::fs::read(path)?)?,
    };
    let model = Model::new(&workspace, &ModelOptions::default())?;
    let search = match search {
        "mirrored" => Search::Mirrored,
        "descent" => Search::Descent,
        other => return Err(format!("unknown search `{other}`").into()),
    };
    println!("{:e}", run(&model, job, search, count.parse()?)?);
    Ok(())
}

/// A sum over the results, so that none of them is left out.
fn run(
    model: &Model,
    job: &str,
    search: Search,
    count: u64,
) -> Result<f64, Box<dyn std::error::Error>> {
    let data = model.observed();
    let tests = TestOptions { search, ..TestOptions::default() };
    let once = || -> Result<f64, Box<dyn std::error::Error>> {
        Ok(match job {
            "fit" => model.fit(data, &FitOptions::default().searching(search))?.nll,
            "q0" => model.test_statistic_with(data, TestKind::Q0, 0.0, &tests)?.t,
            "limit" => {
                let options = LimitOptions { search, ..LimitOptions::default() };
                model.upper_limit(data, &options)?.observed
            }
            other => return Err(format!("unknown job `{other}`").into()),
        })
    };
    let (kind, mu) = match job {
        "toys-q0" => (TestKind::Q0, 0.0),
        "toys-qtilde" => (TestKind::QTilde, 1.0),
        _ => return (0..count).map(|_| once()).sum(),
    };
    let background = model.test_statistic_with(data, TestKind::Q0, 0.0, &tests)?.conditional;
    let toys = ToyOptions::new(count, 11);
    let found = model.toy_statistics_with(&background.theta, mu, kind, &toys, search, &|_| {})?;
    Ok(found.into_iter().flatten().sum())
}
