//! Sizes of a suite: the same questions, smaller for CI or larger for a bigger machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::environment::EnvironmentFile;
use super::error::{SuiteError, nearest};
use super::file::{CaseFile, SuiteFile, optional_duration};
use super::measure::Takes;
use super::regime::Regime;
use super::scalar::Scalar;
use crate::cache::Policy;

/// The values with which `--profile NAME` replaces the suite's own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProfileFile {
    /// The purpose of the profile, in a sentence.
    pub about: Option<String>,
    /// Only these regimes.
    pub regimes: Option<Vec<Regime>>,
    /// Only these cases.
    #[schemars(with = "Option<Vec<String>>")]
    pub cases: Option<Vec<Spanned<String>>>,
    /// Processes per arm and regime.
    #[schemars(range(min = 1))]
    pub processes: Option<u32>,
    /// Time limit for one process.
    #[serde(deserialize_with = "optional_duration")]
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Duration>,
    /// Calls before the window.
    pub warm_up: Option<u32>,
    /// The largest number of calls in the window of one process.
    #[schemars(range(min = 10))]
    pub iterations: Option<u32>,
    /// The time limit of the window of one process.
    #[serde(deserialize_with = "optional_duration")]
    #[schemars(with = "Option<String>")]
    pub within: Option<Duration>,
    /// The state of Python's `.pyc` files.
    pub bytecode: Option<Policy>,
    /// Whether the reference arm is measured twice.
    pub control: Option<bool>,
    /// Whether arms are also recorded.
    pub trace: Option<bool>,
    /// Parameters of every case that has them.
    pub parameters: BTreeMap<String, Scalar>,
    /// Values of sweeps, by the name of the case.
    pub sweeps: BTreeMap<String, Vec<Scalar>>,
    /// Environment variables of every measured process, in addition to the environment's.
    pub variables: BTreeMap<String, String>,
}

/// A case that plants a known mistake, to show that firstlight rejects it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlantedFile {
    /// The same case without the mistake.
    #[schemars(with = "String")]
    pub of: Spanned<String>,
    /// The value that the mistake would publish as the result.
    #[serde(default)]
    pub takes: Takes,
}

impl SuiteFile {
    /// Replaces the suite's values with those of a profile.
    pub(super) fn apply_profile(&mut self, name: &str) -> Result<(), String> {
        let Some(profile) = self.profiles.get(name).cloned() else {
            let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            return Err(match known.as_slice() {
                [] => format!("no profile `{name}`: the suite has no profiles"),
                known => format!("the suite has no profile `{name}`, only {}", known.join(", ")),
            });
        };
        if let Some(regimes) = profile.regimes {
            self.regimes.retain(|regime| regimes.contains(regime));
        }
        self.take_processes(profile.processes);
        self.sampling.timeout = profile.timeout.unwrap_or(self.sampling.timeout);
        self.warm.warm_up = profile.warm_up.unwrap_or(self.warm.warm_up);
        self.warm.iterations = profile.iterations.unwrap_or(self.warm.iterations);
        self.warm.within = profile.within.unwrap_or(self.warm.within);
        self.cache.bytecode = profile.bytecode.unwrap_or(self.cache.bytecode);
        self.comparison.control = profile.control.unwrap_or(self.comparison.control);
        self.trace = profile.trace.unwrap_or(self.trace);
        if let EnvironmentFile::Provisioned(environment) = &mut self.environment {
            environment.variables.extend(profile.variables);
        }
        let mut cases = self.written.clone();
        if let Some(wanted) = &profile.cases {
            let wanted: Vec<&str> = wanted.iter().map(|name| name.get_ref().as_str()).collect();
            cases.retain(|case| wanted.contains(&case.name.get_ref().as_str()));
        }
        for case in &mut cases {
            for (name, value) in &profile.parameters {
                if let Some(own) = case.parameters.get_mut(name) {
                    *own = value.clone();
                }
            }
            let values = profile.sweeps.get(case.name.get_ref());
            if let Some((sweep, values)) = case.sweep.as_mut().zip(values) {
                sweep.values.clone_from(values);
            }
        }
        self.cases = cases.into_iter().flat_map(CaseFile::expand).collect();
        Ok(())
    }

    /// Sets the number of processes per arm in every regime.
    pub(super) fn take_processes(&mut self, processes: Option<u32>) {
        if let Some(processes) = processes {
            self.sampling.processes = processes;
            (self.warm.processes, self.warm.most_processes) = (processes, processes);
        }
    }

    /// Checks that profiles and planted cases name existing cases and parameters.
    pub(super) fn check_profiles(&self, text: &str) -> Result<(), SuiteError> {
        let cases: Vec<&str> = self.cases.iter().map(|case| case.name.get_ref().as_str()).collect();
        let parameters: BTreeSet<&str> =
            self.cases.iter().flat_map(|case| case.parameters.keys().map(String::as_str)).collect();
        let unknown = |at: usize, message: String, name: &str, known: &[&str]| {
            let hint = nearest(name, known).map(|name| format!("did you mean `{name}`?"));
            Err(SuiteError::at(text, at, message).with_hint(hint))
        };
        for (name, profile) in &self.profiles {
            let at = text.find(&format!("[profile.{name}")).unwrap_or(0);
            let problem = |words: &str| {
                Err(SuiteError::at(text, at, format!("the profile `{name}` {words}")))
            };
            if profile.iterations.is_some_and(|calls| calls < 10) {
                return problem("has `iterations` below 10, the fewest for a steady state");
            }
            if profile.processes == Some(0) {
                return problem("has 0 `processes`");
            }
            if let Some(parameter) =
                profile.parameters.keys().find(|name| !parameters.contains(name.as_str()))
            {
                let message = format!("the profile `{name}` sets `{parameter}`, which no case has");
                let known: Vec<&str> = parameters.iter().copied().collect();
                return unknown(at, message, parameter, &known);
            }
            let named = profile.cases.iter().flatten().map(|case| case.get_ref().as_str());
            for case in named.chain(profile.sweeps.keys().map(String::as_str)) {
                if !cases.contains(&case) {
                    let message = format!("the profile `{name}` names the unknown case `{case}`");
                    return unknown(at, message, case, &cases);
                }
            }
        }
        for planted in self.cases.iter().filter_map(|case| case.planted.as_ref()) {
            let of = planted.of.get_ref();
            if !cases.contains(&of.as_str()) {
                let message = format!("unknown case `{of}`");
                return unknown(planted.of.span().start, message, of, &cases);
            }
        }
        Ok(())
    }
}
