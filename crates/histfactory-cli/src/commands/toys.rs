//! `histfactory toys`: toys drawn at a fit to the data, and fits to them.

use histfactory::inference::InferenceError;
use histfactory::toys::{ToyFit, ToyOptions};
use histfactory::{EvaluationError, FitOptions, Model};
use schemars::JsonSchema;
use serde::Serialize;

use super::fit::uncertainty;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Schema, show};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::ToysSettings;
use crate::table::number;
use crate::{opening, plot};

#[derive(Serialize, JsonSchema)]
pub(crate) struct ToysDocument<'a> {
    schema: Schema,
    poi: &'a str,
    toys: usize,
    seed: u64,
    /// The value of the parameter of interest with which they were drawn.
    drawn_at: f64,
    /// Toys whose fit did not converge; they are excluded from all numbers.
    failed: usize,
    mean: f64,
    standard_deviation: f64,
    /// Mean and standard deviation of (fitted − drawn) / uncertainty.
    pull_mean: f64,
    pull_width: f64,
    /// Each toy that converged.
    fits: Vec<ToyRow>,
}

#[derive(Serialize, JsonSchema)]
struct ToyRow {
    toy: u64,
    poi: f64,
    /// Null if the fit has none, as at a bound.
    uncertainty: Option<f64>,
    twice_nll: f64,
}

pub(crate) fn toys(settings: &ToysSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    let poi = model.poi().ok_or(EvaluationError::NoPoi)?;
    let mut options = FitOptions::default();
    if let Some(value) = settings.test_poi {
        opening::check_poi(&model, value)?;
        options = options.fixing(poi, value);
    }
    let start = model.fit(model.observed(), &options)?.require()?;
    let fits = thrown(&model, &start.theta, settings, printer)?;
    let document = document(&model, poi, start.theta[poi], settings, &fits);
    if document.fits.is_empty() {
        return Err(InferenceError::NotFinite { what: "no toy's fit converged" }.into());
    }
    show(&document, || render(&document), &settings.model.destination, printer)?;
    if let Some(path) = &settings.plot {
        let values: Vec<f64> = document.fits.iter().map(|row| row.poi).collect();
        output::plot(path, &plot::histogram(document.poi, &values, document.drawn_at), printer)?;
    }
    if document.failed > 0 {
        printer.warning(&format!("{} toys did not converge and are left out", document.failed));
    }
    Ok(Exit::Ok)
}

fn thrown(
    model: &Model,
    theta: &[f64],
    settings: &ToysSettings,
    printer: &Printer,
) -> Result<Vec<Option<ToyFit>>, Error> {
    let progress = Progress::new(settings.toys, "toys", printer);
    let done = |some: u64| progress.advance(usize::try_from(some).unwrap_or(usize::MAX));
    let toys = ToyOptions::new(settings.toys as u64, settings.seed);
    let options = FitOptions::default().with_covariance();
    let fits = model.toy_fits_with(theta, &toys, &options, &done)?;
    let converged = |toy: Result<ToyFit, _>| toy.ok().filter(|toy| toy.fit.converged());
    Ok(fits.into_iter().map(converged).collect())
}

fn document<'a>(
    model: &'a Model,
    poi: usize,
    drawn_at: f64,
    settings: &ToysSettings,
    fits: &[Option<ToyFit>],
) -> ToysDocument<'a> {
    let rows: Vec<ToyRow> = fits
        .iter()
        .flatten()
        .map(|toy| ToyRow {
            toy: toy.number,
            poi: toy.fit.theta[poi],
            uncertainty: uncertainty(&toy.fit, poi),
            twice_nll: 2.0 * toy.fit.nll,
        })
        .collect();
    let [mean, standard_deviation] = moments(rows.iter().map(|row| row.poi));
    // A toy at its bound has no uncertainty, and no pull.
    let sure = rows.iter().filter_map(|row| {
        let width = row.uncertainty.filter(|width| *width > 0.0)?;
        Some((row.poi - drawn_at) / width)
    });
    let [pull_mean, pull_width] = moments(sure);
    ToysDocument {
        schema: Schema::new("histfactory-toys"),
        poi: &model.parameter_names()[poi],
        toys: settings.toys,
        seed: settings.seed,
        drawn_at,
        failed: fits.len() - rows.len(),
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
