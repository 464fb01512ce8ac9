//! Settings of the commands that compute.

use std::path::PathBuf;

use clap::ValueEnum;
use histfactory::Interpolation;
use histfactory::ModelOptions;
use histfactory::fit::Search;
use histfactory::inference::{TestKind, TestOptions};
use histfactory::interpolation::{HistosysCode, NormsysCode};

use super::{Destination, Part, Source};
use crate::args::{
    CalculationArg, ClsArgs, FitArgs, Format, HistosysArg, LimitsArgs, ModelArgs, NormsysArg,
    RankArgs, ScanArgs, SearchArg, SignificanceArgs, StatisticArg, ToyStatisticArg, ToysArgs,
    UpperLimitArgs,
};
use crate::error::Error;

/// The model and the destination of its results.
pub(crate) struct ModelSettings {
    pub(crate) source: Source,
    pub(crate) patches: Vec<PathBuf>,
    pub(crate) patch_name: Option<String>,
    pub(crate) options: ModelOptions,
    /// The codes of the interpolation, as they are typed.
    pub(crate) normsys: String,
    pub(crate) histosys: String,
    pub(crate) destination: Destination,
}

/// A value as it is typed.
fn typed(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

impl ModelSettings {
    fn resolve(args: ModelArgs, format: Format) -> Self {
        let normsys = match args.normsys {
            NormsysArg::Code1 => NormsysCode::Code1,
            NormsysArg::Code4 => NormsysCode::Code4,
        };
        let histosys = match args.histosys {
            HistosysArg::Code0 => HistosysCode::Code0,
            HistosysArg::Code2 => HistosysCode::Code2,
            HistosysArg::Code2Documented => HistosysCode::Code2Documented,
            HistosysArg::Code2Root => HistosysCode::Code2Root,
            HistosysArg::Code4p => HistosysCode::Code4p,
        };
        Self {
            source: Source::new(args.workspace),
            normsys: typed(&args.normsys),
            histosys: typed(&args.histosys),
            patches: args.patch,
            patch_name: args.patch_name,
            options: ModelOptions {
                measurement: args.measurement,
                poi: args.poi,
                interpolation: Interpolation { normsys, histosys },
            },
            destination: Destination::new(args.output, format),
        }
    }
}

fn search(argument: SearchArg) -> Search {
    match argument {
        SearchArg::Descent => Search::Descent,
        SearchArg::Mirrored => Search::Mirrored,
        SearchArg::Global => Search::GLOBAL,
    }
}

pub(crate) struct FitSettings {
    pub(crate) model: ModelSettings,
    pub(crate) value: bool,
    pub(crate) fixed: Vec<(String, f64)>,
    pub(crate) minos: Vec<String>,
    pub(crate) search: Search,
    pub(crate) plot: Option<PathBuf>,
}

impl FitSettings {
    pub(crate) fn resolve(args: FitArgs, format: Format) -> Result<Self, Error> {
        let fixed = args.fix.iter().map(|text| fixed(text)).collect::<Result<_, _>>()?;
        Ok(Self {
            model: ModelSettings::resolve(args.model, format),
            value: args.value,
            fixed,
            minos: args.minos,
            search: search(args.search),
            plot: args.plot,
        })
    }
}

fn fixed(text: &str) -> Result<(String, f64), Error> {
    let wrong = || Error::Usage(format!("--fix takes PARAMETER=VALUE, not `{text}`"));
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let value: f64 = value.parse().map_err(|_| wrong())?;
    if value.is_finite() { Ok((name.to_owned(), value)) } else { Err(wrong()) }
}

/// The test statistic of an upper limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tested {
    Q,
    Qtilde,
}

pub(crate) struct ClsSettings {
    pub(crate) model: ModelSettings,
    pub(crate) test_poi: f64,
    pub(crate) statistic: Tested,
    pub(crate) fits: TestOptions,
    /// The number of toys and their seed, if the test uses toys.
    pub(crate) toys: Option<(usize, u64)>,
}

impl ClsSettings {
    pub(crate) fn resolve(args: ClsArgs, format: Format) -> Self {
        Self {
            model: ModelSettings::resolve(args.model, format),
            test_poi: args.test_poi,
            statistic: match args.test_stat {
                StatisticArg::Q => Tested::Q,
                StatisticArg::Qtilde => Tested::Qtilde,
            },
            fits: TestOptions { search: search(args.search), extend_bound: args.extend_bound },
            toys: match args.calctype {
                CalculationArg::Asymptotics => None,
                CalculationArg::Toybased => Some((args.toys.toys as usize, args.toys.seed)),
            },
        }
    }
}

pub(crate) struct UpperLimitSettings {
    pub(crate) model: ModelSettings,
    pub(crate) level: f64,
    pub(crate) fits: TestOptions,
    pub(crate) plot: Option<PathBuf>,
    pub(crate) points: usize,
}

impl UpperLimitSettings {
    pub(crate) fn resolve(args: UpperLimitArgs, format: Format) -> Result<Self, Error> {
        check_level(args.level)?;
        Ok(Self {
            model: ModelSettings::resolve(args.model, format),
            level: args.level,
            fits: TestOptions { search: search(args.search), extend_bound: args.extend_bound },
            plot: args.plot,
            points: args.points as usize,
        })
    }
}

pub(crate) struct SignificanceSettings {
    pub(crate) model: ModelSettings,
    /// The expected signal strength; `None` for the observed data.
    pub(crate) asimov: Option<f64>,
    pub(crate) fits: TestOptions,
    pub(crate) yields: bool,
}

impl SignificanceSettings {
    pub(crate) fn resolve(args: SignificanceArgs, format: Format) -> Self {
        Self {
            model: ModelSettings::resolve(args.model, format),
            asimov: args.asimov.then_some(args.test_poi),
            fits: TestOptions { search: search(args.search), extend_bound: args.extend_bound },
            yields: args.yields,
        }
    }
}

pub(crate) struct ScanSettings {
    pub(crate) model: ModelSettings,
    pub(crate) parameter: Option<String>,
    pub(crate) range: Option<[f64; 2]>,
    pub(crate) points: usize,
    pub(crate) search: Search,
    pub(crate) plot: Option<PathBuf>,
}

impl ScanSettings {
    pub(crate) fn resolve(args: ScanArgs, format: Format) -> Result<Self, Error> {
        let range = args.range.map(|range| [range[0], range[1]]);
        if let Some([from, to]) = range
            && !(from < to && from.is_finite() && to.is_finite())
        {
            return Err(Error::Usage(format!("--range goes up, not from {from} to {to}")));
        }
        Ok(Self {
            model: ModelSettings::resolve(args.model, format),
            parameter: args.parameter,
            range,
            points: args.points as usize,
            search: search(args.search),
            plot: args.plot,
        })
    }
}

pub(crate) struct RankSettings {
    pub(crate) model: ModelSettings,
    pub(crate) top: usize,
    pub(crate) plot: Option<PathBuf>,
}

impl RankSettings {
    pub(crate) fn resolve(args: RankArgs, format: Format) -> Self {
        let model = ModelSettings::resolve(args.model, format);
        Self { model, top: args.top, plot: args.plot }
    }
}

pub(crate) struct ToysSettings {
    pub(crate) model: ModelSettings,
    pub(crate) toys: u64,
    pub(crate) seed: u64,
    pub(crate) test_poi: Option<f64>,
    /// The test statistic of the toys; `None` for the fitted parameter of interest.
    pub(crate) test: Option<ToyTestSettings>,
    pub(crate) plot: Option<PathBuf>,
    pub(crate) part: Part,
}

pub(crate) struct ToyTestSettings {
    pub(crate) kind: TestKind,
    pub(crate) search: Search,
    /// The statistic and the search as they are typed.
    pub(crate) statistic: String,
    pub(crate) search_name: String,
}

impl ToysSettings {
    pub(crate) fn resolve(args: ToysArgs, format: Format) -> Result<Self, Error> {
        let model = ModelSettings::resolve(args.model, format);
        if args.test_stat == Some(ToyStatisticArg::Q0) && args.test_poi.is_some() {
            return Err(Error::Usage("q0 tests zero; --test-poi has no effect on it".to_owned()));
        }
        let test = args.test_stat.map(|statistic| ToyTestSettings {
            kind: match statistic {
                ToyStatisticArg::Q => TestKind::Q,
                ToyStatisticArg::Qtilde => TestKind::QTilde,
                ToyStatisticArg::Q0 => TestKind::Q0,
            },
            search: search(args.search),
            statistic: typed(&statistic),
            search_name: typed(&args.search),
        });
        Ok(Self {
            part: Part::resolve(args.part, &model.destination, args.plot.as_ref()),
            model,
            toys: u64::from(args.toys.toys),
            seed: args.toys.seed,
            test_poi: args.test_poi,
            test,
            plot: args.plot,
        })
    }
}

pub(crate) struct LimitsSettings {
    pub(crate) model: ModelSettings,
    pub(crate) patch_set: PathBuf,
    pub(crate) level: f64,
    pub(crate) fits: TestOptions,
    /// As it is typed.
    pub(crate) search_name: String,
    pub(crate) part: Part,
}

impl LimitsSettings {
    pub(crate) fn resolve(args: LimitsArgs, format: Format) -> Result<Self, Error> {
        check_level(args.level)?;
        let model = ModelSettings::resolve(args.model, format);
        Ok(Self {
            part: Part::resolve(args.part, &model.destination, None),
            model,
            patch_set: args.patchset,
            level: args.level,
            fits: TestOptions { search: search(args.search), extend_bound: args.extend_bound },
            search_name: typed(&args.search),
        })
    }
}

fn check_level(level: f64) -> Result<(), Error> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Error::Usage(format!("--level is between 0 and 1, not {level}")))
}
