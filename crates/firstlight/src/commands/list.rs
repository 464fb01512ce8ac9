//! `firstlight list`: the built-in suites, and the runs on this machine.

use std::fs;
use std::path::Path;

use firstlight_engine::snapshot::is_sealed;
use firstlight_engine::suites;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::suite::SuiteFile;
use serde::{Deserialize, Serialize};

use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::ListSettings;

/// A line about a stored run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Stored {
    folder: String,
    suite: String,
    created: String,
    /// `complete`, `ended early`, or `not sealed` for a run that was killed.
    state: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Listed {
    suites: Vec<Named>,
    runs: Vec<Stored>,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    question: Option<String>,
}

/// The beginning of a result.
#[derive(Deserialize)]
struct Head {
    suite: String,
    created: String,
    complete: bool,
}

pub(crate) fn list(settings: &ListSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let named = |(name, text): (&str, &str)| Named {
        name: name.to_owned(),
        question: SuiteFile::parse(text).ok().and_then(|suite| suite.question),
    };
    let listed =
        Listed { suites: suites::texts().map(named).collect(), runs: stored(&settings.runs) };
    let text = match settings.format {
        Format::Json => serde_json::to_string(&listed)? + "\n",
        Format::Text => text(&listed, &settings.runs),
    };
    printer.data(&text);
    Ok(Exit::Ok)
}

fn stored(runs: &Path) -> Vec<Stored> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<Stored> = entries
        .filter_map(|folder| {
            let text = fs::read_to_string(folder.join("result.json")).ok()?;
            let head: Head = serde_json::from_str(&text).ok()?;
            let state = match (is_sealed(&folder), head.complete) {
                (false, _) => "not sealed",
                (true, true) => "complete",
                (true, false) => "ended early",
            };
            let name = folder.file_name()?.to_string_lossy().into_owned();
            Some(Stored { folder: name, suite: head.suite, created: head.created, state })
        })
        .collect();
    found.sort_by(|a, b| b.created.cmp(&a.created));
    found
}

fn text(listed: &Listed, runs: &Path) -> String {
    let width = listed.suites.iter().map(|suite| suite.name.len()).max().unwrap_or(0);
    let mut lines = vec!["suites, for `firstlight run NAME`:".to_owned()];
    lines.extend(listed.suites.iter().map(|suite| {
        let question = suite.question.as_deref().unwrap_or_default();
        format!("  {:width$}  {question}", suite.name).trim_end().to_owned()
    }));
    lines.push(String::new());
    if listed.runs.is_empty() {
        lines.push(format!("no runs in {}", runs.display()));
    } else {
        lines.push(format!("runs in {}, newest first:", runs.display()));
    }
    let width = listed.runs.iter().map(|run| run.folder.len()).max().unwrap_or(0);
    lines.extend(
        listed
            .runs
            .iter()
            .map(|run| format!("  {:width$}  {}, {}", run.folder, run.suite, run.state)),
    );
    lines.join("\n") + "\n"
}
