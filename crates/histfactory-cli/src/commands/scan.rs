//! `histfactory scan`: a parameter's profile likelihood.

use histfactory::{Fit, FitOptions, Model};
use schemars::JsonSchema;
use serde::Serialize;

use super::fit::verdict;
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
    uncertainty: f64,
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
    let best = model.fit(model.observed(), &FitOptions::default().with_covariance())?;
    let range = range(settings, &model, &best, index)?;
    let points = profile(&model, &best, index, range, settings.points, printer)?;
    let document = ScanDocument {
        schema: Schema::of("histfactory-scan"),
        parameter: &model.parameter_names()[index],
        best_fit: best.theta[index],
        uncertainty: sigma(&best, index),
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

fn sigma(fit: &Fit, index: usize) -> f64 {
    fit.covariance.as_ref().map_or(0.0, |covariance| covariance.sigma(index)).max(0.0)
}

/// What was asked for, or three standard deviations within the bounds.
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
    let width = match sigma(best, index) {
        sigma if sigma > 0.0 => 3.0 * sigma,
        _ => (high - low) / 4.0,
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
    best: &Fit,
    index: usize,
    [from, to]: [f64; 2],
    count: usize,
    printer: &Printer,
) -> Result<Vec<ScanPoint>, Error> {
    let progress = Progress::new(count, "fits", printer);
    let steps = f64::from(u32::try_from(count - 1).expect("the number of points is limited"));
    let mut start = best.theta.clone();
    let mut points = Vec::with_capacity(count);
    for step in (0u32..).take(count) {
        let value = from + (to - from) * f64::from(step) / steps;
        start[index] = value;
        let options = FitOptions::default().fixing(index, value).from(&start);
        let fit = model.fit(model.observed(), &options)?;
        let delta_twice_nll = 2.0 * (fit.nll - best.nll);
        points.push(ScanPoint { value, delta_twice_nll, converged: fit.converged() });
        start = fit.theta;
        progress.advance(1);
    }
    Ok(points)
}

fn render(document: &ScanDocument<'_>) -> String {
    let mut table =
        Table::new(&[(("value"), Align::Right), ("−2 ln λ", Align::Right), ("", Align::Left)]);
    for point in &document.points {
        let note = if point.converged { "" } else { "not converged" };
        table.row([number(point.value), number(point.delta_twice_nll), note.to_owned()]);
    }
    let (name, best, width) = (document.parameter, document.best_fit, document.uncertainty);
    format!("{name} = {} ± {}\n\n{}", number(best), number(width), table.render())
}
