//! `histfactory upper-limit`: the upper limit on the parameter of interest.

use std::fmt::Write;

use histfactory::Model;
use histfactory::inference::{LimitOptions, TestKind, TestOptions, UpperLimit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema, finite, show};
use crate::plot::{LimitPoint, limit};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::UpperLimitSettings;
use crate::table::number;

#[derive(Serialize, JsonSchema)]
pub(crate) struct LimitDocument<'a> {
    schema: Schema,
    poi: &'a str,
    level: f64,
    test_stat: &'static str,
    /// The observed limit; null if there is none.
    observed: Option<f64>,
    /// At −2, −1, 0, 1 and 2 standard deviations; null where there is none.
    expected: [Option<f64>; 5],
    /// The limits that are null, with the reason of each.
    missing: Vec<MissingValue>,
    /// The number of fits.
    fits: usize,
    /// Circumstances that a reader of the result should know.
    notes: Vec<String>,
    /// CLs at every tested value.
    tested: Vec<TestedValue>,
}

#[derive(Serialize, JsonSchema)]
struct MissingValue {
    /// The band in standard deviations; null for the observed limit.
    band: Option<f64>,
    why: String,
}

#[derive(Serialize, JsonSchema)]
struct TestedValue {
    test_poi: f64,
    /// Null if only the expected data were fitted.
    #[serde(rename = "CLs_obs")]
    observed: Option<f64>,
    #[serde(rename = "CLs_exp")]
    expected: [f64; 5],
}

pub(crate) fn upper_limit(
    settings: &UpperLimitSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    let TestOptions { search, extend_bound } = settings.fits;
    let options =
        LimitOptions { level: settings.level, search, extend_bound, ..LimitOptions::default() };
    let found = model.upper_limit(model.observed(), &options)?;
    let document = document(&model, &found);
    show(&document, || render(&document), &settings.model.destination, printer)?;
    if let Some(path) = &settings.plot {
        let points = curve(&model, &found, settings, printer)?;
        let svg = limit(document.poi, found.level, found.observed, &points);
        output::plot(path, &svg, printer)?;
    }
    Ok(Exit::Ok)
}

fn document<'a>(model: &'a Model, found: &UpperLimit) -> LimitDocument<'a> {
    LimitDocument {
        schema: Schema::new("histfactory-upper-limit"),
        poi: model.poi().map_or("", |index| &model.parameter_names()[index]),
        level: found.level,
        test_stat: "qtilde",
        observed: finite(found.observed),
        expected: found.expected.map(finite),
        missing: found
            .missing
            .iter()
            .map(|missing| MissingValue { band: missing.band, why: missing.why.to_string() })
            .collect(),
        fits: found.fits,
        notes: found.notes.iter().map(ToString::to_string).collect(),
        tested: found
            .tested
            .iter()
            .map(|tested| TestedValue {
                test_poi: tested.mu,
                observed: tested.cls,
                expected: tested.expected,
            })
            .collect(),
    }
}

/// CLs at evenly spaced values, well past the limit.
fn curve(
    model: &Model,
    found: &UpperLimit,
    settings: &UpperLimitSettings,
    printer: &Printer,
) -> Result<Vec<LimitPoint>, Error> {
    let count = settings.points;
    let progress = Progress::new(count, "values", printer);
    let limits = found.expected.iter().take(4).chain([&found.observed]);
    let highest = 1.3 * limits.copied().filter(|limit| limit.is_finite()).fold(0.0, f64::max);
    let steps = f64::from(u32::try_from(count - 1).expect("the number of points is limited"));
    let mut points = Vec::with_capacity(count);
    for step in (0u32..).take(count) {
        let poi = highest * f64::from(step) / steps;
        let test = model.hypotest_with(model.observed(), poi, TestKind::QTilde, &settings.fits)?;
        let expected = test.expected.map(|values| values.cls);
        points.push(LimitPoint { poi, observed: test.observed.cls, expected });
        progress.advance(1);
    }
    Ok(points)
}

fn render(document: &LimitDocument<'_>) -> String {
    let limit = |limit: &Option<f64>| limit.map_or_else(|| "none".to_owned(), number);
    let bands: Vec<String> = document.expected.iter().map(limit).collect();
    let mut text = format!(
        "upper limit on {} at CLs = {}\n  observed  {}\n  expected  {}  (−2σ, −1σ, median, +1σ, +2σ)\n",
        document.poi,
        document.level,
        limit(&document.observed),
        bands.join("  "),
    );
    for missing in &document.missing {
        let which = missing.band.map_or("observed".to_owned(), |band| format!("{band:+}σ"));
        let _ = writeln!(text, "  no {which} limit: {}", missing.why);
    }
    text.push_str(&output::notes(&document.notes));
    text
}
