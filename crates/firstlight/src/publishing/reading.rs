//! Reads one snapshot: verifies it, draws its page, keeps its figures. A snapshot that fails only leaves its
//! reason.

use std::error::Error as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use firstlight_analysis::history::figures;
use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{Files, read_result};
use firstlight_engine::store::write_changed;
use firstlight_report::html::{Around, Seal, page};
use firstlight_report::site::{HOME, snapshot_path};
use firstlight_report::words::answer::answers;
use firstlight_report::words::arrays::arrays;
use firstlight_report::words::machine::gpus;
use firstlight_schema::run::RunDocument;
use firstlight_schema::site::{Published, Source, Standing};
use firstlight_schema::validation::{RuleOutcome, ValidationDocument};

use super::sources::Found;
use crate::error::Error;
use crate::opening::{self, is_outdated, recomputed};
use crate::verification::validate;

pub(super) struct Read {
    pub(super) source: Source,
    /// Absent if it was rejected.
    pub(super) published: Option<Published>,
    /// The path of its page, if it was written.
    pub(super) page: Result<Option<String>, EngineError>,
}

pub(super) fn read(found: &Found, site: &Path) -> Read {
    let source =
        |standing| Source { name: found.name.clone(), stamp: found.stamp.clone(), standing };
    let name = found.name.trim_end_matches(".tar.zst");
    match verified(&found.path, name) {
        Err(reason) => {
            Read { source: source(Standing::Refused { reason }), published: None, page: Ok(None) }
        }
        Ok((published, document)) => {
            let path = snapshot_path(&published.id);
            let traced = opening::traced(&found.path).ok().flatten();
            let declared = opening::declared(&found.path);
            let around = Around {
                home: Some(HOME),
                question: declared.question.as_deref(),
                traced: traced.as_ref(),
                declared: &declared.arms,
                seal: Some(Seal { id: &published.id, verified: true }),
            };
            let page = page(&document, around);
            let written = write_changed(&site.join(&path), &page);
            Read {
                source: source(Standing::Published { id: published.id.clone() }),
                published: Some(published),
                page: written.map(|new| new.then_some(path)),
            }
        }
    }
}

fn verified(path: &Path, name: &str) -> Result<(Published, RunDocument), String> {
    let files = Files::read(path).map_err(|error| reason(&error.into()))?;
    let validation = validate(&files, path, None).map_err(|error| reason(&error))?;
    if !validation.passed {
        return Err(failed(&validation));
    }
    let stored = read_result(&files, path).map_err(|error| reason(&error.into()))?;
    let document =
        is_outdated(&stored).then(|| recomputed(&files, path)).flatten().unwrap_or(stored);
    let id = validation.snapshot.ok_or("it has no id")?;
    let at = humantime::parse_rfc3339_weak(&document.created)
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .ok_or_else(|| format!("invalid creation time `{}`", document.created))?;
    let mut cases = figures(&document);
    for (figures, case) in cases.iter_mut().zip(&document.cases) {
        figures.headline = answers(case).into_iter().next().unwrap_or_default();
        let sizes = arrays(case).into_iter();
        figures.arrays = sizes.map(|(arms, words)| format!("{arms}: {words}")).collect();
    }
    let published = Published {
        id,
        created: document.created.clone(),
        at: at.as_secs_f64(),
        suite: document.suite.clone(),
        name: name.to_owned(),
        suite_digest: document.suite_digest.clone(),
        harness: document.firstlight.version.clone(),
        machine: document.machine.clone(),
        gpu: gpus(&document),
        complete: document.complete,
        cases,
    };
    Ok((published, document))
}

fn reason(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The first rule that fails, with its place but without the values, which are invalid.
fn failed(validation: &ValidationDocument) -> String {
    let rules = || validation.rules.iter().filter(|rule| rule.outcome == RuleOutcome::Fail);
    let Some(first) = rules().next() else { return "it does not verify".to_owned() };
    let place = first.places.first().map_or_else(String::new, |place| match &place.path {
        Some(path) => format!(", first {} at {path}", place.file),
        None => format!(", first {}", place.file),
    });
    let more = match rules().count() - 1 {
        0 => String::new(),
        more => format!("; {more} more rules fail"),
    };
    format!("{}: {}{place}{more}", first.rule.name(), first.evidence)
}
