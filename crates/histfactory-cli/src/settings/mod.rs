//! Resolved arguments and defaults. Code below this layer does not see the arguments.

mod inference;
mod part;
mod spec;

pub(crate) use inference::{
    ClsSettings, FitSettings, LimitsSettings, ModelSettings, RankSettings, ScanSettings,
    SignificanceSettings, Tested, ToyTestSettings, ToysSettings, UpperLimitSettings,
};
pub(crate) use part::{AttachSettings, ClusterSettings, MergeSettings, Part};
pub(crate) use spec::{
    CombineSettings, DigestSettings, InspectSettings, PatchsetSettings, PruneSettings,
    RenameSettings, SortSettings,
};

use std::path::PathBuf;

use crate::args::{Format, OutputArgs};

/// A file, or the standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Input,
}

impl Source {
    pub(crate) fn new(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Input } else { Self::File(path) }
    }
}

/// The destination and format of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Text,
    Json,
    File(PathBuf),
}

impl Destination {
    pub(crate) fn new(output: OutputArgs, format: Format) -> Self {
        match (output.output_file, format) {
            (Some(path), _) => Self::File(path),
            (None, Format::Json) => Self::Json,
            (None, Format::Text) => Self::Text,
        }
    }
}
