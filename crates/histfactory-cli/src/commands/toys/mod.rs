//! `histfactory toys`: toys, and what fits to them give: the fitted parameter of interest, or the p-values of
//! a test.

mod fits;
mod test;

use std::path::Path;

use histfactory::Model;
use histfactory::toys::ToyOptions;

use crate::cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema};
use crate::printer::Printer;
use crate::settings::{Destination, Part, ToysSettings};
use crate::shard::{self, Answers, FitsQuestion, Question, ShardDocument, TestQuestion};

pub(crate) use fits::ToysDocument;
pub(crate) use test::ToyTestDocument;

pub(crate) fn toys(settings: &ToysSettings, printer: &mut Printer) -> Result<Exit, Error> {
    if let Part::Cluster(on) = &settings.part {
        let workspace = opening::patched(&settings.model)?;
        return cluster::run(&cluster::Job::toys(settings, &workspace), on, printer);
    }
    let part = match &settings.part {
        Part::Shard(shard) => *shard,
        Part::Whole | Part::Cluster(_) => histfactory::toys::Shard::WHOLE,
    };
    let (model, record) = opening::recorded(&settings.model, printer)?;
    let options = ToyOptions::new(settings.toys, settings.seed).in_shard(part);
    let (question, answers) = compute(&model, &options, settings, printer)?;
    let document = ShardDocument {
        schema: Schema::new(shard::NAME),
        digest: String::new(),
        histfactory: env!("CARGO_PKG_VERSION").to_owned(),
        model: record,
        question,
        shard: part.to_string(),
        first: options.first,
        count: options.count,
        answers,
    };
    if matches!(settings.part, Part::Shard(_)) {
        return super::write_shard(document, &settings.model.destination, printer);
    }
    super::report(&document, &[], &settings.model.destination, settings.plot.as_deref(), printer)
}

fn compute(
    model: &Model,
    toys: &ToyOptions,
    settings: &ToysSettings,
    printer: &mut Printer,
) -> Result<(Question, Answers), Error> {
    match &settings.test {
        None => fits::compute(model, toys, settings, printer),
        Some(test) => test::compute(model, toys, test, settings, printer),
    }
}

/// Shows fits to toys.
pub(crate) fn show_fits(
    shard: &ShardDocument,
    (question, answers): (&FitsQuestion, &shard::ToyFits),
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    fits::show(&shard.model.poi, question, answers, destination, plot, printer)
}

/// Shows a test.
pub(crate) fn show_test(
    shard: &ShardDocument,
    (question, answers): (&TestQuestion, &shard::ToyStatistics),
    notes: &[String],
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    test::show(&shard.model.poi, question, answers, notes, destination, plot, printer)
}

/// Draws a distribution of toys.
fn draw(
    path: Option<&Path>,
    name: &str,
    values: &[f64],
    mark: f64,
    printer: &mut Printer,
) -> Result<(), Error> {
    match path {
        Some(path) => output::plot(path, &crate::plot::histogram(name, values, mark), printer),
        None => Ok(()),
    }
}

fn warn_of_failures(failed: u64, printer: &mut Printer) {
    if failed > 0 {
        printer.warning(&format!("{failed} toys did not converge and are left out"));
    }
}
