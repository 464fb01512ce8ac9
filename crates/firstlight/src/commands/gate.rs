//! `firstlight gate`: two commits in one run, and whether the newer one may replace the older.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use firstlight_engine::git::{Checkouts, Commit, Repository};
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::secrets;
use firstlight_engine::store::{RunFolder, write_whole};
use firstlight_report::export::{annotations, gate_comment, gate_summary};
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::gate::GateDocument;

use crate::args::Format;
use crate::error::Error;
use crate::gate::{Outcome, Side, Subject, Trial, measure_sides, prepare};
use crate::printer::Printer;
use crate::settings::{GateSettings, TrialSettings, Typed};

pub(crate) fn gate(settings: &GateSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let place = Place::here()?;
    let trial = trial(&settings.trial, &place, &interrupt)?;
    if let Some(folder) = &settings.trial.destination.output {
        RunFolder::check_new(folder)?;
    }
    for path in [&settings.json, &settings.markdown, &settings.summary].into_iter().flatten() {
        open_for_writing(path)?;
    }
    let repository = &place.repository;
    let (head, head_name) = match &settings.head {
        Some(name) => (repository.commit(name)?, name.as_str()),
        None => (repository.working_tree()?, "HEAD"),
    };
    let mut base = repository.commit(&settings.base)?;
    if settings.merge_base {
        base = repository.merge_base(&base, &head)?;
    }
    say_what_is_compared(&base, &head, printer);
    let checkouts = Checkouts::new(repository, &[("base", &base), ("head", &head)])?;
    let side = |name, commit, index| Side::new(name, commit, checkouts.folder(index), &place.below);
    let sides = [side(&settings.base, &base, 0), side(head_name, &head, 1)];
    for side in &sides {
        prepare(&trial, side, printer)?;
    }
    let outcome = measure_sides(&trial, &sides, &settings.trial.amounts, None, printer)?;
    drop(checkouts);
    publish(settings, &outcome.document, printer)?;
    for line in &outcome.failures {
        printer.talk(&format!("\n{line}"));
    }
    Ok(exit(&outcome))
}

/// The repository of the current folder, and where in it the user is.
pub(super) struct Place {
    pub(super) repository: Repository,
    pub(super) below: PathBuf,
}

impl Place {
    pub(super) fn here() -> Result<Self, Error> {
        let here = Path::new(".");
        let folder = here.canonicalize().map_err(|error| Error::io("find", here, &error))?;
        let repository = Repository::find(&folder)?;
        let below = folder.strip_prefix(repository.root()).unwrap_or(Path::new("")).to_owned();
        Ok(Self { repository, below })
    }

    /// A typed folder as a path below the root of the repository.
    fn within(&self, typed: &Path) -> Result<PathBuf, Error> {
        let outside = || Error::OutsideRepository { path: typed.to_owned() };
        let root = self.repository.root();
        let path = if typed.is_absolute() {
            typed.strip_prefix(root).map_err(|_| outside())?.to_owned()
        } else {
            self.below.join(typed)
        };
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                std::path::Component::Normal(name) => plain.push(name),
                std::path::Component::ParentDir if plain.pop() => {}
                std::path::Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        Ok(if plain.as_os_str().is_empty() { PathBuf::from(".") } else { plain })
    }
}

/// The inputs of every measurement, with paths below the root of the repository.
pub(super) fn trial<'a>(
    settings: &'a TrialSettings,
    place: &Place,
    interrupt: &'a Interrupt,
) -> Result<Trial<'a>, Error> {
    secrets::refuse_parameters(&settings.amounts.choice.set)?;
    let subject = match &settings.what {
        Typed::Suite(typed) => Subject::Suite(place.within(typed)?),
        Typed::Command(command) => Subject::Command(command.clone()),
    };
    Ok(Trial {
        subject,
        python: settings.python.as_deref(),
        prepare: settings.prepare.as_deref(),
        argv: &settings.argv,
        destination: &settings.destination,
        interrupt,
    })
}

fn say_what_is_compared(base: &Commit, head: &Commit, printer: &mut Printer) {
    if base.id == head.id {
        printer.aside("base and head are the same commit: this is an A/A check");
    }
    if head.uncommitted {
        printer.aside("head is the working tree with its uncommitted changes");
    }
}

/// How the gate ends the program: an interruption and a broken snapshot count more than a decision.
fn exit(outcome: &Outcome) -> Exit {
    match outcome.exit {
        Exit::Interrupted | Exit::VerificationFailed | Exit::Unexpected => outcome.exit,
        Exit::Ok | Exit::Usage | Exit::GateFailed | Exit::Inconclusive | Exit::RunnerFailed => {
            outcome.document.decision.exit()
        }
    }
}

/// Prints the decision and writes it to every requested file.
fn publish(
    settings: &GateSettings,
    document: &GateDocument,
    printer: &mut Printer,
) -> Result<(), Error> {
    let json = serde_json::to_string(document)? + "\n";
    let url = settings.report_url.as_deref();
    if let Some(path) = &settings.json {
        write_whole(path, &json)?;
    }
    if let Some(path) = &settings.markdown {
        write_whole(path, &gate_comment(document, url))?;
    }
    if let Some(path) = &settings.summary {
        append(path, &gate_summary(document, url))?;
    }
    match settings.trial.destination.format {
        Format::Json => printer.data(&json),
        Format::Text => {
            printer.data(&Terminal::new(printer.width()).gate(document));
            let folder = &document.run;
            printer.aside(&format!(
                "\nnext: firstlight show {folder} --full\n      firstlight report {folder}"
            ));
        }
    }
    if settings.annotations.is_some() {
        // Where the result is JSON, the log has them beside it.
        let text = annotations(document);
        match settings.trial.destination.format {
            Format::Json => printer.talk(text.trim_end()),
            Format::Text => printer.data(&text),
        }
    }
    Ok(())
}

pub(super) fn open_for_writing(path: &Path) -> Result<(), Error> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| Error::io("write", path, &error))
}

fn append(path: &Path, text: &str) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Error::io("write", path, &error))
}
