//! Arguments of the commands that compute.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{OutputArgs, PartArgs};

/// The workspace and the model.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// The workspace, `-` for the standard input
    #[arg(default_value = "-")]
    pub(crate) workspace: PathBuf,
    /// The measurement; the first one by default
    #[arg(long, value_name = "NAME")]
    pub(crate) measurement: Option<String>,
    /// A JSON patch to apply to the workspace, or a patch set with --patch-name; may be given more
    /// than once
    #[arg(short, long, value_name = "FILE")]
    pub(crate) patch: Vec<PathBuf>,
    /// The patch to select from a patch set
    #[arg(long, value_name = "NAME", requires = "patch")]
    pub(crate) patch_name: Option<String>,
    /// A parameter of interest other than the measurement's
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) poi: Option<String>,
    /// Interpolation of normsys factors
    #[arg(long, value_enum, default_value_t = NormsysArg::Code4, value_name = "CODE")]
    pub(crate) normsys: NormsysArg,
    /// Interpolation of histosys templates
    #[arg(long, value_enum, default_value_t = HistosysArg::Code4p, value_name = "CODE")]
    pub(crate) histosys: HistosysArg,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NormsysArg {
    Code1,
    Code4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistosysArg {
    Code0,
    /// As pyhf 0.7.6 computes it
    Code2,
    /// As stated in pyhf's documentation
    Code2Documented,
    /// As in ROOT
    Code2Root,
    Code4p,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchArg {
    /// Use the minimum that the start leads to
    Descent,
    /// Also try the mirror images of parameters that may have a minimum on both sides of zero
    Mirrored,
    /// Also try thirty random starts
    Global,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatisticArg {
    Q,
    Qtilde,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalculationArg {
    Asymptotics,
    Toybased,
}

/// Fit all parameters to the observed data
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory fit workspace.json --value
  histfactory fit workspace.json --fix mu=0 --plot pulls.svg
  histfactory fit workspace.json --minos mu --format json")]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Also print the value of the objective function, twice the negative log-likelihood
    #[arg(long)]
    pub(crate) value: bool,
    /// Hold a parameter at a value; may be given more than once
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) fix: Vec<String>,
    /// Also find the interval in which the likelihood ratio is below one, with all other parameters
    /// fitted; may be given more than once
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) minos: Vec<String>,
    /// How fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored)]
    pub(crate) search: SearchArg,
    /// Write a plot of the pulls to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

/// Compute the CLs of a signal strength, observed and expected
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory cls workspace.json
  histfactory cls workspace.json --patch signal.json --test-poi 0.5 --test-stat q
  histfactory cls workspace.json --calctype toybased --toys 5000")]
pub(crate) struct ClsArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The value of the parameter of interest to test
    #[arg(long, default_value_t = 1.0, value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) test_poi: f64,
    /// The test statistic
    #[arg(long, value_enum, default_value_t = StatisticArg::Qtilde)]
    pub(crate) test_stat: StatisticArg,
    /// From asymptotic formulae or from toys
    #[arg(long, value_enum, default_value_t = CalculationArg::Asymptotics)]
    pub(crate) calctype: CalculationArg,
    /// How fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored)]
    pub(crate) search: SearchArg,
    /// Raise the upper bound of the parameter of interest if the best fit is at it
    #[arg(long)]
    pub(crate) extend_bound: bool,
    #[command(flatten)]
    pub(crate) toys: ToyArgs,
}

/// The number of toys and their seed.
#[derive(Debug, clap::Args)]
pub(crate) struct ToyArgs {
    /// The number of toys of each hypothesis
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) toys: u32,
    /// Seed of the toys; the result does not depend on the number of threads
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Find the upper limit on the parameter of interest, observed and expected
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory upper-limit workspace.json
  histfactory upper-limit workspace.json --level 0.1 --plot limit.svg --points 41")]
pub(crate) struct UpperLimitArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The limit is the value at which CLs crosses this level
    #[arg(long, default_value_t = 0.05, value_name = "CLS")]
    pub(crate) level: f64,
    /// How fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored)]
    pub(crate) search: SearchArg,
    /// Raise the upper bound of the parameter of interest if the best fit is at it
    #[arg(long)]
    pub(crate) extend_bound: bool,
    /// Write a plot of CLs against the parameter of interest, with the expected bands, to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// The number of plotted values of the parameter of interest
    #[arg(long, default_value_t = 41, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) points: u32,
}

/// Compute the significance with which the background-only hypothesis is rejected
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory significance workspace.json
  histfactory significance workspace.json --asimov --yields")]
pub(crate) struct SignificanceArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Use the data expected with the signal instead of the observed data
    #[arg(long)]
    pub(crate) asimov: bool,
    /// With --asimov: the expected signal strength
    #[arg(long, default_value_t = 1.0, value_name = "VALUE", requires = "asimov")]
    pub(crate) test_poi: f64,
    /// Also print the derivatives in each nominal yield
    #[arg(long)]
    pub(crate) yields: bool,
    /// How fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored, conflicts_with = "yields")]
    pub(crate) search: SearchArg,
    /// Raise the upper bound of the parameter of interest if the best fit is at it
    #[arg(long, conflicts_with = "yields")]
    pub(crate) extend_bound: bool,
}

/// Fit at fixed values of a parameter
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory scan workspace.json --plot scan.svg
  histfactory scan workspace.json --parameter jes --range -2 2 --points 21")]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The parameter; the parameter of interest by default
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) parameter: Option<String>,
    /// First and last value; by default three standard deviations on either side
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], allow_negative_numbers = true)]
    pub(crate) range: Option<Vec<f64>>,
    /// The number of values
    #[arg(long, default_value_t = 31, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) points: u32,
    /// How fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored)]
    pub(crate) search: SearchArg,
    /// Write a plot of the scan to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

/// Rank the parameters by their impact on the parameter of interest
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  histfactory rank workspace.json --top 20 --plot ranking.svg")]
pub(crate) struct RankArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The number of parameters to print; the JSON document has all of them
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) top: usize,
    /// Write a plot of the ranking to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToyStatisticArg {
    Q,
    Qtilde,
    /// For discovery: tests zero against an excess
    Q0,
}

/// Throw toys and fit each of them, or compute the p-values of a test with toys
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory toys workspace.json --toys 1000
  histfactory toys workspace.json --test-poi 0 --seed 7 --format json
  histfactory toys workspace.json --test-stat qtilde --test-poi 1 --toys 10000
  histfactory toys workspace.json --test-stat q0 --toys 1000000 --shard 3/100 --output-file 3.json
  histfactory toys workspace.json --test-stat q0 --toys 1000000 --on slurm --tasks 100 --folder /shared/toys")]
pub(crate) struct ToysArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) toys: ToyArgs,
    /// Throw them with the parameter of interest at this value and the others fitted to the
    /// observed data; at the best fit otherwise. With --test-stat: the value to test, 1 by default
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) test_poi: Option<f64>,
    /// Compute this test statistic of toys with and without the signal, and the p-values of the
    /// observed data, instead of the fitted parameter of interest
    #[arg(long, value_enum, value_name = "STATISTIC")]
    pub(crate) test_stat: Option<ToyStatisticArg>,
    /// With --test-stat: how fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored)]
    pub(crate) search: SearchArg,
    /// Draw the distribution into this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
}

/// Find the upper limits of every signal of a patch set
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  histfactory limits background.json --patchset patchset.json
  histfactory limits background.json --patchset patchset.json --shard 1/8 --output-file 1.json
  histfactory limits background.json --patchset patchset.json --on slurm --tasks 20 --folder /shared/limits")]
pub(crate) struct LimitsArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The patch set, made for this workspace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "patch_name"])]
    pub(crate) patchset: PathBuf,
    /// Excluded is what has a CLs below this
    #[arg(long, default_value_t = 0.05, value_name = "CLS")]
    pub(crate) level: f64,
    /// How fits search for the lowest of several minima
    #[arg(long, value_enum, default_value_t = SearchArg::Mirrored)]
    pub(crate) search: SearchArg,
    /// Raise the upper bound of the parameter of interest if the best fit is at it
    #[arg(long)]
    pub(crate) extend_bound: bool,
    #[command(flatten)]
    pub(crate) part: PartArgs,
}
