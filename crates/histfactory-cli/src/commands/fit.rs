//! `histfactory fit`: the maximum-likelihood parameters, with the fit's diagnostics.

use std::collections::BTreeMap;
use std::fmt::Write;

use histfactory::inference::End;
use histfactory::{Fit, FitOptions, Model};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Schema, finite, show};
use crate::plot::Pull;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::FitSettings;
use crate::table::{Align, Table, number};
use crate::{opening, plot, pulled};

/// `mle_parameters` and `twice_nll` are those of `pyhf fit --value`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FitDocument<'a> {
    schema: Schema,
    mle_parameters: BTreeMap<&'a str, &'a [f64]>,
    twice_nll: f64,
    /// From the curvature at the minimum: zero for fixed parameters, null where the curvature does not
    /// determine it, as for a parameter at its bound.
    uncertainties: BTreeMap<&'a str, Vec<Option<f64>>>,
    /// Shift and remaining width of the constrained parameters, in units of their constraints.
    pulls: BTreeMap<&'a str, [Option<f64>; 2]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    minos: BTreeMap<&'a str, [Option<f64>; 2]>,
    fixed: Vec<&'a str>,
    at_bound: Vec<&'a str>,
    /// Held at zero, where the slope of their interpolation jumps and −log L rises on both sides.
    at_kink: Vec<&'a str>,
    /// Bins without a count whose rate is zero at the minimum, counted over all channels.
    at_border: Vec<usize>,
    /// Twice the negative log-likelihood of other minima that the fit found, in ascending order.
    other_minima: Vec<f64>,
    /// A combination of parameters that the data do not determine, with the distance of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    flat: Option<BTreeMap<&'a str, f64>>,
    /// Circumstances that a reader of the result should know.
    notes: Vec<String>,
    converged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint: Option<String>,
    projected_gradient: f64,
    edm: f64,
    iterations: usize,
}

pub(crate) fn fit(settings: &FitSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    let mut options = FitOptions::default().with_covariance().searching(settings.search);
    if !settings.minos.is_empty() && !settings.fixed.is_empty() {
        return Err(Error::Usage(
            "--minos fits all parameters and cannot go with --fix".to_owned(),
        ));
    }
    for (name, value) in &settings.fixed {
        options = options.fixing(model.index_of(name)?, *value);
    }
    let fit = model.fit(model.observed(), &options)?;
    let minos = intervals(&model, &settings.minos, printer)?;
    let pulls = pulled::pulls(&model, &fit)?;
    let document = document(&model, &fit, &pulls, minos)?;
    let text = || render(&model, &fit, &document, settings.value);
    show(&document, text, &settings.model.destination, printer)?;
    if let Some(path) = &settings.plot {
        output::plot(path, &plot::pulls(&pulls), printer)?;
    }
    Ok(verdict(&fit, printer))
}

/// Intervals from the likelihood ratio; a missing end lies beyond the parameter's bound.
fn intervals<'a>(
    model: &'a Model,
    names: &[String],
    printer: &Printer,
) -> Result<BTreeMap<&'a str, [Option<f64>; 2]>, Error> {
    let progress = Progress::new(names.len(), "intervals", printer);
    let mut found = BTreeMap::new();
    for name in names {
        let index = model.index_of(name)?;
        let interval = model.interval(model.observed(), index, 1.0)?;
        let end = |end: End| match end {
            End::Crossing(value) => Some(value),
            End::Bound(_) => None,
        };
        let ends = [end(interval.lower), end(interval.upper)];
        found.insert(model.parameter_names()[index].as_str(), ends);
        progress.advance(1);
    }
    Ok(found)
}

/// Shows a fit that did not converge, with the reason.
pub(crate) fn verdict(fit: &Fit, printer: &mut Printer) -> Exit {
    match fit.outcome.complaint() {
        None => Exit::Ok,
        Some(why) => {
            let gradient = fit.kkt;
            printer.warning(&format!("{why}; the projected gradient is {gradient:.1e}"));
            Exit::NoAnswer
        }
    }
}

fn document<'a>(
    model: &'a Model,
    fit: &'a Fit,
    pulls: &'a [Pull],
    minos: BTreeMap<&'a str, [Option<f64>; 2]>,
) -> Result<FitDocument<'a>, Error> {
    let names = model.parameter_names();
    let sigma = |index| uncertainty(fit, index);
    let held = (0..names.len()).filter(|index| !fit.free[*index]);
    let name = |(index, share): &(usize, f64)| (names[*index].as_str(), *share);
    Ok(FitDocument {
        schema: Schema::new("histfactory-fit"),
        mle_parameters: model.parameter_sets().map(|(name, set)| (name, &fit.theta[set])).collect(),
        twice_nll: 2.0 * fit.nll,
        uncertainties: model
            .parameter_sets()
            .map(|(name, set)| (name, set.map(sigma).collect()))
            .collect(),
        pulls: pulls
            .iter()
            .map(|pull| (pull.name.as_str(), [pull.shift, pull.width].map(finite)))
            .collect(),
        minos,
        fixed: held.map(|index| names[index].as_str()).collect(),
        at_bound: fit.at_bound.iter().map(|(index, _)| names[*index].as_str()).collect(),
        at_kink: fit.at_kink.iter().map(|index| names[*index].as_str()).collect(),
        at_border: fit.at_border.clone(),
        other_minima: fit.other_minima.iter().map(|nll| 2.0 * nll).collect(),
        flat: fit.flat.as_ref().map(|flat| flat.parameters.iter().map(name).collect()),
        notes: model.notes_of_fit(fit)?.iter().map(ToString::to_string).collect(),
        converged: fit.converged(),
        complaint: fit.outcome.complaint(),
        projected_gradient: fit.kkt,
        edm: fit.edm,
        iterations: fit.iterations,
    })
}

/// The standard deviation of a parameter: zero if it is fixed, `None` if it is unknown.
pub(crate) fn uncertainty(fit: &Fit, index: usize) -> Option<f64> {
    let covariance = fit.covariance.as_ref();
    covariance.map_or(if fit.free[index] { None } else { Some(0.0) }, |c| finite(c.sigma(index)))
}

fn render(model: &Model, fit: &Fit, document: &FitDocument<'_>, value: bool) -> String {
    let mut table = Table::new(&[
        ("parameter", Align::Left),
        ("fitted", Align::Right),
        ("±", Align::Right),
        ("pull", Align::Right),
        ("", Align::Left),
    ]);
    for (index, name) in model.parameter_names().iter().enumerate() {
        let sigma = fit.covariance.as_ref().map(|matrix| matrix.sigma(index));
        let sigma = sigma.filter(|sigma| !sigma.is_nan());
        let sigma = sigma.filter(|sigma| *sigma > 0.0).map(number).unwrap_or_default();
        let pull = document.pulls.get(name.as_str());
        let pull = pull.and_then(|[shift, _]| *shift).map(|shift| format!("{shift:+.2}"));
        let pull = pull.unwrap_or_default();
        let note = if document.at_bound.contains(&name.as_str()) {
            "at its bound"
        } else if document.at_kink.contains(&name.as_str()) {
            "at a kink of its interpolation"
        } else if fit.free[index] {
            ""
        } else {
            "fixed"
        };
        // Values within the fit's tolerance are shown as zero.
        let fitted = if fit.theta[index].abs() < 1e-8 { 0.0 } else { fit.theta[index] };
        table.row([name.clone(), number(fitted), sigma, pull, note.to_owned()]);
    }
    let mut text = table.render();
    for (name, [lower, upper]) in &document.minos {
        let side = |value: &Option<f64>| value.map_or_else(|| "its bound".to_owned(), number);
        let (lower, upper) = (side(lower), side(upper));
        writeln!(text, "\n{name}: from {lower} to {upper} (likelihood ratio)")
            .expect("writing to a string");
    }
    if value {
        writeln!(text, "\n−2 log L: {:.6}", 2.0 * fit.nll).expect("writing to a string");
    }
    let state = if fit.converged() { "converged" } else { "NOT converged" };
    writeln!(
        text,
        "\n{state} after {} iterations: projected gradient {:.1e}, distance to the minimum {:.1e}",
        fit.iterations, fit.kkt, fit.edm
    )
    .expect("writing to a string");
    text.push_str(&output::notes(&document.notes));
    text
}
