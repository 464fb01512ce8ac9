//! The interpreter and the packages of a suite's workloads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::provision::provision;
use firstlight_engine::python::Interpreter;
use firstlight_engine::suites::Suite;
use firstlight_schema::run::{EnvironmentKind, EnvironmentRecord};
use firstlight_schema::suite::{EnvironmentFile, Program};

use crate::error::Error;
use crate::printer::Printer;

/// The requested environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// An existing interpreter, used unchanged.
    pub(crate) python: Option<&'a Path>,
    pub(crate) extras: &'a [String],
    /// The folder for environments.
    pub(crate) cache: &'a Path,
}

/// The interpreter of the suite's workloads and its description.
pub(crate) fn environment(
    suite: &Suite,
    asked: Wanted<'_>,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<(Option<PathBuf>, EnvironmentRecord), Error> {
    let in_python = |program| matches!(program, Program::Workload(_));
    if !suite.file.arms.iter().any(|arm| in_python(arm.program())) {
        return Ok((None, record(EnvironmentKind::NotNeeded)));
    }
    let found = Interpreter::find(asked.python)?;
    match &suite.file.environment {
        EnvironmentFile::Provisioned(wanted) if asked.python.is_none() => {
            let base = found.at_least(wanted.python.as_deref())?;
            let extras = suite
                .file
                .extras()
                .filter(|(name, _)| asked.extras.iter().any(|extra| extra == name));
            let further = extras.filter_map(|(_, extra)| extra.requirements.as_ref());
            let locks: Vec<PathBuf> = [&wanted.requirements]
                .into_iter()
                .chain(further)
                .map(|name| suite.folder.join(name))
                .collect();
            let mut say = |what: &str| printer.aside(what);
            let ready = provision(&locks, &base, asked.cache, interrupt, &mut say)?;
            let record = EnvironmentRecord {
                python: Some(ready.runtime),
                lock_digest: Some(ready.lock_digest),
                installer: Some(ready.installer),
                packages: ready.packages,
                ..record(EnvironmentKind::Provisioned)
            };
            Ok((Some(ready.python), record))
        }
        EnvironmentFile::Provisioned(_) | EnvironmentFile::AsFound => {
            let record = EnvironmentRecord {
                python: Some(found.runtime),
                packages: found.packages,
                ..record(EnvironmentKind::AsFound)
            };
            Ok((Some(found.executable), record))
        }
    }
}

pub(crate) fn record(kind: EnvironmentKind) -> EnvironmentRecord {
    EnvironmentRecord {
        kind,
        python: None,
        lock_digest: None,
        installer: None,
        packages: BTreeMap::new(),
    }
}
