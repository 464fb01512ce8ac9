//! The structure of `suite.toml`. An unknown key is an error with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::Spanned;

use super::environment::{EnvironmentFile, ExtraFile};
use super::error::{SuiteError, nearest};
use super::launch::LaunchFile;
use super::measure::{ComparisonFile, SweepFile, WarmFile, WorkFile};
use super::profile::{PlantedFile, ProfileFile};
use super::regime::Regime;
use super::scalar::Scalar;
use crate::cache::{CachePolicy, Policy};

/// A suite as written. `SuiteFile::parse` has checked that its parts are consistent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SuiteFile {
    pub name: String,
    /// The question that the suite answers, in a sentence.
    #[serde(default)]
    pub question: Option<String>,
    #[serde(default = "all_regimes")]
    pub regimes: Vec<Regime>,
    /// The arm that the others are compared with; the first one when absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub reference: Option<Spanned<String>>,
    #[serde(default)]
    pub environment: EnvironmentFile,
    /// Whether the arms of the first case are also recorded: untraced, with the framework's own events,
    /// and with Python frames.
    #[serde(default)]
    pub trace: bool,
    /// Further files of the suite, relative to it, such as data that a workload reads.
    #[serde(default)]
    pub files: Vec<String>,
    #[serde(default)]
    pub sampling: SamplingFile,
    #[serde(default)]
    pub warm: WarmFile,
    #[serde(default)]
    pub comparison: ComparisonFile,
    #[serde(default)]
    pub cache: CacheFile,
    #[serde(default)]
    pub launch: LaunchFile,
    /// Default parameters of every case.
    #[serde(default)]
    pub parameters: BTreeMap<String, Scalar>,
    /// The same suite in other sizes, selected with `--profile`.
    #[serde(default, rename = "profile")]
    pub profiles: BTreeMap<String, ProfileFile>,
    #[serde(rename = "case")]
    pub cases: Vec<CaseFile>,
    /// The cases before their sweeps were expanded.
    #[serde(skip)]
    pub(super) written: Vec<CaseFile>,
    #[serde(rename = "arm")]
    pub arms: Vec<ArmFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SamplingFile {
    /// Fresh processes per arm and regime.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// Time limit for one process, such as `"60s"`.
    #[serde(deserialize_with = "duration", serialize_with = "written")]
    #[schemars(with = "String")]
    pub timeout: Duration,
    /// Seed for the order of the processes.
    pub seed: u64,
    /// Whether any exit code of a `process` is a success.
    pub any_exit_code: bool,
    /// Whether to pair each process of a `process` arm with one without hooks, to show their cost.
    pub unhooked: bool,
    /// A file that every `process` reads as its standard input, which is otherwise empty.
    pub stdin: Option<String>,
}

impl Default for SamplingFile {
    fn default() -> Self {
        Self {
            processes: 10,
            timeout: Duration::from_mins(5),
            seed: 1,
            any_exit_code: false,
            unhooked: false,
            stdin: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CacheFile {
    /// Python's `.pyc` files: `primed` unless the suite studies them.
    pub bytecode: Policy,
    /// The compilers' caches in the regime `cold-clean`: `as-configured` when absent.
    pub compilers: Option<Policy>,
    /// The kernel's cache of the interpreter's files: `as-found` or `clean`.
    pub page_cache: Policy,
}

impl Default for CacheFile {
    fn default() -> Self {
        Self { bytecode: Policy::Primed, compilers: None, page_cache: Policy::AsFound }
    }
}

/// One task with one set of parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CaseFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Scalar>,
    /// The arms that run this case; all of them when absent.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub arms: Option<Vec<Spanned<String>>>,
    /// The work done by one call, for throughputs.
    #[serde(default)]
    pub work: Option<WorkFile>,
    /// The margin of this case, instead of the suite's.
    #[serde(default)]
    pub margin: Option<f64>,
    /// Creates a case for each value of a parameter.
    #[serde(default)]
    pub sweep: Option<SweepFile>,
    /// A subset of the suite's regimes.
    #[serde(default)]
    pub regimes: Option<Vec<Regime>>,
    /// Present if the case plants a known mistake that firstlight must reject.
    #[serde(default)]
    pub planted: Option<PlantedFile>,
    /// The sweep that this case is a point of.
    #[serde(skip)]
    pub point: Option<SweepPoint>,
}

/// A point in a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// The case as written.
    pub case: String,
    pub parameter: String,
    pub value: Scalar,
}

/// One implementation of the cases.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArmFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// A Python file with a function `setup(case)`.
    #[serde(default)]
    pub workload: Option<String>,
    /// A program that implements the runner protocol itself.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// An unchanged command, measured from its start to its exit. It has cold
    /// regimes only.
    #[serde(default)]
    pub process: Option<Vec<String>>,
    /// Passed to `setup` together with the case's parameters.
    #[serde(default)]
    pub options: BTreeMap<String, Scalar>,
    /// Environment variables of this arm's processes, in addition to the environment's.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// The state of the compilers' caches in every regime, instead of the regime's own.
    #[serde(default)]
    pub cache: Option<Policy>,
    /// The `--extra` required for this arm.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub extra: Option<Spanned<String>>,
    /// Skips the arm in cases in which a parameter is larger.
    #[serde(default)]
    pub at_most: BTreeMap<String, f64>,
    /// Whether all its processes share the folder `FIRSTLIGHT_ARTEFACTS`, including the unmeasured first one.
    #[serde(default)]
    pub artefacts: bool,
}

/// The program of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program<'a> {
    Workload(&'a str),
    Command(&'a [String]),
    Process(&'a [String]),
}

impl ArmFile {
    fn applies_to(&self, case: &CaseFile) -> bool {
        self.at_most.iter().all(|(name, most)| {
            case.parameters.get(name).and_then(Scalar::number).is_none_or(|value| value <= *most)
        })
    }

    pub fn program(&self) -> Program<'_> {
        match (&self.workload, &self.command, &self.process) {
            (Some(workload), None, None) => Program::Workload(workload),
            (None, Some(command), None) => Program::Command(command),
            (None, None, Some(process)) => Program::Process(process),
            _ => unreachable!("SuiteFile::parse lets only one of the three through"),
        }
    }

    /// Whether it starts an unchanged command.
    pub fn is_process(&self) -> bool {
        self.process.is_some()
    }
}

impl SuiteFile {
    /// Reads a suite, lets `adjust` change the defaults, and checks that its parts are consistent.
    pub(super) fn read(text: &str, adjust: impl Fn(&mut Self)) -> Result<Self, SuiteError> {
        let mut suite: Self =
            toml::from_str(text).map_err(|error| SuiteError::from_toml(text, &error))?;
        adjust(&mut suite);
        for case in &mut suite.cases {
            case.inherit(&suite.parameters);
        }
        suite.check(text)?;
        suite.check_profiles(text)?;
        suite.written = suite.cases.clone();
        suite.cases = suite.cases.into_iter().flat_map(CaseFile::expand).collect();
        check_names(text, "case", suite.cases.iter().map(|case| &case.name))?;
        Ok(suite)
    }

    /// The reference arm of a case.
    pub fn reference_of<'a>(&'a self, case: &'a CaseFile) -> Option<&'a str> {
        let arms = || self.arms_of(case).map(|arm| arm.name.get_ref().as_str());
        let named = self.reference.as_ref().map(|name| name.get_ref().as_str());
        arms().find(|&arm| Some(arm) == named).or_else(|| arms().next())
    }

    pub fn arms_of<'a>(&'a self, case: &'a CaseFile) -> impl Iterator<Item = &'a ArmFile> {
        self.arms.iter().filter(move |arm| {
            let named = case
                .arms
                .as_ref()
                .is_none_or(|names| names.iter().any(|name| name.get_ref() == arm.name.get_ref()));
            named && arm.applies_to(case)
        })
    }

    /// The regimes in which a case is measured, in the suite's order.
    pub fn regimes_of(&self, case: &CaseFile) -> Vec<Regime> {
        let wanted =
            |regime: &Regime| case.regimes.as_ref().is_none_or(|only| only.contains(regime));
        self.regimes.iter().copied().filter(wanted).collect()
    }

    /// The cache policy of an arm in a regime.
    pub fn policy(&self, arm: &str, regime: Regime) -> CachePolicy {
        let of_suite = self.cache.compilers.filter(|_| regime == Regime::ColdClean);
        let own = self.arm(arm).and_then(|arm| arm.cache);
        CachePolicy {
            compilers: own.or(of_suite).unwrap_or_else(|| regime.compilers()),
            bytecode: self.cache.bytecode,
            page_cache: self.cache.page_cache,
        }
    }

    pub fn arm(&self, name: &str) -> Option<&ArmFile> {
        self.arms.iter().find(|known| known.name.get_ref() == name)
    }

    /// The margin of a case; smaller differences do not matter.
    pub fn margin_of(&self, case: &CaseFile) -> f64 {
        case.margin.unwrap_or(self.comparison.margin)
    }

    /// The target half-width of a case's intervals: half its margin unless the suite sets one, so that
    /// identical arms are found equivalent.
    pub fn target_of(&self, case: &CaseFile) -> f64 {
        self.warm.target.unwrap_or(self.margin_of(case) / 2.0)
    }

    /// The smallest number of processes per arm.
    pub fn least(&self, regime: Regime) -> u32 {
        if regime.is_cold() { self.sampling.processes } else { self.warm.processes }
    }

    /// The arm that a case measures twice: the reference of the first case with a comparison.
    pub fn control_of<'a>(&'a self, case: &'a CaseFile) -> Option<&'a str> {
        let compares = |case: &&CaseFile| self.arms_of(case).count() > 1;
        let first = self.cases.iter().find(compares).filter(|_| self.comparison.control)?;
        if first.name.get_ref() == case.name.get_ref() { self.reference_of(case) } else { None }
    }

    fn check(&self, text: &str) -> Result<(), SuiteError> {
        let whole = |message: &str| Err(SuiteError::at(text, 0, message));
        if self.name.contains('\n') {
            return whole("the suite's name has a line break");
        }
        if self.cases.is_empty() {
            return whole("the suite has no case");
        }
        if self.arms.is_empty() {
            return whole("the suite has no arm");
        }
        for (what, count) in [("cases", self.cases.len()), ("arms", self.arms.len())] {
            if count > MOST_OF_A_KIND {
                return whole(&format!(
                    "the suite has {count} {what}, {MOST_OF_A_KIND} are allowed"
                ));
            }
        }
        if self.regimes.is_empty() {
            return whole("`regimes` is empty");
        }
        if self.regimes.contains(&Regime::Fresh) {
            return whole("`regimes` has `fresh`, which is only for imported results");
        }
        if self.launch.slurm.nodes == 0 {
            return whole("`launch.slurm.nodes` is 0");
        }
        if self.sampling.processes == 0 {
            return whole("`sampling.processes` is 0");
        }
        if !matches!(self.cache.page_cache, Policy::AsFound | Policy::Clean) {
            let message = "`cache.page-cache` must be `as-found` or `clean`";
            return whole(message);
        }
        self.check_numbers(text)?;
        if let Some(name) = &self.reference {
            self.check_arm_name(text, name)?;
        }
        check_names(text, "case", self.cases.iter().map(|case| &case.name))?;
        check_names(text, "arm", self.arms.iter().map(|arm| &arm.name))?;
        self.arms.iter().try_for_each(|arm| check_arm(text, arm))?;
        self.arms.iter().try_for_each(|arm| self.check_extra(text, arm))?;
        self.cases.iter().try_for_each(|case| self.check_case(text, case))
    }

    fn check_numbers(&self, text: &str) -> Result<(), SuiteError> {
        let fraction = |value: f64| (0.0..1.0).contains(&value);
        let (warm, comparison) = (&self.warm, &self.comparison);
        let problems = [
            (warm.iterations < 10, "`warm.iterations` is below 10, the fewest for a steady state"),
            (warm.processes == 0, "`warm.processes` is 0"),
            (warm.most_processes < warm.processes, "`warm.most-processes` is below `processes`"),
            (
                !warm.target.is_none_or(fraction),
                "`warm.target` must be a fraction below 1: 0.02 is 2 %",
            ),
            (
                !fraction(comparison.margin),
                "`comparison.margin` must be a fraction below 1: 0.02 is 2 %",
            ),
            (!fraction(comparison.tolerance), "`comparison.tolerance` must be a fraction below 1"),
            (
                !comparison.quantiles.iter().all(|&q| fraction(q) && q > 0.0),
                "`comparison.quantiles` are between 0 and 1: 0.9 is the 90th percentile",
            ),
        ];
        match problems.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, message)) => Err(SuiteError::at(text, 0, message)),
            None => Ok(()),
        }
    }

    fn check_arm_name(&self, text: &str, name: &Spanned<String>) -> Result<(), SuiteError> {
        let known: Vec<&str> = self.arms.iter().map(|arm| arm.name.get_ref().as_str()).collect();
        if known.contains(&name.get_ref().as_str()) {
            return Ok(());
        }
        let message = format!("unknown arm `{}`", name.get_ref());
        let hint = nearest(name.get_ref(), &known);
        Err(SuiteError::at(text, name.span().start, message)
            .with_hint(hint.map(|name| format!("did you mean `{name}`?"))))
    }

    fn check_extra(&self, text: &str, arm: &ArmFile) -> Result<(), SuiteError> {
        let Some(extra) = &arm.extra else { return Ok(()) };
        let known: Vec<&str> = self.extras().map(|(name, _)| name).collect();
        if known.contains(&extra.get_ref().as_str()) {
            return Ok(());
        }
        let message = format!("the environment has no extra `{}`", extra.get_ref());
        let hint = format!("declare it: [environment.extra.{}]", extra.get_ref());
        Err(SuiteError::at(text, extra.span().start, message).with_hint(Some(hint)))
    }

    /// The extras that `--extra` accepts.
    pub fn extras(&self) -> impl Iterator<Item = (&str, &ExtraFile)> {
        let extras = match &self.environment {
            EnvironmentFile::Provisioned(provisioned) => Some(&provisioned.extras),
            EnvironmentFile::AsFound => None,
        };
        extras.into_iter().flatten().map(|(name, extra)| (name.as_str(), extra))
    }

    fn check_case(&self, text: &str, case: &CaseFile) -> Result<(), SuiteError> {
        for name in case.arms.iter().flatten() {
            self.check_arm_name(text, name)?;
        }
        let problem = |message: String| {
            let message = format!("the case `{}` {message}", case.name.get_ref());
            Err(SuiteError::at(text, case.name.span().start, message))
        };
        if case.margin.is_some_and(|margin| !(0.0..1.0).contains(&margin)) {
            return problem(
                "has an invalid `margin`: expected a fraction below 1, 0.02 is 2 %".to_owned(),
            );
        }
        if let Some(sweep) = &case.sweep {
            let names: BTreeSet<String> = sweep.values.iter().map(Scalar::to_string).collect();
            if names.len() < 2 || names.len() < sweep.values.len() {
                return problem("has a sweep with fewer than two different values".to_owned());
            }
        }
        let is_warm = self.regimes_of(case).contains(&Regime::Warm);
        if let Some(arm) = self.arms_of(case).find(|arm| is_warm && arm.is_process()) {
            return problem(format!(
                "has the regime `warm`, which the process `{}` cannot have",
                arm.name.get_ref()
            ));
        }
        if case.regimes.as_ref().is_some_and(|only| !only.iter().any(|r| self.regimes.contains(r)))
        {
            return problem("has no regime in common with the suite".to_owned());
        }
        match &case.work {
            Some(work) if case.work_of(work).is_none() => {
                problem(format!("has no number `{}` to count its {}", work.count, work.unit))
            }
            _ => Ok(()),
        }
    }
}

impl CaseFile {
    /// Inherits values that it does not set itself.
    fn inherit(&mut self, parameters: &BTreeMap<String, Scalar>) {
        let swept = self.sweep.as_ref().map(|sweep| sweep.parameter.clone());
        for (name, value) in parameters {
            if swept.as_ref() != Some(name) {
                self.parameters.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    /// The case itself, or one for each value of its sweep.
    pub(super) fn expand(self) -> Vec<Self> {
        let Some(sweep) = self.sweep.clone() else { return vec![self] };
        let point = |value: Scalar| {
            let mut case = self.clone();
            let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
            let label: String = value.to_string().chars().map(plain).collect();
            let name = format!("{}.{}-{label}", self.name.get_ref(), sweep.parameter);
            case.name = Spanned::new(self.name.span(), name);
            case.parameters.insert(sweep.parameter.clone(), value.clone());
            case.point = Some(SweepPoint {
                case: self.name.get_ref().clone(),
                parameter: sweep.parameter.clone(),
                value,
            });
            case
        };
        sweep.values.iter().cloned().map(point).collect()
    }

    /// The number of units of work in one call.
    pub fn work_per_call(&self) -> Option<f64> {
        self.work_of(self.work.as_ref()?)
    }

    fn work_of(&self, work: &WorkFile) -> Option<f64> {
        let swept = self.sweep.as_ref().and_then(|sweep| sweep.values.first());
        let named = |name: &String| {
            let swept = swept.filter(|_| self.sweep.as_ref().is_some_and(|s| s.parameter == *name));
            self.parameters.get(name).or(swept)?.number()
        };
        let count = work.count.number().or(match &work.count {
            Scalar::Text(name) => named(name),
            Scalar::Bool(_) | Scalar::Integer(_) | Scalar::Float(_) => None,
        })?;
        (count > 0.0).then_some(count)
    }
}

/// The largest number of cases or arms of one suite: more than anyone measures, and few enough to compare
/// with each other.
const MOST_OF_A_KIND: usize = 2_000;

fn check_names<'a>(
    text: &str,
    what: &str,
    names: impl Iterator<Item = &'a Spanned<String>>,
) -> Result<(), SuiteError> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        let at = name.span().start;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.get_ref().is_empty() || !name.get_ref().chars().all(plain) {
            let message = format!("invalid {what} name `{}`", name.get_ref());
            return Err(SuiteError::at(text, at, message)
                .with_hint(Some("use letters, digits, `-`, `_` and `.`".to_owned())));
        }
        if seen.contains(&name.get_ref().as_str()) {
            let message = format!("two {what}s are named `{}`", name.get_ref());
            return Err(SuiteError::at(text, at, message));
        }
        seen.push(name.get_ref());
    }
    Ok(())
}

fn check_arm(text: &str, arm: &ArmFile) -> Result<(), SuiteError> {
    let problem = match (&arm.workload, &arm.command, &arm.process) {
        (Some(_), None, None) => return Ok(()),
        (None, Some(words), None) | (None, None, Some(words)) if !words.is_empty() => {
            return Ok(());
        }
        (None, Some(_), None) => "has an empty `command`",
        (None, None, Some(_)) => "has an empty `process`",
        (None, None, None) => "has none of `workload`, `command` and `process`",
        _ => "has more than one of `workload`, `command` and `process`",
    };
    let message = format!("the arm `{}` {problem}", arm.name.get_ref());
    Err(SuiteError::at(text, arm.name.span().start, message))
}

fn all_regimes() -> Vec<Regime> {
    vec![Regime::ColdClean, Regime::ColdPrimed, Regime::Warm]
}

pub(super) fn optional_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// A duration as [`duration`] reads it.
pub(super) fn written<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_duration(*time))
}

pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text)
        .map_err(|error| de::Error::custom(format!("`{text}` is not a duration: {error}")))
}
