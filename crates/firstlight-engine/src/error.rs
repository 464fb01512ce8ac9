//! What can go wrong before and around a measured process. What goes wrong inside one is an outcome.

use std::io;
use std::path::PathBuf;

use firstlight_schema::suite::SuiteError;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error("there is no program `{0}`")]
    NoProgram(String),
    #[error("cannot start `{}`", path.display())]
    Spawn { path: PathBuf, source: io::Error },
    #[error("cannot {what} `{}`", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot {what}")]
    System { what: &'static str, source: io::Error },
    #[error("`{}` is not a usable Python: {reason}", path.display())]
    NoPython { path: PathBuf, reason: String },
    #[error("the suite needs Python {needed} or newer, `{}` is {found}", path.display())]
    OldPython { path: PathBuf, needed: String, found: String },
    #[error("no suite `{name}`: neither a folder nor one of {}", known.join(", "))]
    NoSuite { name: String, known: Vec<String> },
    #[error("{}:{error}", path.display())]
    Suite { path: PathBuf, error: SuiteError },
    #[error("`{installer}` could not install the environment\n{tail}")]
    Provision { installer: String, tail: String },
    #[error("`{}` is not a result of firstlight: {reason}", path.display())]
    NotAResult { path: PathBuf, reason: String },
    #[error("`{}` is refused: `{place}` {reason}", path.display())]
    Snapshot { path: PathBuf, place: String, reason: String },
    #[error("`{}` is no snapshot: neither a folder nor a .tar.zst", path.display())]
    NotASnapshot { path: PathBuf },
    #[error("`{}` is not a usable key: {reason}", path.display())]
    Key { path: PathBuf, reason: String },
    #[error("the command {outcome}; last lines of stderr:\n\n{tail}")]
    Recording { outcome: String, tail: String },
    #[error("the command marked no step")]
    NoSteps,
    #[error("`{}` is not safe to run code from: another user can write to it", path.display())]
    ForeignFolder { path: PathBuf },
    #[error("`{}` is a link: a snapshot holds the suite's own files", path.display())]
    LinkInSuite { path: PathBuf },
    #[error(
        "`{}` has {files} files with {bytes} bytes to pack, {most} bytes are allowed; the largest: {}",
        path.display(), largest.join(", ")
    )]
    LargeSuite { path: PathBuf, files: usize, bytes: u64, most: u64, largest: Vec<String> },
    #[error("interrupted")]
    Interrupted,
    #[error("cannot resume: process {number} of the run is not the one that its plan has there")]
    NotAsPlanned { number: u32 },
    #[error("the page cache can be `clean` or `as-found`, not `{0}`")]
    PageCachePolicy(firstlight_schema::cache::Policy),
}

impl EngineError {
    /// Wraps an error about a file, for `map_err`.
    pub(crate) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    /// What the user can do about it, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProgram(name) if name.starts_with("python") => {
                Some("install Python, or give its path with --python".to_owned())
            }
            Self::NoProgram(_) => {
                Some("is it on the PATH? a path with a slash is taken as it is".to_owned())
            }
            Self::OldPython { needed, .. } => {
                Some(format!("give a newer one: --python /path/to/python{needed}"))
            }
            Self::NoPython { .. } => Some("give another one with --python PATH".to_owned()),
            Self::Suite { error, .. } => error.hint.clone(),
            Self::NotAResult { .. } => Some(
                "give the folder that `firstlight` printed at its end, or the file result.json in it"
                    .to_owned(),
            ),
            Self::Snapshot { reason, .. } if reason.contains("this firstlight reads") => {
                Some("take the firstlight that wrote it, or a newer one".to_owned())
            }
            Self::Snapshot { place, reason, .. }
                if place == "manifest.json" && reason == "is missing" =>
            {
                Some("`firstlight snapshot RUN` makes a snapshot of a run that was cut short".to_owned())
            }
            Self::Snapshot { .. } => {
                Some("get the snapshot again from where it was published".to_owned())
            }
            Self::NotASnapshot { .. } => {
                Some("`firstlight snapshot RUN --archive` makes one of a run".to_owned())
            }
            Self::Key { .. } => Some("`minisign -G` makes a pair of keys".to_owned()),
            Self::NoSuite { .. } => Some("a suite is a folder with a suite.toml".to_owned()),
            Self::Provision { .. } => Some(
                "is the package index reachable? --python PATH uses an interpreter that has the \
                 packages already"
                    .to_owned(),
            ),
            Self::ForeignFolder { .. } => Some(
                "set HOME or FIRSTLIGHT_CACHE to a folder that only you can write to".to_owned(),
            ),
            Self::LinkInSuite { .. } => Some("copy the file into the suite's folder".to_owned()),
            Self::LargeSuite { .. } => {
                Some("keep data outside the suite's folder, or in a folder with a dot in front".to_owned())
            }
            Self::NoSteps => Some(
                "put each step into `with jax.profiler.StepTraceAnnotation(\"train\", step_num=i):`; of \
                 PyTorch, call `step()` of a torch.profiler.profile or of an optimizer"
                    .to_owned(),
            ),
            Self::Recording { .. } => Some("run the command by itself: does it exit with code 0?".to_owned()),
            Self::Spawn { .. }
            | Self::File { .. }
            | Self::System { .. }
            | Self::Interrupted
            | Self::NotAsPlanned { .. }
            | Self::PageCachePolicy(_) => None,
        }
    }
}
