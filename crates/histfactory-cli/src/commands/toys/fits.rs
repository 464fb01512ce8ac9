//! Toys drawn at a fit to the data, and the fitted parameter of interest of each.

use std::path::Path;

use histfactory::inference::InferenceError;
use histfactory::toys::{ToyFit, ToyOptions};
use histfactory::{EvaluationError, FitError, FitOptions, Model};
use schemars::JsonSchema;
use serde::Serialize;

use super::{draw, warn_of_failures};
use crate::commands::fit::uncertainty;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::{Destination, ToysSettings};
use crate::shard::{Answers, FitsQuestion, Question, ToyFits, ToyRow};
use crate::table::number;

#[derive(Serialize, JsonSchema)]
pub(crate) struct ToysDocument<'a> {
    schema: Schema,
    poi: &'a str,
    toys: u64,
    seed: u64,
    /// The value of the parameter of interest with which they were drawn.
    drawn_at: f64,
    /// Toys whose fit did not converge; they are in none of the numbers.
    failed: u64,
    mean: f64,
    standard_deviation: f64,
    /// Mean and standard deviation of (fitted − drawn) / uncertainty.
    pull_mean: f64,
    pull_width: f64,
    /// Each toy that converged.
    fits: &'a [ToyRow],
}

/// The fits of one part of the toys.
pub(super) fn compute(
    model: &Model,
    toys: &ToyOptions,
    settings: &ToysSettings,
    printer: &mut Printer,
) -> Result<(Question, Answers), Error> {
    let poi = model.poi().ok_or(EvaluationError::NoPoi)?;
    let mut options = FitOptions::default();
    if let Some(value) = settings.test_poi {
        opening::check_poi(model, value)?;
        options = options.fixing(poi, value);
    }
    let start = model.fit(model.observed(), &options)?.require()?;
    let progress =
        Progress::new(usize::try_from(toys.count).unwrap_or(usize::MAX), "toys", printer);
    let covariance = FitOptions::default().with_covariance();
    let row = |toy: Result<ToyFit, FitError>| {
        progress.advance(1);
        let toy = toy.ok().filter(|toy| toy.fit.converged())?;
        Some(ToyRow {
            toy: toy.number,
            poi: toy.fit.theta[poi],
            uncertainty: uncertainty(&toy.fit, poi),
            twice_nll: 2.0 * toy.fit.nll,
        })
    };
    let rows = model.toy_fits_with(&start.theta, toys, &covariance, row)?;
    let fits: Vec<ToyRow> = rows.into_iter().flatten().collect();
    let question = FitsQuestion {
        toys: settings.toys,
        seed: settings.seed,
        test_poi: settings.test_poi,
        drawn_at: start.theta[poi],
    };
    let failed = toys.count - fits.len() as u64;
    Ok((Question::Fits(question), Answers::Fits(ToyFits { failed, fits })))
}

pub(super) fn show(
    poi: &str,
    question: &FitsQuestion,
    answers: &ToyFits,
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    if answers.fits.is_empty() {
        return Err(InferenceError::NotFinite { what: "no toy's fit converged" }.into());
    }
    let document = document(poi, question, answers);
    output::show(&document, || render(&document), destination, printer)?;
    let values: Vec<f64> = document.fits.iter().map(|row| row.poi).collect();
    draw(plot, poi, &values, document.drawn_at, printer)?;
    warn_of_failures(document.failed, printer);
    Ok(Exit::Ok)
}

fn document<'a>(poi: &'a str, question: &FitsQuestion, answers: &'a ToyFits) -> ToysDocument<'a> {
    let rows = &answers.fits;
    let [mean, standard_deviation] = moments(rows.iter().map(|row| row.poi));
    // A toy at its bound has no uncertainty, and no pull.
    let sure = rows.iter().filter_map(|row| {
        let width = row.uncertainty.filter(|width| *width > 0.0)?;
        Some((row.poi - question.drawn_at) / width)
    });
    let [pull_mean, pull_width] = moments(sure);
    ToysDocument {
        schema: Schema::new("histfactory-toys"),
        poi,
        toys: question.toys,
        seed: question.seed,
        drawn_at: question.drawn_at,
        failed: answers.failed,
        mean,
        standard_deviation,
        pull_mean,
        pull_width,
        fits: rows,
    }
}

/// Mean and standard deviation; zero if there are too few values.
fn moments(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let count = f64::from(u32::try_from(values.clone().count()).unwrap_or(u32::MAX));
    if count == 0.0 {
        return [0.0, 0.0];
    }
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    [mean, (squares / (count - 1.0).max(1.0)).sqrt()]
}

fn render(document: &ToysDocument<'_>) -> String {
    format!(
        "{} toys with {} = {}, seed {}\n  fitted   {} ± {}\n  pulls    {:+.3} ± {:.3}\n",
        document.toys,
        document.poi,
        number(document.drawn_at),
        document.seed,
        number(document.mean),
        number(document.standard_deviation),
        document.pull_mean,
        document.pull_width,
    )
}
