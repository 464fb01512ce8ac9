//! The shape of `suite.toml`. An unknown key is an error with its line.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use super::error::{SuiteError, nearest};
use super::scalar::Scalar;
use crate::cache::Policy;

/// A suite as written. `SuiteFile::parse` has checked that its parts fit together.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SuiteFile {
    pub name: String,
    /// The question that the suite answers, in a sentence.
    #[serde(default)]
    pub question: Option<String>,
    #[serde(default = "both_cold_regimes")]
    pub regimes: Vec<Regime>,
    #[serde(default)]
    pub environment: EnvironmentFile,
    #[serde(default)]
    pub sampling: SamplingFile,
    #[serde(default)]
    pub cache: CacheFile,
    #[serde(rename = "case")]
    pub cases: Vec<CaseFile>,
    #[serde(rename = "arm")]
    pub arms: Vec<ArmFile>,
}

/// The condition under which an arm is measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// A fresh process, empty compiler caches.
    ColdClean,
    /// A fresh process, compiler caches filled by an unmeasured run.
    ColdPrimed,
}

impl Regime {
    pub fn name(self) -> &'static str {
        match self {
            Self::ColdClean => "cold-clean",
            Self::ColdPrimed => "cold-primed",
        }
    }

    pub fn compilers(self) -> Policy {
        match self {
            Self::ColdClean => Policy::Clean,
            Self::ColdPrimed => Policy::Primed,
        }
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// `environment = "as-found"`, or a table that says what to install.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(untagged)]
pub enum EnvironmentFile {
    /// `"as-found"`: the interpreter on the path, or the one given with `--python`.
    #[default]
    AsFound,
    Provisioned(Provisioned),
}

/// An environment that firstlight makes from a lock file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Provisioned {
    /// Requirements, all pinned, relative to the suite.
    pub requirements: String,
    /// The oldest Python that the lock file is for, such as `"3.11"`.
    #[serde(default)]
    pub python: Option<String>,
    /// Environment variables of every measured process.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SamplingFile {
    /// Fresh processes per arm and regime.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// How long one process may take, such as `"60s"`.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "String")]
    pub timeout: Duration,
    /// Decides the order of the processes.
    pub seed: u64,
}

impl Default for SamplingFile {
    fn default() -> Self {
        Self { processes: 10, timeout: Duration::from_mins(5), seed: 1 }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CacheFile {
    /// Python's `.pyc` files: `primed` unless the suite is about them.
    pub bytecode: Policy,
}

impl Default for CacheFile {
    fn default() -> Self {
        Self { bytecode: Policy::Primed }
    }
}

/// One job with one set of parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CaseFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Scalar>,
    /// The arms that do this job; all of them when absent.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub arms: Option<Vec<Spanned<String>>>,
}

/// One way of doing the job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArmFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// A Python file with a function `setup(case)`.
    #[serde(default)]
    pub workload: Option<String>,
    /// A program that speaks the runner protocol itself.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Given to `setup` beside the case's parameters.
    #[serde(default)]
    pub options: BTreeMap<String, Scalar>,
}

/// What an arm starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program<'a> {
    Workload(&'a str),
    Command(&'a [String]),
}

impl ArmFile {
    pub fn program(&self) -> Program<'_> {
        match (&self.workload, &self.command) {
            (Some(workload), None) => Program::Workload(workload),
            (None, Some(command)) => Program::Command(command),
            (Some(_), Some(_)) | (None, None) => {
                unreachable!("SuiteFile::parse lets only one of the two through")
            }
        }
    }
}

impl SuiteFile {
    /// Reads a suite and checks that its parts fit together.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        let suite: Self =
            toml::from_str(text).map_err(|error| SuiteError::from_toml(text, &error))?;
        suite.check(text)?;
        Ok(suite)
    }

    pub fn arms_of<'a>(&'a self, case: &'a CaseFile) -> impl Iterator<Item = &'a ArmFile> {
        self.arms.iter().filter(move |arm| {
            case.arms
                .as_ref()
                .is_none_or(|names| names.iter().any(|name| name.get_ref() == arm.name.get_ref()))
        })
    }

    fn check(&self, text: &str) -> Result<(), SuiteError> {
        let whole = |message: &str| Err(SuiteError::at(text, 0, message));
        if self.cases.is_empty() {
            return whole("the suite has no case");
        }
        if self.arms.is_empty() {
            return whole("the suite has no arm");
        }
        if self.regimes.is_empty() {
            return whole("`regimes` is empty");
        }
        if self.sampling.processes == 0 {
            return whole("`sampling.processes` is 0");
        }
        check_names(text, "case", self.cases.iter().map(|case| &case.name))?;
        check_names(text, "arm", self.arms.iter().map(|arm| &arm.name))?;
        self.arms.iter().try_for_each(|arm| check_arm(text, arm))?;
        self.cases.iter().try_for_each(|case| self.check_case(text, case))
    }

    fn check_case(&self, text: &str, case: &CaseFile) -> Result<(), SuiteError> {
        let known: Vec<&str> = self.arms.iter().map(|arm| arm.name.get_ref().as_str()).collect();
        for name in case.arms.iter().flatten() {
            if !known.contains(&name.get_ref().as_str()) {
                let message = format!("unknown arm `{}`", name.get_ref());
                let hint = nearest(name.get_ref(), &known);
                return Err(SuiteError::at(text, name.span().start, message)
                    .with_hint(hint.map(|name| format!("did you mean `{name}`?"))));
            }
        }
        Ok(())
    }
}

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
            let message = format!("the {what} name `{}` is not plain", name.get_ref());
            return Err(SuiteError::at(text, at, message)
                .with_hint(Some("use letters, digits, `-`, `_` and `.`".to_owned())));
        }
        if seen.contains(&name.get_ref().as_str()) {
            let message = format!("there are two {what}s named `{}`", name.get_ref());
            return Err(SuiteError::at(text, at, message));
        }
        seen.push(name.get_ref());
    }
    Ok(())
}

fn check_arm(text: &str, arm: &ArmFile) -> Result<(), SuiteError> {
    let problem = match (&arm.workload, &arm.command) {
        (Some(_), None) => return Ok(()),
        (None, Some(command)) if !command.is_empty() => return Ok(()),
        (None, Some(_)) => "has an empty `command`",
        (None, None) => "has neither `workload` nor `command`",
        (Some(_), Some(_)) => "has both `workload` and `command`",
    };
    let message = format!("the arm `{}` {problem}", arm.name.get_ref());
    Err(SuiteError::at(text, arm.name.span().start, message))
}

fn both_cold_regimes() -> Vec<Regime> {
    vec![Regime::ColdClean, Regime::ColdPrimed]
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text)
        .map_err(|error| de::Error::custom(format!("`{text}` is not a duration: {error}")))
}

impl<'de> Deserialize<'de> for EnvironmentFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EnvironmentVisitor)
    }
}

struct EnvironmentVisitor;

impl<'de> Visitor<'de> for EnvironmentVisitor {
    type Value = EnvironmentFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"as-found\" or a table with `requirements`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<EnvironmentFile, E> {
        match text {
            "as-found" => Ok(EnvironmentFile::AsFound),
            _ => Err(de::Error::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EnvironmentFile, A::Error> {
        Provisioned::deserialize(MapAccessDeserializer::new(map)).map(EnvironmentFile::Provisioned)
    }
}

#[cfg(test)]
mod tests {
    use super::SuiteFile;

    const GOOD: &str = r#"
name = "small"
environment = "as-found"

[sampling]
processes = 3
timeout = "20s"

[[case]]
name = "one"
parameters = { width = 8, deep = true, rate = 0.5 }
arms = ["fast"]

[[arm]]
name = "fast"
workload = "fast.py"

[[arm]]
name = "slow"
command = ["./slow"]
"#;

    fn refuse(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "`{from}` is not in the suite");
        let error = SuiteFile::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        error.hint.as_ref().map_or(error.to_string(), |hint| format!("{error} ({hint})"))
    }

    #[test]
    fn a_good_suite_is_read() {
        let suite = SuiteFile::parse(GOOD).unwrap();
        assert_eq!(suite.sampling.processes, 3);
        assert_eq!(suite.arms_of(&suite.cases[0]).count(), 1);
        assert_eq!(suite.regimes.len(), 2);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        let error = refuse("processes = 3", "proceses = 3");
        assert!(error.starts_with("line 6: unknown field `proceses`"), "{error}");
        assert!(error.ends_with("(did you mean `processes`?)"), "{error}");
    }

    #[test]
    fn an_unknown_key_in_an_environment_table_is_named_with_its_line() {
        let table = "\n[environment]\nrequirments = \"a.lock\"\n";
        let error = refuse("environment = \"as-found\"\n", table);
        assert!(error.contains("unknown field `requirments`"), "{error}");
        assert!(error.ends_with("(did you mean `requirements`?)"), "{error}");
    }

    #[test]
    fn an_unknown_arm_is_named_with_the_nearest_known_one() {
        let error = refuse("arms = [\"fast\"]", "arms = [\"fats\"]");
        assert_eq!(error, "line 12: unknown arm `fats` (did you mean `fast`?)");
    }

    #[test]
    fn an_arm_needs_exactly_one_program() {
        let error = refuse("workload = \"fast.py\"\n", "");
        assert_eq!(error, "line 15: the arm `fast` has neither `workload` nor `command`");
        let error = refuse("command = [\"./slow\"]", "command = []");
        assert_eq!(error, "line 19: the arm `slow` has an empty `command`");
    }

    #[test]
    fn two_arms_of_one_name_are_refused() {
        assert_eq!(refuse("\"slow\"", "\"fast\""), "line 19: there are two arms named `fast`");
    }

    #[test]
    fn names_must_be_plain_because_they_become_paths() {
        let error = refuse("name = \"one\"", "name = \"../one\"");
        assert!(error.starts_with("line 10: the case name `../one` is not plain"), "{error}");
    }

    #[test]
    fn a_duration_that_is_none_is_refused() {
        let error = refuse("\"20s\"", "\"soon\"");
        assert!(error.contains("`soon` is not a duration"), "{error}");
    }

    #[test]
    fn an_unknown_environment_is_refused() {
        let error = refuse("\"as-found\"", "\"docker\"");
        assert!(error.contains("expected \"as-found\" or a table"), "{error}");
    }
}
