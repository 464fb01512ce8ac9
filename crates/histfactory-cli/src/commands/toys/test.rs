//! A test with toys: distributions of the test statistic, and the p-values of the observed data.

use std::fmt::Write as _;
use std::path::Path;

use histfactory::Model;
use histfactory::inference::{InferenceError, TestKind};
use histfactory::special::normal_cdf;
use histfactory::toys::ToyOptions;
use schemars::JsonSchema;
use serde::Serialize;

use super::{draw, warn_of_failures};
use crate::commands::cls::expected;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::proportion::Proportion;
use crate::settings::{Destination, ToyTestSettings, ToysSettings};
use crate::shard::{Answers, Distribution, Question, TestQuestion, ToyStatistics};
use crate::table::{Align, Table, number};

/// Standard deviations of a normal variable, at whose probabilities quantiles are shown.
const SIGMAS: [f64; 5] = [-2.0, -1.0, 0.0, 1.0, 2.0];

#[derive(Serialize, JsonSchema)]
pub(crate) struct ToyTestDocument<'a> {
    schema: Schema,
    poi: &'a str,
    test_poi: f64,
    test_stat: &'a str,
    /// Of each hypothesis.
    toys: u64,
    seed: u64,
    /// The test statistic of the observed data.
    observed: f64,
    /// Toys of both hypotheses whose fits did not converge; they are in none of the numbers.
    failed: u64,
    /// The share of toys with the tested value that are at least as extreme as the observed data.
    #[serde(rename = "CLsb")]
    tested: Proportion,
    /// The same for toys of the alternative.
    #[serde(rename = "CLb")]
    alternative: Proportion,
    /// The quotient; null for discovery, where the p-value is `CLsb`.
    #[serde(rename = "CLs_obs")]
    cls: Option<Quotient>,
    /// CLs if the data were the alternative's −2, −1, 0, 1 and 2 standard deviations; null for discovery.
    #[serde(rename = "CLs_exp")]
    expected: Option<[f64; 5]>,
    /// Test statistics, in the order of the toys.
    tested_values: &'a [f64],
    alternative_values: &'a [f64],
    /// Remarks on the result.
    notes: &'a [String],
}

/// A quotient of two proportions.
#[derive(Serialize, JsonSchema)]
struct Quotient {
    value: f64,
    /// From the binomial standard errors of both; null if a proportion is zero.
    standard_error: Option<f64>,
}

/// The test statistics of one part of the toys.
pub(super) fn compute(
    model: &Model,
    toys: &ToyOptions,
    test: &ToyTestSettings,
    settings: &ToysSettings,
    printer: &mut Printer,
) -> Result<(Question, Answers), Error> {
    let discovery = test.kind == TestKind::Q0;
    let mu = if discovery { 0.0 } else { settings.test_poi.unwrap_or(1.0) };
    opening::check_tested(model, mu, printer)?;
    let count = usize::try_from(toys.count).unwrap_or(usize::MAX);
    let progress = Progress::new(count.saturating_mul(2), "toys", printer);
    let done = |some: u64| progress.advance(usize::try_from(some).unwrap_or(usize::MAX));
    let found = model.toy_test_with(model.observed(), mu, test.kind, toys, test.search, &done)?;
    let distribution =
        |values: Vec<f64>| Distribution { failed: toys.count - values.len() as u64, values };
    let question = TestQuestion {
        toys: settings.toys,
        seed: settings.seed,
        test_stat: test.statistic.clone(),
        test_poi: mu,
        search: test.search_name.clone(),
        observed: found.observed,
    };
    let answers = ToyStatistics {
        tested: distribution(found.tested),
        alternative: distribution(found.alternative),
    };
    Ok((Question::Test(question), Answers::Test(answers)))
}

pub(super) fn show(
    poi: &str,
    question: &TestQuestion,
    answers: &ToyStatistics,
    notes: &[String],
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let empty = |values: &Distribution| values.values.is_empty();
    if empty(&answers.tested) || empty(&answers.alternative) {
        return Err(InferenceError::NotFinite { what: "no toy's fits converged" }.into());
    }
    let document = document(poi, question, answers, notes);
    output::show(&document, || render(&document, answers), destination, printer)?;
    draw(plot, &question.test_stat, &answers.tested.values, question.observed, printer)?;
    warn_of_failures(document.failed, printer);
    Ok(Exit::Ok)
}

fn document<'a>(
    poi: &'a str,
    question: &'a TestQuestion,
    answers: &'a ToyStatistics,
    notes: &'a [String],
) -> ToyTestDocument<'a> {
    let share = |values: &[f64]| {
        let above = values.iter().filter(|value| **value >= question.observed).count();
        Proportion::new(above as u64, values.len() as u64)
    };
    let (tested, alternative) = (share(&answers.tested.values), share(&answers.alternative.values));
    let excludes = question.test_stat != "q0";
    let bands = || {
        let (tested, mut sorted) = (&answers.tested.values, answers.alternative.values.clone());
        sorted.sort_unstable_by(f64::total_cmp);
        [2.0, 1.0, 0.0, -1.0, -2.0].map(|sigma| expected(tested, &sorted, sigma))
    };
    ToyTestDocument {
        schema: Schema::new("histfactory-toy-test"),
        poi,
        test_poi: question.test_poi,
        test_stat: &question.test_stat,
        toys: question.toys,
        seed: question.seed,
        observed: question.observed,
        failed: answers.tested.failed + answers.alternative.failed,
        cls: excludes.then(|| quotient(&tested, &alternative)),
        expected: excludes.then(bands),
        tested,
        alternative,
        tested_values: &answers.tested.values,
        alternative_values: &answers.alternative.values,
        notes,
    }
}

fn quotient(tested: &Proportion, alternative: &Proportion) -> Quotient {
    let value = if alternative.value > 0.0 { tested.value / alternative.value } else { 0.0 };
    let relative = |part: &Proportion| part.standard_error / part.value;
    let both = tested.value > 0.0 && alternative.value > 0.0;
    let standard_error = both.then(|| value * relative(tested).hypot(relative(alternative)));
    Quotient { value, standard_error }
}

fn render(document: &ToyTestDocument<'_>, answers: &ToyStatistics) -> String {
    let ToyTestDocument { poi, test_stat, .. } = document;
    let mut text = format!(
        "{} toys of each hypothesis, seed {}; {test_stat} of {poi} = {}, observed: {}\n\n",
        document.toys,
        document.seed,
        document.test_poi,
        number(document.observed)
    );
    let right = Align::Right;
    let mut table = Table::new(&[
        ("toys", Align::Left),
        ("−2σ", right),
        ("−1σ", right),
        ("median", right),
        ("+1σ", right),
        ("+2σ", right),
        ("as extreme", right),
        ("share", right),
        ("standard error", right),
        ("95 % interval", Align::Left),
    ]);
    let tested = (format!("{poi} = {}", document.test_poi), &answers.tested, &document.tested);
    let other = ("alternative".to_owned(), &answers.alternative, &document.alternative);
    for (name, toys, share) in [tested, other] {
        let mut sorted = toys.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |sigma: f64| {
            number(crate::commands::cls::quantile(&sorted, normal_cdf(sigma)).unwrap_or(0.0))
        };
        let cells = [
            format!("{} of {}", share.count, share.of),
            number(share.value),
            number(share.standard_error),
            format!("{} to {}", number(share.low), number(share.high)),
        ];
        table.row([name].into_iter().chain(SIGMAS.map(at)).chain(cells));
    }
    text.push_str(&table.render());
    if let Some(cls) = &document.cls {
        let error =
            cls.standard_error.map_or(String::new(), |error| format!(" ± {}", number(error)));
        writeln!(text, "\nCLs  observed  {}{error}", number(cls.value))
            .expect("writing to a string");
    }
    if let Some(bands) = document.expected {
        let bands = bands.map(number).join("  ");
        writeln!(text, "     expected  {bands}  (−2σ, −1σ, median, +1σ, +2σ)")
            .expect("writing to a string");
    }
    text.push_str(&output::notes(document.notes));
    text
}
