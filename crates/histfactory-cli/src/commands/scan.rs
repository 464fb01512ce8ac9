//! `histfactory scan`: a parameter's profile likelihood.

use histfactory::inference::Scan;
use histfactory::{Fit, FitOptions, Model};
use schemars::JsonSchema;
use serde::Serialize;

use super::fit::{uncertainty, verdict};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Schema, show};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::ScanSettings;
use crate::table::{Align, Table, number};
use crate::{opening, plot};

#[derive(Serialize, JsonSchema)]
pub(crate) struct ScanDocument<'a> {
    schema: Schema,
    parameter: &'a str,
    best_fit: f64,
    /// Null where the curvature does not determine it.
    uncertainty: Option<f64>,
    twice_nll: f64,
    points: Vec<ScanPoint>,
}

#[derive(Serialize, JsonSchema)]
struct ScanPoint {
    value: f64,
    /// Twice the logarithm of the likelihood ratio to the best fit.
    delta_twice_nll: f64,
    converged: bool,
}

pub(crate) fn scan(settings: &ScanSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    let index = match &settings.parameter {
        Some(name) => model.index_of(name)?,
        None => model.poi().ok_or(histfactory::EvaluationError::NoPoi)?,
    };
    let options = FitOptions::default().with_covariance().searching(settings.search);
    let mut best = model.fit(model.observed(), &options)?;
    let range = range(settings, &model, &best, index)?;
    let scan = profile(&model, index, range, settings, printer)?;
    if scan.best.nll < best.nll {
        // The scan found a lower minimum.
        best = model.fit(model.observed(), &options.from(&scan.best.theta))?;
    }
    let points = scan.points.iter().map(|point| ScanPoint {
        value: point.value,
        delta_twice_nll: point.t,
        converged: point.converged,
    });
    let points = points.collect();
    let document = ScanDocument {
        schema: Schema::new("histfactory-scan"),
        parameter: &model.parameter_names()[index],
        best_fit: best.theta[index],
        uncertainty: uncertainty(&best, index),
        twice_nll: 2.0 * best.nll,
        points,
    };
    show(&document, || render(&document), &settings.model.destination, printer)?;
    if let Some(path) = &settings.plot {
        let curve: Vec<[f64; 2]> =
            document.points.iter().map(|point| [point.value, point.delta_twice_nll]).collect();
        let svg = plot::scan(document.parameter, document.best_fit, &curve);
        output::plot(path, &svg, printer)?;
    }
    let failed = document.points.iter().filter(|point| !point.converged).count();
    if failed > 0 {
        printer.warning(&format!("{failed} of {} fits did not converge", document.points.len()));
        return Ok(Exit::NoAnswer);
    }
    Ok(verdict(&best, printer))
}

/// The requested range, or three standard deviations within the bounds.
fn range(
    settings: &ScanSettings,
    model: &Model,
    best: &Fit,
    index: usize,
) -> Result<[f64; 2], Error> {
    if let Some(range) = settings.range {
        return Ok(range);
    }
    let [low, high] = model.bounds()[index];
    let width = match uncertainty(best, index) {
        Some(sigma) if sigma > 0.0 => 3.0 * sigma,
        Some(_) | None => (high - low) / 4.0,
    };
    let centre = best.theta[index];
    let range = [(centre - width).max(low), (centre + width).min(high)];
    if range[0] < range[1] && range[0].is_finite() && range[1].is_finite() {
        return Ok(range);
    }
    Err(Error::Usage("there is no range to scan; give one with --range FROM TO".to_owned()))
}

fn profile(
    model: &Model,
    index: usize,
    [from, to]: [f64; 2],
    settings: &ScanSettings,
    printer: &Printer,
) -> Result<Scan, Error> {
    let count = settings.points;
    let progress = Progress::new(count, "values", printer);
    let steps = f64::from(u32::try_from(count - 1).expect("the number of points is limited"));
    let value = |step: u32| from + (to - from) * f64::from(step) / steps;
    let values: Vec<f64> = (0u32..).take(count).map(value).collect();
    let mut done = || progress.advance(1);
    Ok(model.scan_with(model.observed(), index, &values, settings.search, &mut done)?)
}

fn render(document: &ScanDocument<'_>) -> String {
    let mut table =
        Table::new(&[(("value"), Align::Right), ("−2 ln λ", Align::Right), ("", Align::Left)]);
    for point in &document.points {
        let note = if point.converged { "" } else { "not converged" };
        table.row([number(point.value), number(point.delta_twice_nll), note.to_owned()]);
    }
    let width = document.uncertainty.map_or_else(|| "unknown".to_owned(), number);
    let (name, best) = (document.parameter, number(document.best_fit));
    format!("{name} = {best} ± {width}\n\n{}", table.render())
}
