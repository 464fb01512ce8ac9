//! Settings of the commands that show and edit workspaces.

use std::path::PathBuf;

use histfactory::workspace::{Algorithm, Join, Pruning, Renaming};

use super::{Destination, Source};
use crate::args::{
    CombineArgs, DigestArgs, Format, InspectArgs, JoinArg, PatchsetArgs, PatchsetCommand,
    PruneArgs, RenameArgs, SortArgs,
};
use crate::error::Error;

pub(crate) struct InspectSettings {
    pub(crate) source: Source,
    pub(crate) measurement: Option<String>,
    pub(crate) destination: Destination,
}

impl InspectSettings {
    pub(crate) fn resolve(args: InspectArgs, format: Format) -> Self {
        Self {
            source: Source::new(args.workspace),
            measurement: args.measurement,
            destination: Destination::new(args.output, format),
        }
    }
}

pub(crate) struct PruneSettings {
    pub(crate) source: Source,
    pub(crate) pruning: Pruning,
    pub(crate) destination: Destination,
}

impl PruneSettings {
    pub(crate) fn resolve(args: PruneArgs) -> Self {
        Self {
            source: Source::new(args.workspace),
            pruning: Pruning {
                modifiers: args.modifier,
                modifier_types: args.modifier_type,
                samples: args.sample,
                channels: args.channel,
                measurements: args.measurement,
            },
            destination: Destination::new(args.output, Format::Json),
        }
    }
}

pub(crate) struct RenameSettings {
    pub(crate) source: Source,
    pub(crate) renaming: Renaming,
    pub(crate) destination: Destination,
}

impl RenameSettings {
    pub(crate) fn resolve(args: RenameArgs) -> Self {
        let pairs = |flat: Vec<String>| {
            flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        };
        Self {
            source: Source::new(args.workspace),
            renaming: Renaming {
                modifiers: pairs(args.modifier),
                samples: pairs(args.sample),
                channels: pairs(args.channel),
                measurements: pairs(args.measurement),
            },
            destination: Destination::new(args.output, Format::Json),
        }
    }
}

pub(crate) struct CombineSettings {
    pub(crate) left: Source,
    pub(crate) right: Source,
    pub(crate) join: Join,
    pub(crate) merge_channels: bool,
    pub(crate) destination: Destination,
}

impl CombineSettings {
    pub(crate) fn resolve(args: CombineArgs) -> Result<Self, Error> {
        let (left, right) = (Source::new(args.workspace_one), Source::new(args.workspace_two));
        if left == Source::Input && right == Source::Input {
            return Err(Error::Usage("only one workspace can be the standard input".to_owned()));
        }
        Ok(Self {
            left,
            right,
            join: match args.join {
                JoinArg::None => Join::None,
                JoinArg::Outer => Join::Outer,
                JoinArg::LeftOuter => Join::LeftOuter,
                JoinArg::RightOuter => Join::RightOuter,
            },
            merge_channels: args.merge_channels,
            destination: Destination::new(args.output, Format::Json),
        })
    }
}

pub(crate) struct SortSettings {
    pub(crate) source: Source,
    pub(crate) destination: Destination,
}

impl SortSettings {
    pub(crate) fn resolve(args: SortArgs) -> Self {
        let destination = Destination::new(args.output, Format::Json);
        Self { source: Source::new(args.workspace), destination }
    }
}

pub(crate) struct DigestSettings {
    pub(crate) source: Source,
    pub(crate) algorithms: Vec<(String, Algorithm)>,
    pub(crate) format: Format,
}

impl DigestSettings {
    pub(crate) fn resolve(args: DigestArgs, format: Format) -> Result<Self, Error> {
        let known = |name: String| match Algorithm::parse(&name) {
            Some(algorithm) => Ok((name, algorithm)),
            None => Err(Error::Usage(format!("there is no digest `{name}`, only md5 and sha256"))),
        };
        let algorithms = args.algorithm.into_iter().map(known).collect::<Result<_, _>>()?;
        Ok(Self { source: Source::new(args.workspace), algorithms, format })
    }
}

/// The action on a patch set.
pub(crate) enum PatchsetSettings {
    Apply { workspace: Source, set: PathBuf, name: String, destination: Destination },
    Extract { set: PathBuf, name: Option<String>, destination: Destination },
    Verify { workspace: Source, set: PathBuf },
}

impl PatchsetSettings {
    pub(crate) fn resolve(args: PatchsetArgs) -> Self {
        match args.command {
            PatchsetCommand::Apply(args) => Self::Apply {
                workspace: Source::new(args.background_only),
                set: args.patchset,
                name: args.name,
                destination: Destination::new(args.output, Format::Json),
            },
            PatchsetCommand::Extract(args) => Self::Extract {
                set: args.patchset,
                name: args.name,
                destination: Destination::new(args.output, Format::Json),
            },
            PatchsetCommand::Verify(args) => {
                Self::Verify { workspace: Source::new(args.background_only), set: args.patchset }
            }
        }
    }
}
