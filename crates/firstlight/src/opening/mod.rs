//! Opens a stored result in any form: a folder, a snapshot, an archive, a single file.

mod cold_0_1;

use std::fs;
use std::path::Path;

use firstlight_analysis::rebuild::{REVISION, rebuild};
use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{
    Files, Shape, check_version, is_sealed, raw_lines, read_document, read_manifest, read_origin,
    read_result, read_shards, read_suite,
};
use firstlight_engine::store::read_run;
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::reading::{Outcome, RawRecord};
use firstlight_schema::run::{RunDocument, VERSION};
use firstlight_schema::snapshot::{ORIGIN, Origin, RAW, RESULT, SUITE, TRACE};
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::suite_trace::{self, SuiteTraceDocument};
use firstlight_schema::version::{SchemaId, Version};
use serde::Deserialize;

use crate::error::Error;
use crate::verification::{Whole, parse_records, recompute, validate};

/// The run's document. An interrupted run has all processes in its raw readings.
pub(crate) fn run(path: &Path) -> Result<RunDocument, Error> {
    if path.is_dir() {
        if !is_sealed(path) && path.join(ORIGIN).is_file() {
            let found = unsealed(path)?;
            return Ok(rebuild(&found.origin, &found.suite, found.after, found.records));
        }
        return document(&path.join(RESULT));
    }
    if path.extension().is_some_and(|extension| extension == "zst") {
        return Ok(read_result(&Files::read(path)?, path)?);
    }
    document(path)
}

/// The run's document as this firstlight computes it. A snapshot of an older revision of the analysis is
/// recomputed from its raw readings, so that every sentence and picture comes from the same analysis.
pub(crate) fn current(path: &Path) -> Result<RunDocument, Error> {
    let stored = run(path)?;
    if !is_outdated(&stored) {
        return Ok(stored);
    }
    Ok(Files::read(path).ok().and_then(|files| recomputed(&files, path)).unwrap_or(stored))
}

/// Whether an older analysis computed it. A document of a newer firstlight is shown unchanged.
pub(crate) fn is_outdated(stored: &RunDocument) -> bool {
    stored.analysis < REVISION && stored.schema.version <= VERSION
}

/// `None` if the raw readings are incomplete, or give no result.
pub(crate) fn recomputed(files: &Files, path: &Path) -> Option<RunDocument> {
    let manifest = read_manifest(files, path).ok()?;
    let suite = read_suite(files, path, &manifest).ok()?;
    let records = parse_records(&raw_lines(files, path).ok()?).ok()?;
    let shards = read_shards(files, path).ok()?;
    recompute(Whole { manifest: &manifest, shards: &shards, suite: &suite }, records)
}

/// A separate document; one of firstlight 0.1's `cold` becomes a run.
fn document(path: &Path) -> Result<RunDocument, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::io("read", path, &error))?;
    let head = serde_json::from_str::<Head>(&text).ok().map(|head| head.schema);
    match head {
        Some(schema) if cold_0_1::is_one(&schema.name, schema.version) => cold_0_1::read(&text)
            .map_err(|reason| EngineError::NotAResult { path: path.to_owned(), reason }.into()),
        _ => Ok(read_run(path)?),
    }
}

#[derive(Deserialize)]
struct Head {
    schema: SchemaId,
}

/// The cost of recording for each arm, if the stored run has it.
pub(crate) fn traced(path: &Path) -> Result<Option<SuiteTraceDocument>, Error> {
    let content = if path.is_dir() {
        fs::read(path.join(TRACE)).ok()
    } else if path.extension().is_some_and(|extension| extension == "zst") {
        Files::read(path)?.get(TRACE).map(<[u8]>::to_vec)
    } else {
        None
    };
    let Some(content) = content else { return Ok(None) };
    let cannot =
        |error| Error::Usage(format!("`{}` has a broken {TRACE}: {error}", path.display()));
    check_version(&content, suite_trace::NAME, suite_trace::VERSION)
        .and_then(|version| read_document(Shape::SuiteTrace, &content, version))
        .map(|read| Some(read.document))
        .map_err(cannot)
}

/// The part of the stored run's suite that a page uses; empty if there is no suite.
pub(crate) fn declared(path: &Path) -> Declared {
    let name = format!("{SUITE}suite.toml");
    let text = if path.is_dir() {
        fs::read_to_string(path.join(name)).ok()
    } else {
        let content = Files::read(path).ok().and_then(|files| Some(files.get(&name)?.to_vec()));
        content.and_then(|content| String::from_utf8(content).ok())
    };
    let file = text.and_then(|text| toml::from_str::<DeclaredFile>(&text).ok()).unwrap_or_default();
    let arms = file.arm.into_iter().map(|arm| arm.name).collect();
    Declared { question: file.question, arms }
}

/// The question that a suite answers, and the names of all its arms.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) question: Option<String>,
    pub(crate) arms: Vec<String>,
}

/// Only these keys, because a suite of another version may have unknown ones.
#[derive(Default, Deserialize)]
struct DeclaredFile {
    question: Option<String>,
    #[serde(default)]
    arm: Vec<DeclaredArm>,
}

#[derive(Deserialize)]
struct DeclaredArm {
    name: String,
}

/// The id of a stored snapshot, and whether it verifies; `None` for anything else.
pub(crate) fn seal(path: &Path) -> Option<(String, bool)> {
    let archive = path.extension().is_some_and(|extension| extension == "zst");
    let is_snapshot = archive || (path.is_dir() && is_sealed(path));
    if !is_snapshot {
        return None;
    }
    let validation = validate(&Files::read(path).ok()?, path, None).ok()?;
    Some((validation.snapshot?, validation.passed))
}

/// A run without a manifest.
pub(crate) struct Unsealed {
    pub(crate) origin: Origin,
    pub(crate) suite: SuiteFile,
    pub(crate) after: Option<MachineState>,
    pub(crate) records: Vec<RawRecord>,
    /// Whether the last line was truncated and left out.
    pub(crate) cut: bool,
    /// The size of the records in the raw readings, in bytes.
    pub(crate) bytes: u64,
    /// The size of each record.
    lines: Vec<u64>,
}

impl Unsealed {
    /// Leaves out the last processes that were killed together with firstlight: they are started again. A
    /// scheduler that cancels a task signals all its processes, so a measured one may die first, and another
    /// may have begun.
    pub(crate) fn without_interrupted(mut self) -> Self {
        while self.records.last().is_some_and(|last| ended_with_the_run(&last.sample.outcome)) {
            self.records.pop();
            self.bytes -= self.lines.pop().unwrap_or(0);
        }
        self
    }
}

/// Whether the process was killed by the stop of the run, and not on its own.
fn ended_with_the_run(outcome: &Outcome) -> bool {
    // SIGHUP, SIGINT, SIGKILL and SIGTERM.
    const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15];
    match outcome {
        Outcome::Interrupted => true,
        Outcome::Killed { signal } => FROM_OUTSIDE.contains(signal),
        _ => false,
    }
}

/// Files of a newer version are read, but never overwritten.
pub(crate) fn refuse_newer(path: &Path, version: Version) -> Result<(), Error> {
    if version <= VERSION {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{}` has version {version}, this firstlight writes {VERSION}: it can be read but not \
         changed",
        path.display()
    )))
}

pub(crate) fn unsealed(folder: &Path) -> Result<Unsealed, Error> {
    // Rescuing replaces the result, so it is left to a firstlight that knows all of it.
    let stored = read_run(folder);
    if let Ok(document) = &stored {
        refuse_newer(folder, document.schema.version)?;
    }
    let origin = read_origin(folder)?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| Error::io("read", &path, &error))
    };
    let text = String::from_utf8_lossy(&read("suite/suite.toml")?).into_owned();
    let mut suite = SuiteFile::parse_with(&text, origin.defaults)
        .map_err(|error| Error::Usage(format!("{}/suite/suite.toml:{error}", folder.display())))?;
    origin.choice.apply(&mut suite).map_err(Error::Usage)?;
    let raw = read(RAW)?;
    let mut lines: Vec<&[u8]> = raw.split(|&byte| byte == b'\n').collect();
    let rest = lines.pop().unwrap_or_default();
    let cut = !rest.is_empty();
    let bytes = (raw.len() - rest.len()) as u64;
    let lengths = lines.iter().map(|line| line.len() as u64 + 1).collect();
    let records = parse_records(&lines).map_err(|places| {
        let place = places.first().map(ToString::to_string).unwrap_or_default();
        Error::Usage(format!("`{}` cannot be rescued: {place}", folder.display()))
    })?;
    let after = stored.ok().and_then(|document| document.after);
    Ok(Unsealed { origin, suite, after, records, cut, bytes, lines: lengths })
}
