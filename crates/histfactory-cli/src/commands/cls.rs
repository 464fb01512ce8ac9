//! `histfactory cls`: CLs of a value of the parameter of interest.

use histfactory::Model;
use histfactory::inference::{Hypotest, TestKind};
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{Schema, show};
use crate::printer::Printer;
use crate::settings::{ClsSettings, Tested};
use crate::table::number;

/// `CLs_obs` and `CLs_exp` are those of `pyhf cls`.
#[derive(Serialize)]
struct ClsDocument<'a> {
    schema: Schema,
    #[serde(rename = "CLs_obs")]
    observed: f64,
    #[serde(rename = "CLs_exp")]
    expected: Vec<f64>,
    #[serde(rename = "CLsb")]
    signal_and_background: f64,
    #[serde(rename = "CLb")]
    background: f64,
    poi: &'a str,
    test_poi: f64,
    test_stat: &'static str,
    calctype: &'static str,
    /// The test statistic of the observed data.
    q: f64,
    q_asimov: f64,
    poi_hat: f64,
}

pub(crate) fn cls(settings: &ClsSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    let kind = match settings.statistic {
        Tested::Q => TestKind::Q,
        Tested::Qtilde => TestKind::QTilde,
    };
    let test = model.hypotest(model.observed(), settings.test_poi, kind)?;
    let document = asymptotic(&model, &test, settings);
    show(&document, || render(&document), &settings.model.destination, printer)?;
    Ok(Exit::Ok)
}

const fn name(statistic: Tested) -> &'static str {
    match statistic {
        Tested::Q => "q",
        Tested::Qtilde => "qtilde",
    }
}

fn poi(model: &Model) -> &str {
    model.poi().map_or("", |index| &model.parameter_names()[index])
}

fn asymptotic<'a>(model: &'a Model, test: &Hypotest, settings: &ClsSettings) -> ClsDocument<'a> {
    ClsDocument {
        schema: Schema::of("histfactory-cls"),
        observed: test.observed.cls,
        expected: test.expected.iter().map(|values| values.cls).collect(),
        signal_and_background: test.observed.clsb,
        background: test.observed.clb,
        poi: poi(model),
        test_poi: settings.test_poi,
        test_stat: name(settings.statistic),
        calctype: "asymptotics",
        q: test.statistic.value,
        q_asimov: test.asimov,
        poi_hat: test.statistic.mu_hat,
    }
}

fn render(document: &ClsDocument<'_>) -> String {
    let bands: Vec<String> = document.expected.iter().map(|cls| number(*cls)).collect();
    format!(
        "CLs of {} = {}\n  observed  {}\n  expected  {}  (−2σ, −1σ, median, +1σ, +2σ)\n\n\
         {} = {}, {} at the best fit: {}\n",
        document.poi,
        document.test_poi,
        number(document.observed),
        bands.join("  "),
        document.test_stat,
        number(document.q),
        document.poi,
        number(document.poi_hat),
    )
}
