//! `histfactory limits`: the upper limits of every signal of a patch set, on all cores.

use histfactory::inference::{LimitOptions, TestOptions};
use histfactory::toys::Shard;
use histfactory::workspace::{Algorithm, PatchSetEntry, digest};
use histfactory::{Model, Workspace};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{report, write_shard};
use crate::cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{self, Schema, finite};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::{Destination, LimitsSettings, Part};
use crate::shard::{self, Answers, LimitsQuestion, Question, ShardDocument, SignalRow};
use crate::table::{Align, Table, number};

#[derive(Serialize, JsonSchema)]
pub(crate) struct LimitsDocument<'a> {
    schema: Schema,
    poi: &'a str,
    level: f64,
    test_stat: &'static str,
    /// In the order of the patch set.
    signals: &'a [SignalRow],
}

pub(crate) fn limits(settings: &LimitsSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::document(&settings.model.source)?;
    let set = opening::patch_set(&settings.patch_set)?;
    set.verify(&document)?;
    let text = opening::json(&settings.patch_set)?;
    if let Part::Cluster(on) = &settings.part {
        return cluster::run(&cluster::Job::limits(settings, &document, &text), on, printer);
    }
    let part = match &settings.part {
        Part::Shard(shard) => *shard,
        Part::Whole | Part::Cluster(_) => Shard::WHOLE,
    };
    let range = part.numbers(set.patches.len() as u64);
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let entries = &set.patches[place(range.start)..place(range.end)];
    let progress = Progress::new(entries.len(), "signals", printer);
    let row = |entry: &PatchSetEntry| {
        let found = row(entry, &document, settings);
        progress.advance(1);
        found
    };
    let rows: Vec<SignalRow> = entries.par_iter().map(row).collect();
    drop(progress);
    let question = LimitsQuestion {
        patchset: digest(&text, Algorithm::Sha256),
        signals: set.patches.len() as u64,
        level: settings.level,
        search: settings.search_name.clone(),
        extend_bound: settings.fits.extend_bound,
    };
    let workspace = Workspace::from_value(&document)?;
    let shard = ShardDocument {
        schema: Schema::new(shard::NAME),
        digest: String::new(),
        histfactory: env!("CARGO_PKG_VERSION").to_owned(),
        model: opening::record(&document, &workspace, &settings.model)?,
        question: Question::Limits(question),
        shard: part.to_string(),
        first: range.start,
        count: range.end - range.start,
        answers: Answers::Limits(rows),
    };
    match settings.part {
        Part::Shard(_) => write_shard(shard, &settings.model.destination, printer),
        Part::Whole | Part::Cluster(_) => {
            report(&shard, &[], &settings.model.destination, None, printer)
        }
    }
}

/// A signal that has no answer has the reason instead, and the others go on.
fn row(entry: &PatchSetEntry, document: &Value, settings: &LimitsSettings) -> SignalRow {
    let empty = SignalRow {
        name: entry.name.clone(),
        values: entry.values.clone(),
        observed: None,
        expected: [None; 5],
        notes: Vec::new(),
        error: None,
    };
    match computed(entry, document, settings) {
        Ok((observed, expected, notes)) => SignalRow { observed, expected, notes, ..empty },
        Err(error) => SignalRow { error: Some(error.to_string()), ..empty },
    }
}

type Found = (Option<f64>, [Option<f64>; 5], Vec<String>);

fn computed(
    entry: &PatchSetEntry,
    document: &Value,
    settings: &LimitsSettings,
) -> Result<Found, Error> {
    let mut patched = document.clone();
    entry.patch.apply(&mut patched)?;
    let model = Model::new(&Workspace::from_value(&patched)?, &settings.model.options)?;
    let TestOptions { search, extend_bound } = settings.fits;
    let options =
        LimitOptions { level: settings.level, search, extend_bound, ..LimitOptions::default() };
    let found = model.upper_limit(model.observed(), &options)?;
    let missing = found.missing.iter().map(|missing| {
        let which = missing.band.map_or("observed".to_owned(), |band| format!("{band:+}σ"));
        format!("no {which} limit: {}", missing.why)
    });
    let notes = missing.chain(found.notes.iter().map(ToString::to_string)).collect();
    Ok((finite(found.observed), found.expected.map(finite), notes))
}

pub(super) fn show(
    whole: &ShardDocument,
    question: &LimitsQuestion,
    rows: &[SignalRow],
    destination: &Destination,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let document = LimitsDocument {
        schema: Schema::new("histfactory-limits"),
        poi: &whole.model.poi,
        level: question.level,
        test_stat: "qtilde",
        signals: rows,
    };
    output::show(&document, || render(&document), destination, printer)?;
    let failed = rows.iter().filter(|row| row.error.is_some()).count();
    if failed == 0 {
        return Ok(Exit::Ok);
    }
    printer.warning(&format!("{failed} of {} signals have no answer", rows.len()));
    Ok(Exit::NoAnswer)
}

fn render(document: &LimitsDocument<'_>) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("signal", Align::Left),
        ("observed", right),
        ("−2σ", right),
        ("−1σ", right),
        ("median", right),
        ("+1σ", right),
        ("+2σ", right),
        ("note", Align::Left),
    ]);
    for row in document.signals {
        let limit = |limit: Option<f64>| limit.map_or_else(|| "none".to_owned(), number);
        let notes = row.error.iter().chain(&row.notes).cloned().collect::<Vec<_>>().join("; ");
        let limits = [row.observed].into_iter().chain(row.expected).map(limit);
        table.row([row.name.clone()].into_iter().chain(limits).chain([notes]));
    }
    format!("upper limits on {} at CLs = {}\n\n{}", document.poi, document.level, table.render())
}
