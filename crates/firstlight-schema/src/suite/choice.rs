//! Values from the command line that replace those of the suite.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{ArmFile, CaseFile, SuiteFile};
use super::regime::Regime;
use super::scalar::Scalar;

/// The selected part of a suite, and numbers that replace its own; empty lists mean all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Choice {
    /// Processes per arm and regime.
    pub processes: Option<u32>,
    pub seed: Option<u64>,
    pub cases: Vec<String>,
    pub arms: Vec<String>,
    pub regimes: Vec<Regime>,
    /// A profile of the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Values of parameters, for every case that has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Scalar>,
    /// The requested extras; arms that need another extra are skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<String>,
}

impl Choice {
    /// Reduces the suite to the selection and sets the given numbers.
    pub fn apply(&self, suite: &mut SuiteFile) -> Result<(), String> {
        if let Some(name) = &self.profile {
            suite.apply_profile(name)?;
        }
        self.check(suite)?;
        self.set_parameters(suite)?;
        suite.arms.retain(|arm| self.has_extra(arm));
        suite.cases.retain(|case| self.wants_case(case));
        suite.arms.retain(|arm| wants(&self.arms, arm.name.get_ref()));
        if !self.regimes.is_empty() {
            suite.regimes.retain(|regime| self.regimes.contains(regime));
        }
        suite.take_processes(self.processes);
        if let Some(seed) = self.seed {
            suite.sampling.seed = seed;
        }
        let left: Vec<bool> = suite
            .cases
            .iter()
            .map(|case| suite.arms_of(case).next().is_some() && !suite.regimes_of(case).is_empty())
            .collect();
        let mut left = left.into_iter();
        suite.cases.retain(|_| left.next().unwrap_or(false));
        if suite.cases.is_empty() {
            return Err("this selection leaves nothing to measure".to_owned());
        }
        Ok(())
    }

    fn set_parameters(&self, suite: &mut SuiteFile) -> Result<(), String> {
        for (name, value) in &self.set {
            let mut found = false;
            for case in &mut suite.cases {
                let swept = case.point.as_ref().is_some_and(|point| point.parameter == *name);
                if let Some(own) = case.parameters.get_mut(name).filter(|_| !swept) {
                    if own.number().is_some() && value.number().is_none() {
                        return Err(format!("`{name}` expects a number, got `{value}`"));
                    }
                    (*own, found) = (value.clone(), true);
                }
            }
            if !found {
                return Err(format!("no case has a parameter named `{name}`"));
            }
        }
        Ok(())
    }

    fn has_extra(&self, arm: &ArmFile) -> bool {
        arm.extra.as_ref().is_none_or(|extra| self.extras.contains(extra.get_ref()))
    }

    fn check(&self, suite: &SuiteFile) -> Result<(), String> {
        let written = |case: &CaseFile| match &case.point {
            Some(point) => point.case.clone(),
            None => case.name.get_ref().clone(),
        };
        let mut cases: Vec<String> = suite.cases.iter().map(written).collect();
        cases.dedup();
        let is_point = |name: &String| suite.cases.iter().any(|case| case.name.get_ref() == name);
        let unknown: Vec<String> =
            self.cases.iter().filter(|name| !is_point(name)).cloned().collect();
        let arms: Vec<String> = suite.arms.iter().map(|arm| arm.name.get_ref().clone()).collect();
        let extras: Vec<String> = suite.extras().map(|(name, _)| name.to_owned()).collect();
        let asked =
            [("case", &unknown, cases), ("arm", &self.arms, arms), ("extra", &self.extras, extras)];
        for (what, asked, known) in asked {
            if let Some(name) = asked.iter().find(|name| !known.contains(name)) {
                return Err(match known.as_slice() {
                    [] => format!("no {what} `{name}`: the suite has no {what}s"),
                    known => format!("the suite has no {what} `{name}`, only {}", known.join(", ")),
                });
            }
        }
        if let Some(regime) = self.regimes.iter().find(|regime| !suite.regimes.contains(regime)) {
            let known: Vec<&str> = suite.regimes.iter().map(|known| known.name()).collect();
            let known = known.join(", ");
            return Err(match &self.profile {
                Some(profile) => format!("the profile `{profile}` has no {regime}, only {known}"),
                None => format!("the suite has no {regime}, only {known}"),
            });
        }
        let named = suite.arms.iter().filter(|arm| self.arms.contains(arm.name.get_ref()));
        match named.clone().find(|arm| !self.has_extra(arm)).and_then(|arm| arm.extra.as_ref()) {
            Some(extra) => {
                let extra = extra.get_ref();
                Err(format!("this arm needs the extra `{extra}`: add `--extra {extra}`"))
            }
            None => Ok(()),
        }
    }

    fn wants_case(&self, case: &CaseFile) -> bool {
        let swept = case.point.as_ref().is_some_and(|point| self.cases.contains(&point.case));
        swept || wants(&self.cases, case.name.get_ref())
    }
}

fn wants(asked: &[String], name: &str) -> bool {
    asked.is_empty() || asked.iter().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::{Choice, Regime, Scalar, SuiteFile};
    use crate::cache::Policy;

    const SUITE: &str = "name = \"s\"\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n\
        sweep = { parameter = \"n\", values = [1, 2] }\n\
        [[arm]]\nname = \"x\"\ncommand = [\"x\"]\n";

    #[test]
    fn a_chosen_sweep_keeps_all_its_points_and_given_numbers_replace_those_of_the_suite() {
        let mut suite = SuiteFile::parse(SUITE).unwrap();
        let choice =
            Choice { cases: vec!["b".to_owned()], processes: Some(3), ..Choice::default() };
        choice.apply(&mut suite).unwrap();
        let names: Vec<&str> = suite.cases.iter().map(|case| &**case.name.get_ref()).collect();
        assert_eq!(names, ["b.n-1", "b.n-2"]);
        assert_eq!((suite.sampling.processes, suite.warm.most_processes), (3, 3));
    }

    const SIZED: &str = "name = \"s\"\nparameters = { width = 8 }\n\
        [environment]\nrequirements = \"r\"\n[environment.extra.big]\nabout = \"much\"\n\
        [profile.tiny]\nprocesses = 2\nparameters = { width = 2 }\nsweeps = { b = [1, 3, 5] }\n\
        [[case]]\nname = \"a\"\nregimes = [\"warm\"]\n\
        [[case]]\nname = \"b\"\nsweep = { parameter = \"n\", values = [1, 2] }\n\
        [[arm]]\nname = \"x\"\ncommand = [\"x\"]\ncache = \"disabled\"\n\
        [[arm]]\nname = \"y\"\ncommand = [\"y\"]\nextra = \"big\"\n\
        [[arm]]\nname = \"z\"\ncommand = [\"z\"]\nat-most = { n = 3 }\n";

    fn arms(suite: &SuiteFile, case: usize) -> Vec<&str> {
        suite.arms_of(&suite.cases[case]).map(|arm| arm.name.get_ref().as_str()).collect()
    }

    #[test]
    fn a_profile_replaces_numbers_parameters_and_the_values_of_sweeps() {
        let mut suite = SuiteFile::parse(SIZED).unwrap();
        let set = [("width".to_owned(), Scalar::Integer(4))].into();
        let choice = Choice { profile: Some("tiny".to_owned()), ..Choice::default() };
        choice.apply(&mut suite).unwrap();
        let names: Vec<&str> = suite.cases.iter().map(|case| &**case.name.get_ref()).collect();
        assert_eq!(names, ["a", "b.n-1", "b.n-3", "b.n-5"]);
        assert_eq!(suite.sampling.processes, 2);
        assert_eq!(suite.cases[1].parameters["width"], Scalar::Integer(2));
        assert_eq!(suite.regimes_of(&suite.cases[0]), [Regime::Warm]);
        Choice { set, ..Choice::default() }.apply(&mut suite).unwrap();
        assert_eq!(suite.cases[1].parameters["width"], Scalar::Integer(4));
    }

    #[test]
    fn arms_are_skipped_where_they_do_not_apply_or_their_extra_was_not_requested() {
        let mut suite = SuiteFile::parse(SIZED).unwrap();
        let choice = Choice { profile: Some("tiny".to_owned()), ..Choice::default() };
        choice.apply(&mut suite).unwrap();
        assert_eq!((arms(&suite, 2), arms(&suite, 3)), (vec!["x", "z"], vec!["x"]));
        let mut suite = SuiteFile::parse(SIZED).unwrap();
        Choice { extras: vec!["big".to_owned()], ..Choice::default() }.apply(&mut suite).unwrap();
        assert_eq!(arms(&suite, 0), ["x", "y", "z"]);
        let typed = Choice { arms: vec!["y".to_owned()], ..Choice::default() };
        let error = typed.apply(&mut SuiteFile::parse(SIZED).unwrap()).unwrap_err();
        assert_eq!(error, "this arm needs the extra `big`: add `--extra big`");
    }

    #[test]
    fn an_arm_may_declare_its_own_state_of_the_caches() {
        let suite = SuiteFile::parse(SIZED).unwrap();
        let compilers = |arm| suite.policy(arm, Regime::ColdPrimed).compilers;
        assert_eq!((compilers("x"), compilers("z")), (Policy::Disabled, Policy::Primed));
    }

    #[test]
    fn a_parameter_of_no_case_cannot_be_set_nor_a_number_to_a_text() {
        let mut suite = SuiteFile::parse(SIZED).unwrap();
        for name in ["depth", "n"] {
            let set = [(name.to_owned(), Scalar::Integer(4))].into();
            let error = Choice { set, ..Choice::default() }.apply(&mut suite).unwrap_err();
            assert_eq!(error, format!("no case has a parameter named `{name}`"));
        }
        let set = [("width".to_owned(), Scalar::typed("wide"))].into();
        let error = Choice { set, ..Choice::default() }.apply(&mut suite).unwrap_err();
        assert_eq!(error, "`width` expects a number, got `wide`");
        let choice = Choice { profile: Some("tin".to_owned()), ..Choice::default() };
        let error = choice.apply(&mut suite).unwrap_err();
        assert_eq!(error, "the suite has no profile `tin`, only tiny");
    }

    #[test]
    fn a_profile_that_sets_a_parameter_of_no_case_is_rejected_with_its_line() {
        let text = SIZED.replace("{ width = 2 }", "{ widht = 2 }");
        let error = SuiteFile::parse(&text).unwrap_err();
        assert_eq!(error.to_string(), "line 7: the profile `tiny` sets `widht`, which no case has");
        assert_eq!(error.hint.as_deref(), Some("did you mean `width`?"));
    }

    #[test]
    fn a_regime_that_is_not_measured_is_rejected() {
        let asking = |profile: Option<&str>| {
            let regimes = vec![Regime::Warm, Regime::ColdPrimed];
            Choice { regimes, profile: profile.map(str::to_owned), ..Choice::default() }
        };
        let text = SIZED.replace("[profile.tiny]\n", "[profile.tiny]\nregimes = [\"warm\"]\n");
        let sized = SuiteFile::parse(&text).unwrap();
        let error = asking(Some("tiny")).apply(&mut sized.clone()).unwrap_err();
        assert_eq!(error, "the profile `tiny` has no cold-primed, only warm");
        let mut suite = SuiteFile::parse(&format!("regimes = [\"warm\"]\n{SUITE}")).unwrap();
        let error = asking(None).apply(&mut suite).unwrap_err();
        assert_eq!(error, "the suite has no cold-primed, only warm");
    }

    #[test]
    fn a_name_that_the_suite_does_not_have_is_rejected() {
        let mut suite = SuiteFile::parse(SUITE).unwrap();
        let choice = Choice { arms: vec!["y".to_owned()], ..Choice::default() };
        assert_eq!(choice.apply(&mut suite).unwrap_err(), "the suite has no arm `y`, only x");
        let choice = Choice { cases: vec!["c".to_owned()], ..Choice::default() };
        assert_eq!(choice.apply(&mut suite).unwrap_err(), "the suite has no case `c`, only a, b");
        let choice = Choice { cases: vec!["b.n-2".to_owned()], ..Choice::default() };
        choice.apply(&mut suite).unwrap();
        assert_eq!(suite.cases.len(), 1);
    }
}
