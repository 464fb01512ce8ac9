//! Command-line arguments, named as in pyhf's command line where it has them.

mod inference;
mod part;
mod spec;

use std::path::PathBuf;

use clap::{ColorChoice, Parser, Subcommand, ValueEnum};

pub(crate) use inference::{
    CalculationArg, ClsArgs, FitArgs, HistosysArg, LimitsArgs, ModelArgs, NormsysArg, RankArgs,
    ScanArgs, SearchArg, SignificanceArgs, StatisticArg, ToyStatisticArg, ToysArgs, UpperLimitArgs,
};
pub(crate) use part::{AttachArgs, MergeArgs, OnArg, PartArgs};
pub(crate) use spec::{
    CombineArgs, DigestArgs, InspectArgs, JoinArg, PatchsetArgs, PatchsetCommand, PruneArgs,
    RenameArgs, SortArgs,
};

/// Fits, limits and significances of pyhf workspaces, exact and without a compiler.
#[derive(Debug, Parser)]
#[command(name = "histfactory", version, propagate_version = true, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// Text for people or JSON for programs
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// When to use colours; `NO_COLOR` is respected too
    #[arg(long, global = true, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
    /// Do not show progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  histfactory inspect workspace.json
  histfactory fit workspace.json --plot pulls.svg
  histfactory cls workspace.json --patch signal.json --test-poi 1
  histfactory upper-limit workspace.json --plot limit.svg
  histfactory significance workspace.json --asimov
  histfactory scan workspace.json --points 41 --plot scan.svg
  histfactory rank workspace.json --plot ranking.svg
  histfactory toys workspace.json --toys 1000
  histfactory limits background.json --patchset patchset.json
  histfactory merge shards/*.json
  curl -sL https://example.org/workspace.json | histfactory cls

Exit codes: 0 ok, 1 unexpected error, 2 wrong usage or an invalid workspace, 3 no answer: a fit did not
converge, or the model has no answer to the question, 130 interrupted.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(InspectArgs),
    Fit(FitArgs),
    Cls(ClsArgs),
    UpperLimit(UpperLimitArgs),
    Significance(SignificanceArgs),
    Scan(ScanArgs),
    Rank(RankArgs),
    Toys(ToysArgs),
    Limits(LimitsArgs),
    Merge(MergeArgs),
    Attach(AttachArgs),
    Prune(PruneArgs),
    Rename(RenameArgs),
    Combine(CombineArgs),
    Sort(SortArgs),
    Digest(DigestArgs),
    Patchset(PatchsetArgs),
}

/// Further outputs of a result.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Write the JSON document to this file instead of printing anything
    #[arg(long, value_name = "FILE")]
    pub(crate) output_file: Option<PathBuf>,
}
