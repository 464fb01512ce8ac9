//! Errors before and around a measured process. A failure inside a process is an outcome, not an error.

use std::io;
use std::path::PathBuf;

use firstlight_schema::suite::SuiteError;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error("program `{0}` not found")]
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
    #[error("no suite `{name}`: expected a folder with a suite.toml, or one of {}", known.join(", "))]
    NoSuite { name: String, known: Vec<String> },
    #[error("{}:{error}", path.display())]
    Suite { path: PathBuf, error: SuiteError },
    #[error("`{installer}` could not install the environment\n{tail}")]
    Provision { installer: String, tail: String },
    #[error("`{}` is not a firstlight result: {reason}", path.display())]
    NotAResult { path: PathBuf, reason: String },
    #[error("`{}` is refused: `{place}` {reason}", path.display())]
    Snapshot { path: PathBuf, place: String, reason: String },
    #[error("`{}` is not a snapshot: expected a folder or a .tar.zst archive", path.display())]
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
        "`{}` is too large to pack: {bytes} bytes in {files} files, at most {most} bytes are allowed; largest: {}",
        path.display(), largest.join(", ")
    )]
    LargeSuite { path: PathBuf, files: usize, bytes: u64, most: u64, largest: Vec<String> },
    #[error("`{place}` holds what looks like a secret: {what}")]
    SecretInSuite { place: String, what: String },
    #[error("`{}` is not in a git repository: {message}", folder.display())]
    NoRepository { folder: PathBuf, message: String },
    #[error("`{}` already holds a run", path.display())]
    HoldsRun { path: PathBuf },
    #[error("no commit named `{name}`")]
    NoRevision { name: String },
    #[error("`{good}` is not an ancestor of `{bad}`")]
    NotAnAncestor { good: String, bad: String },
    #[error("`{command}` failed: {message}")]
    Git { command: String, message: String },
    #[error("interrupted")]
    Interrupted,
    #[error("cannot resume: process {number} of the run does not match its plan")]
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

    /// A hint for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProgram(name) if name.starts_with("python") => {
                Some("install Python, or pass its path with --python".to_owned())
            }
            Self::NoProgram(_) => {
                Some("check that it is on the PATH, or give its path".to_owned())
            }
            Self::OldPython { needed, .. } => {
                Some(format!("pass a newer interpreter: --python /path/to/python{needed}"))
            }
            Self::NoPython { .. } => Some("pass another interpreter with --python PATH".to_owned()),
            Self::Suite { error, .. } => error.hint.clone(),
            Self::NotAResult { .. } => Some(
                "pass the folder that `firstlight` printed when it finished, or the result.json in it"
                    .to_owned(),
            ),
            Self::Snapshot { reason, .. } if reason.contains("this firstlight reads") => {
                Some("use the firstlight that wrote it, or a newer one".to_owned())
            }
            Self::Snapshot { place, reason, .. }
                if place == "manifest.json" && reason == "is missing" =>
            {
                Some("`firstlight snapshot RUN` turns an unfinished run into a snapshot".to_owned())
            }
            Self::Snapshot { .. } => {
                Some("download the snapshot again".to_owned())
            }
            Self::NotASnapshot { .. } => {
                Some("`firstlight snapshot RUN --archive` creates one from a run".to_owned())
            }
            Self::Key { .. } => Some("`minisign -G` creates a key pair".to_owned()),
            Self::NoSuite { .. } => Some("`firstlight new FOLDER` creates a suite to start from".to_owned()),
            Self::Provision { .. } => Some(
                "check that the package index is reachable, or pass an interpreter that has the \
                 packages with --python PATH"
                    .to_owned(),
            ),
            Self::ForeignFolder { .. } => Some(
                "set HOME or FIRSTLIGHT_CACHE to a folder that only you can write to".to_owned(),
            ),
            Self::LinkInSuite { .. } => Some("copy the file into the suite's folder".to_owned()),
            Self::LargeSuite { .. } => {
                Some("keep data outside the suite's folder, or in a folder whose name starts with a dot".to_owned())
            }
            Self::SecretInSuite { .. } => Some(
                "a snapshot publishes a suite's files and parameters; let the program read the secret from an \
                 environment variable, which it inherits and which is not recorded"
                    .to_owned(),
            ),
            Self::HoldsRun { .. } => Some("pass a new folder with --output".to_owned()),
            Self::NoSteps => Some(
                "in JAX, wrap each step in `with jax.profiler.StepTraceAnnotation(\"train\", step_num=i):`; in \
                 PyTorch, call `step()` on a torch.profiler.profile or an optimizer"
                    .to_owned(),
            ),
            Self::Recording { .. } => Some("run the command by itself and check that it exits with code 0".to_owned()),
            Self::NoRepository { .. } => Some("run it inside a checkout of the repository".to_owned()),
            Self::NoRevision { .. } => Some(
                "check the name with `git log`; a shallow clone in CI needs `git fetch` of both commits first"
                    .to_owned(),
            ),
            Self::NotAnAncestor { .. } => {
                Some("--good must be an older commit of the branch that --bad is on".to_owned())
            }
            Self::Git { .. } | Self::Spawn { .. }
            | Self::File { .. }
            | Self::System { .. }
            | Self::Interrupted
            | Self::NotAsPlanned { .. }
            | Self::PageCachePolicy(_) => None,
        }
    }
}
