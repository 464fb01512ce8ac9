//! Arguments of the commands that show and edit workspaces.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use histfactory::workspace::ModifierType;

use super::OutputArgs;

/// Show the contents of a workspace
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  histfactory inspect workspace.json --measurement combined")]
pub(crate) struct InspectArgs {
    /// The workspace, `-` for the standard input
    #[arg(default_value = "-")]
    pub(crate) workspace: PathBuf,
    /// The measurement to show; the first one by default
    #[arg(long, value_name = "NAME")]
    pub(crate) measurement: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Remove channels, samples, modifiers or measurements
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  histfactory prune workspace.json -c validation -t staterror > pruned.json"
)]
pub(crate) struct PruneArgs {
    /// The workspace, `-` for the standard input
    #[arg(default_value = "-")]
    pub(crate) workspace: PathBuf,
    #[arg(short, long, value_name = "CHANNEL")]
    pub(crate) channel: Vec<String>,
    #[arg(short, long, value_name = "SAMPLE")]
    pub(crate) sample: Vec<String>,
    #[arg(short, long, value_name = "MODIFIER")]
    pub(crate) modifier: Vec<String>,
    /// All modifiers of a type: histosys, lumi, normfactor, normsys, shapefactor, shapesys or
    /// staterror
    #[arg(short = 't', long, value_name = "TYPE", value_parser = modifier_type)]
    pub(crate) modifier_type: Vec<ModifierType>,
    #[arg(long, value_name = "MEASUREMENT")]
    pub(crate) measurement: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

fn modifier_type(text: &str) -> Result<ModifierType, String> {
    let known = ModifierType::ALL.map(ModifierType::as_str).join(", ");
    ModifierType::parse(text).ok_or_else(|| format!("the types are {known}"))
}

/// Rename channels, samples, modifiers or measurements
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  histfactory rename workspace.json -m mu mu_signal > renamed.json"
)]
pub(crate) struct RenameArgs {
    /// The workspace, `-` for the standard input
    #[arg(default_value = "-")]
    pub(crate) workspace: PathBuf,
    #[arg(short, long, num_args = 2, value_names = ["OLD", "NEW"], action = clap::ArgAction::Append)]
    pub(crate) channel: Vec<String>,
    #[arg(short, long, num_args = 2, value_names = ["OLD", "NEW"], action = clap::ArgAction::Append)]
    pub(crate) sample: Vec<String>,
    #[arg(short, long, num_args = 2, value_names = ["OLD", "NEW"], action = clap::ArgAction::Append)]
    pub(crate) modifier: Vec<String>,
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], action = clap::ArgAction::Append)]
    pub(crate) measurement: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JoinArg {
    /// Common parts are an error
    None,
    /// Common parts must be the same
    Outer,
    /// Take common parts from the first workspace without comparing them
    #[value(name = "left outer", alias = "left-outer")]
    LeftOuter,
    /// Take common parts from the second workspace without comparing them
    #[value(name = "right outer", alias = "right-outer")]
    RightOuter,
}

/// Combine two workspaces
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  histfactory combine a.json b.json --join outer > both.json")]
pub(crate) struct CombineArgs {
    pub(crate) workspace_one: PathBuf,
    /// One of the two may be `-` for the standard input
    pub(crate) workspace_two: PathBuf,
    /// The treatment of parts that both workspaces have
    #[arg(short, long, value_enum, default_value_t = JoinArg::None)]
    pub(crate) join: JoinArg,
    /// Channels of one name get the samples of both
    #[arg(long)]
    pub(crate) merge_channels: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Sort all parts of a workspace by name
#[derive(Debug, clap::Args)]
pub(crate) struct SortArgs {
    /// The workspace, `-` for the standard input
    #[arg(default_value = "-")]
    pub(crate) workspace: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Print the digest of a workspace, as computed by pyhf
#[derive(Debug, clap::Args)]
pub(crate) struct DigestArgs {
    /// The workspace, `-` for the standard input
    #[arg(default_value = "-")]
    pub(crate) workspace: PathBuf,
    /// md5 or sha256; may be given more than once
    #[arg(short, long, default_value = "sha256")]
    pub(crate) algorithm: Vec<String>,
}

/// Work with patch sets
#[derive(Debug, clap::Args)]
pub(crate) struct PatchsetArgs {
    #[command(subcommand)]
    pub(crate) command: PatchsetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PatchsetCommand {
    Apply(PatchsetApplyArgs),
    Extract(PatchsetExtractArgs),
    Verify(PatchsetVerifyArgs),
}

/// Apply one patch of a set to the workspace it was made for
#[derive(Debug, clap::Args)]
pub(crate) struct PatchsetApplyArgs {
    pub(crate) background_only: PathBuf,
    pub(crate) patchset: PathBuf,
    /// The name of the patch
    #[arg(long)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Print one patch of a set, or the names of all
#[derive(Debug, clap::Args)]
pub(crate) struct PatchsetExtractArgs {
    pub(crate) patchset: PathBuf,
    /// The name of the patch; without it the names of all patches are printed
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Check whether a patch set was made for a workspace
#[derive(Debug, clap::Args)]
pub(crate) struct PatchsetVerifyArgs {
    pub(crate) background_only: PathBuf,
    pub(crate) patchset: PathBuf,
}
