//! `firstlight bisect`: the commit since which a verdict is another one.

use std::fs;
use std::path::Path;

use firstlight_analysis::bisect::{Search, change, classify};
use firstlight_analysis::results::Margins;
use firstlight_engine::EngineError;
use firstlight_engine::git::{Checkouts, Commit};
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::store::write_whole;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::gate::{
    BISECT, BISECT_VERSION, BisectDocument, BisectStep, Change, ChangedPlace, Decision, Found,
    GateDocument, GateRow, Revision,
};

use super::gate::{Place, open_for_writing, trial};
use crate::args::Format;
use crate::error::Error;
use crate::gate::{Amounts, Outcome, Selection, Side, Trial, measure_sides, prepare};
use crate::harness::build;
use crate::printer::Printer;
use crate::settings::BisectSettings;

/// Processes grow by this factor at most, unless `--most-processes` says otherwise.
const MOST_GROWTH: u32 = 4;

pub(crate) fn bisect(settings: &BisectSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let place = Place::here()?;
    let trial = trial(&settings.trial, &place, &interrupt)?;
    let repository = &place.repository;
    let (good, bad) = (repository.commit(&settings.good)?, repository.commit(&settings.bad)?);
    let commits = repository.between(&good, &bad)?;
    if commits.is_empty() {
        return Err(Error::Usage("--good and --bad are the same commit".to_owned()));
    }
    let checkouts = Checkouts::new(repository, &[("base", &good)])?;
    let good = Side::new(&settings.good, &good, checkouts.folder(0), &place.below);
    prepare(&trial, &good, printer)?;
    let document = log(settings, &trial, &good.revision, &bad)?;
    let mut bisection =
        Bisection { settings, trial: &trial, place: &place, good, document, margin: None };
    let exit = bisection.run(&commits, printer)?;
    let document = &bisection.document;
    match settings.trial.destination.format {
        Format::Text => printer.data(&Terminal::new(printer.width()).bisect(document)),
        Format::Json => printer.data(&(serde_json::to_string(document)? + "\n")),
    }
    Ok(exit)
}

/// A search, its good side checked out, and what it has found.
struct Bisection<'a> {
    settings: &'a BisectSettings,
    trial: &'a Trial<'a>,
    place: &'a Place,
    good: Side,
    document: BisectDocument,
    /// The largest difference at which a candidate is like good.
    margin: Option<f64>,
}

impl Bisection<'_> {
    fn run(&mut self, commits: &[Commit], printer: &mut Printer) -> Result<Exit, Error> {
        let last = commits.len() - 1;
        let mut search = Search::new(commits.len());
        for (place, commit) in commits.iter().enumerate() {
            if let Some(found) = self.document.found(&commit.id) {
                search.record(place, found);
            }
        }
        // A search that continues measures bad once more: the size of the change is in no log.
        let is_open = self.document.change.is_none() || search.next().is_some();
        if is_open && let Some(exit) = self.judge_bad(&commits[last], printer)? {
            return Ok(exit);
        }
        let Some(change) = self.document.change else { return Ok(Exit::Unexpected) };
        search.record(last, Found::After);
        while let Some(next) = search.next() {
            let left = search.steps_left();
            let step = match self.step(&commits[next], change, left, printer) {
                Err(Error::Engine(EngineError::Interrupted)) => return Ok(Exit::Interrupted),
                other => other?,
            };
            search.record(next, step.found);
            self.add(step)?;
        }
        self.document.suspects = commits[search.suspects()].iter().map(revision).collect();
        self.save()?;
        Ok(if self.document.suspects.len() == 1 { Exit::Ok } else { Exit::Inconclusive })
    }

    /// How bad differs from good; an exit code if it does not.
    fn judge_bad(&mut self, bad: &Commit, printer: &mut Printer) -> Result<Option<Exit>, Error> {
        printer.aside(&format!("measuring bad: {} {}", bad.short(), bad.subject));
        let is_open = |gate: &GateDocument| {
            gate.decision == Decision::Inconclusive && change(&gate.rows).is_none()
        };
        let outcome = self.measure(bad, None, is_open, printer)?;
        if outcome.exit == Exit::Interrupted {
            return Ok(Some(Exit::Interrupted));
        }
        let gate = &outcome.document;
        let Some((kind, rows)) = change(&gate.rows) else {
            for line in &outcome.failures {
                printer.talk(&format!("\n{line}"));
            }
            printer.data(&Terminal::new(printer.width()).gate(gate));
            return Ok(Some(match gate.decision {
                Decision::NotRun => Exit::RunnerFailed,
                Decision::Passed | Decision::Failed | Decision::Inconclusive => Exit::Inconclusive,
            }));
        };
        self.document.change = Some(kind);
        self.margin = halfway(kind, &rows);
        self.document.places = rows
            .iter()
            .map(|row| ChangedPlace { case: row.case.clone(), arm: row.arm.clone() })
            .collect();
        self.document.places.dedup();
        let step = described(bad, Found::After, gate);
        printer.aside(&firstlight_report::words::gate::step(&step));
        if self.document.found(&bad.id).is_none() {
            self.add(step)?;
        }
        Ok(None)
    }

    /// Measures a candidate; one that cannot be measured is skipped.
    fn step(
        &self,
        commit: &Commit,
        change: Change,
        left: u32,
        printer: &mut Printer,
    ) -> Result<BisectStep, Error> {
        printer.aside(&format!(
            "measuring {} {} (about {left} more)",
            commit.short(),
            commit.subject
        ));
        let places = self.document.places.iter();
        let only: Selection = places.map(|one| (one.case.clone(), one.arm.clone())).collect();
        let is_open = |gate: &GateDocument| classify(&gate.rows, change) == Found::Inconclusive;
        let step = match self.measure(commit, Some(&only), is_open, printer) {
            Ok(outcome) if outcome.exit == Exit::Interrupted => {
                return Err(EngineError::Interrupted.into());
            }
            Ok(outcome) => {
                let gate = &outcome.document;
                described(commit, classify(&gate.rows, change), gate)
            }
            Err(error @ Error::Engine(EngineError::Interrupted)) => return Err(error),
            Err(error) => BisectStep {
                commit: commit.id.clone(),
                subject: commit.subject.clone(),
                found: Found::NotRun,
                processes: 0,
                verdict: error.to_string(),
            },
        };
        printer.aside(&firstlight_report::words::gate::step(&step));
        Ok(step)
    }

    /// Measures a commit beside good, with more and more processes while the answer is open.
    fn measure(
        &self,
        commit: &Commit,
        only: Option<&Selection>,
        is_open: impl Fn(&GateDocument) -> bool,
        printer: &mut Printer,
    ) -> Result<Outcome, Error> {
        let checkouts = Checkouts::new(&self.place.repository, &[("head", commit)])?;
        let name = commit.short();
        let head = Side::new(name, commit, checkouts.folder(0), &self.place.below);
        prepare(self.trial, &head, printer)?;
        let sides = [self.good.clone(), head];
        let mut amounts: Amounts = self.settings.trial.amounts.clone();
        if let Some(margin) = self.margin {
            amounts.margins = Margins { all: Some(margin), ..Margins::default() };
        }
        let mut most = self.settings.most_processes;
        loop {
            let outcome = measure_sides(self.trial, &sides, &amounts, only, printer)?;
            let measured = outcome.document.processes;
            let most = *most.get_or_insert(measured.saturating_mul(MOST_GROWTH));
            let settled = outcome.exit == Exit::Interrupted || !is_open(&outcome.document);
            if settled || measured >= most {
                return Ok(outcome);
            }
            let more = measured.saturating_mul(2).min(most);
            printer.aside(&format!("inconclusive with {measured} processes: measuring {more}"));
            amounts.choice.processes = Some(more);
        }
    }

    fn add(&mut self, step: BisectStep) -> Result<(), Error> {
        self.document.steps.push(step);
        self.save()
    }

    fn save(&self) -> Result<(), Error> {
        let Some(path) = &self.settings.log else { return Ok(()) };
        Ok(write_whole(path, &(serde_json::to_string(&self.document)? + "\n"))?)
    }
}

/// Half of the change on a logarithmic scale, but not less than the margin: a candidate is like good on one side
/// of it and like bad on the other. So a large change is found with few processes.
fn halfway(change: Change, rows: &[&GateRow]) -> Option<f64> {
    const LARGEST: f64 = 0.99;
    if change == Change::DifferentResults {
        return None;
    }
    let comparisons = rows.iter().filter_map(|row| row.comparison.as_ref());
    let halves = comparisons.filter_map(|one| {
        let half = (one.ratio?.point.ln().abs() / 2.0).exp_m1();
        Some(half.max(one.margin).min(LARGEST))
    });
    halves.reduce(f64::min)
}

fn described(commit: &Commit, found: Found, gate: &GateDocument) -> BisectStep {
    BisectStep {
        commit: commit.id.clone(),
        subject: commit.subject.clone(),
        found,
        processes: gate.processes,
        verdict: firstlight_report::words::gate::rows(gate),
    }
}

fn revision(commit: &Commit) -> Revision {
    Revision {
        name: commit.short().to_owned(),
        commit: commit.id.clone(),
        subject: commit.subject.clone(),
        uncommitted: false,
    }
}

/// A new search, or the one in the file.
fn log(
    settings: &BisectSettings,
    trial: &Trial<'_>,
    good: &Revision,
    bad: &Commit,
) -> Result<BisectDocument, Error> {
    let new = BisectDocument {
        schema: BisectDocument::schema_id(),
        firstlight: build(),
        subject: trial.subject.words(),
        good: good.clone(),
        bad: Revision { name: settings.bad.clone(), ..revision(bad) },
        change: None,
        places: Vec::new(),
        steps: Vec::new(),
        suspects: Vec::new(),
    };
    let Some(path) = settings.log.as_deref() else { return Ok(new) };
    open_for_writing(path)?;
    if !has_text(path) {
        return Ok(new);
    }
    let text = fs::read_to_string(path).map_err(|error| Error::io("read", path, &error))?;
    let other = |why: &str| Error::OtherSearch { path: path.to_owned(), why: why.to_owned() };
    let found: BisectDocument =
        serde_json::from_str(&text).map_err(|_| other("it is not a log of `firstlight bisect`"))?;
    let is_known = found.schema.name == BISECT && found.schema.version == BISECT_VERSION;
    let commits = |of: &BisectDocument| (of.good.commit.clone(), of.bad.commit.clone());
    if !is_known {
        return Err(other("another version of firstlight wrote it"));
    }
    if commits(&found) != commits(&new) {
        return Err(other("it is about other commits"));
    }
    if found.subject != new.subject {
        return Err(other("it is about another suite or command"));
    }
    Ok(found)
}

fn has_text(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| known.len() > 0)
}
