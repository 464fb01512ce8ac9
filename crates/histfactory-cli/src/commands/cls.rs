//! `histfactory cls`: CLs of a value of the parameter of interest.

use histfactory::inference::{Hypotest, TestKind};
use histfactory::special::normal_cdf;
use histfactory::toys::{ToyOptions, ToyTest};
use histfactory::{FitOptions, Model};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema, show};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::{ClsSettings, Tested};
use crate::table::number;

/// `CLs_obs` and `CLs_exp` are those of `pyhf cls`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClsDocument<'a> {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    q_asimov: Option<f64>,
    poi_hat: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    toys: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// Circumstances that a reader of the result should know.
    notes: Vec<String>,
}

pub(crate) fn cls(settings: &ClsSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    opening::check_tested(&model, settings.test_poi, printer)?;
    let kind = match settings.statistic {
        Tested::Q => TestKind::Q,
        Tested::Qtilde => TestKind::QTilde,
    };
    let document = match settings.toys {
        None => {
            let test =
                model.hypotest_with(model.observed(), settings.test_poi, kind, &settings.fits)?;
            asymptotic(&model, &test, settings)
        }
        Some((toys, seed)) => with_toys(&model, kind, settings, toys, seed, printer)?,
    };
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
        schema: Schema::new("histfactory-cls"),
        observed: test.observed.cls,
        expected: test.expected.iter().map(|values| values.cls).collect(),
        signal_and_background: test.observed.clsb,
        background: test.observed.clb,
        poi: poi(model),
        test_poi: settings.test_poi,
        test_stat: name(settings.statistic),
        calctype: "asymptotics",
        q: test.statistic.value,
        q_asimov: Some(test.asimov),
        poi_hat: test.statistic.mu_hat,
        toys: None,
        seed: None,
        notes: test.notes.iter().map(ToString::to_string).collect(),
    }
}

fn with_toys<'a>(
    model: &'a Model,
    kind: TestKind,
    settings: &ClsSettings,
    toys: usize,
    seed: u64,
    printer: &mut Printer,
) -> Result<ClsDocument<'a>, Error> {
    let options = ToyOptions::new(toys as u64, seed);
    let progress = Progress::new(2 * toys, "toys", printer);
    let done = |some: u64| progress.advance(usize::try_from(some).unwrap_or(usize::MAX));
    let (data, search) = (model.observed(), settings.fits.search);
    let test = model.toy_test_with(data, settings.test_poi, kind, &options, search, &done)?;
    drop(progress);
    if test.failed > 0 {
        let (failed, all) = (test.failed, 2 * toys);
        printer.warning(&format!("{failed} of {all} toys did not converge and are left out"));
    }
    let best = model.fit(model.observed(), &FitOptions::default().searching(search))?;
    Ok(ClsDocument {
        schema: Schema::new("histfactory-cls"),
        observed: test.cls,
        expected: bands(&test).into(),
        signal_and_background: test.clsb,
        background: test.clb,
        poi: poi(model),
        test_poi: settings.test_poi,
        test_stat: name(settings.statistic),
        calctype: "toybased",
        q: test.observed,
        q_asimov: None,
        poi_hat: model.poi().map_or(0.0, |index| best.theta[index]),
        toys: Some(toys),
        seed: Some(seed),
        notes: model.notes_of_fit(&best)?.iter().map(ToString::to_string).collect(),
    })
}

fn bands(test: &ToyTest) -> [f64; 5] {
    let mut background = test.alternative.clone();
    background.sort_by(f64::total_cmp);
    [2.0, 1.0, 0.0, -1.0, -2.0].map(|sigma| expected(&test.tested, &background, sigma))
}

/// CLs where the test statistic of the background alone, whose values are sorted, lies `sigma` standard
/// deviations up.
pub(super) fn expected(tested: &[f64], background: &[f64], sigma: f64) -> f64 {
    let Some(q) = quantile(background, normal_cdf(sigma)) else { return 0.0 };
    let above = |values: &[f64]| values.iter().filter(|value| **value >= q).count();
    let share = |values: &[f64]| ratio(above(values), values.len());
    let (tail, rest) = (share(tested), share(background));
    if rest > 0.0 { tail / rest } else { 0.0 }
}

/// Between the two nearest of the sorted values.
pub(super) fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = u32::try_from(sorted.len().checked_sub(1)?).ok()?;
    let place = part * f64::from(last);
    let below = (0..=last).take_while(|index| f64::from(*index) <= place).last().unwrap_or(0);
    let low = sorted[below as usize];
    let high = sorted.get(below as usize + 1).copied().unwrap_or(low);
    Some(low + (place - f64::from(below)) * (high - low))
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

fn render(document: &ClsDocument<'_>) -> String {
    let bands: Vec<String> = document.expected.iter().map(|cls| number(*cls)).collect();
    format!(
        "CLs of {} = {}\n  observed  {}\n  expected  {}  (−2σ, −1σ, median, +1σ, +2σ)\n\n\
         {} = {}, {} at the best fit: {}\n{}",
        document.poi,
        document.test_poi,
        number(document.observed),
        bands.join("  "),
        document.test_stat,
        number(document.q),
        document.poi,
        number(document.poi_hat),
        output::notes(&document.notes),
    )
}
