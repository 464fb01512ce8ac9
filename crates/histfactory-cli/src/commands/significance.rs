//! `histfactory significance`: the significance with which the background alone is rejected.

use std::fmt::Write;

use histfactory::Model;
use histfactory::derivative::{Convention, WorkspaceGradient};
use histfactory::inference::{Dataset, Significance};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema, show};
use crate::printer::Printer;
use crate::settings::SignificanceSettings;
use crate::table::{Align, Table, number};

#[derive(Serialize, JsonSchema)]
pub(crate) struct SignificanceDocument<'a> {
    schema: Schema,
    poi: &'a str,
    data: &'static str,
    /// The signal strength in the expected data.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_poi: Option<f64>,
    significance: f64,
    p0: f64,
    q0: f64,
    poi_hat: f64,
    projected_gradient: f64,
    /// Circumstances that a reader of the result should know.
    notes: Vec<String>,
    /// Derivatives of q0, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    yields: Option<Yields<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Yields<'a> {
    /// The other numbers that change with a yield.
    convention: &'static str,
    /// An upper limit on the error of any derivative because the fits stopped early.
    error_bound: f64,
    derivatives: Vec<YieldRow<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct YieldRow<'a> {
    channel: &'a str,
    sample: &'a str,
    /// dq0/dy of each bin.
    dq0: Vec<f64>,
}

pub(crate) fn significance(
    settings: &SignificanceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    settings.asimov.map_or(Ok(()), |value| opening::check_poi(&model, value))?;
    let dataset = match settings.asimov {
        None => Dataset::Observed,
        Some(mu) => Dataset::Asimov { mu },
    };
    let found = if settings.yields {
        model.significance_with_gradient(dataset, Convention::default())?
    } else {
        model.significance_with(dataset, &settings.fits)?
    };
    let document = document(&model, &found, settings.asimov);
    show(&document, || render(&document), &settings.model.destination, printer)?;
    if found.q0 == 0.0 && settings.asimov.is_none() {
        printer.aside("there is a deficit, or nothing: no significance of an excess");
    }
    Ok(Exit::Ok)
}

fn document<'a>(
    model: &'a Model,
    found: &Significance,
    asimov: Option<f64>,
) -> SignificanceDocument<'a> {
    SignificanceDocument {
        schema: Schema::new("histfactory-significance"),
        poi: model.poi().map_or("", |index| &model.parameter_names()[index]),
        data: if asimov.is_some() { "asimov" } else { "observed" },
        test_poi: asimov,
        significance: found.z,
        p0: found.p0,
        q0: found.q0,
        poi_hat: found.mu_hat,
        projected_gradient: found.kkt,
        notes: found.notes.iter().map(ToString::to_string).collect(),
        yields: found.gradient.as_ref().map(|gradient| Yields {
            convention: "templates-fixed",
            error_bound: gradient.error,
            derivatives: rows(model, &gradient.q0),
        }),
    }
}

/// The derivatives of all samples in the model.
fn rows<'a>(model: &'a Model, gradient: &WorkspaceGradient) -> Vec<YieldRow<'a>> {
    let mut rows = Vec::new();
    for (channel, _) in model.channels() {
        for sample in model.samples() {
            if let Ok(dq0) = gradient.nominal(channel, sample) {
                rows.push(YieldRow { channel, sample, dq0: dq0.to_vec() });
            }
        }
    }
    rows
}

fn render(document: &SignificanceDocument<'_>) -> String {
    let what = match document.test_poi {
        None => "observed".to_owned(),
        Some(mu) => format!("expected with {} = {mu}", document.poi),
    };
    let mut text = format!(
        "{what}: {} standard deviations\n  p0 {}, q0 {}, {} at the best fit: {}\n",
        number(document.significance),
        number(document.p0),
        number(document.q0),
        document.poi,
        number(document.poi_hat),
    );
    text.push_str(&output::notes(&document.notes));
    let Some(yields) = &document.yields else { return text };
    let mut table = Table::new(&[
        ("channel", Align::Left),
        ("sample", Align::Left),
        ("dq0/dyield, bin by bin", Align::Left),
    ]);
    for row in &yields.derivatives {
        let numbers: Vec<String> = row.dq0.iter().map(|value| number(*value)).collect();
        table.row([row.channel.to_owned(), row.sample.to_owned(), numbers.join("  ")]);
    }
    write!(text, "\n{}", table.render()).expect("writing to a string");
    let bound = yields.error_bound;
    writeln!(text, "\ntemplates held; none is off by more than {bound:.1e}")
        .expect("writing to a string");
    text
}
