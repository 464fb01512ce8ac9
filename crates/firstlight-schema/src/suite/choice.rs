//! What was typed instead of the suite's own values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{CaseFile, SuiteFile};
use super::regime::Regime;

/// A part of a suite, and other numbers than its own; empty lists mean all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Choice {
    /// Processes per arm and regime.
    pub processes: Option<u32>,
    pub seed: Option<u64>,
    pub cases: Vec<String>,
    pub arms: Vec<String>,
    pub regimes: Vec<Regime>,
}

impl Choice {
    /// Leaves of the suite what was chosen, with the numbers that were typed.
    pub fn apply(&self, suite: &mut SuiteFile) -> Result<(), String> {
        self.check(suite)?;
        suite.cases.retain(|case| self.wants_case(case));
        suite.arms.retain(|arm| wants(&self.arms, arm.name.get_ref()));
        if !self.regimes.is_empty() {
            suite.regimes.retain(|regime| self.regimes.contains(regime));
            if suite.regimes.is_empty() {
                return Err("the suite measures none of these regimes".to_owned());
            }
        }
        if let Some(processes) = self.processes {
            suite.sampling.processes = processes;
            (suite.warm.processes, suite.warm.most_processes) = (processes, processes);
        }
        if let Some(seed) = self.seed {
            suite.sampling.seed = seed;
        }
        Ok(())
    }

    fn check(&self, suite: &SuiteFile) -> Result<(), String> {
        let swept = suite.cases.iter().filter_map(|case| Some(case.point.as_ref()?.case.as_str()));
        let mut cases: Vec<&str> =
            suite.cases.iter().map(|case| case.name.get_ref().as_str()).chain(swept).collect();
        cases.dedup();
        let arms: Vec<&str> = suite.arms.iter().map(|arm| arm.name.get_ref().as_str()).collect();
        for (what, asked, known) in [("case", &self.cases, &cases), ("arm", &self.arms, &arms)] {
            if let Some(name) = asked.iter().find(|name| !known.contains(&name.as_str())) {
                let known = known.join(", ");
                return Err(format!("the suite has no {what} `{name}`, only {known}"));
            }
        }
        Ok(())
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
    use super::{Choice, SuiteFile};

    const SUITE: &str = "name = \"s\"\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n\
        sweep = { parameter = \"n\", values = [1, 2] }\n\
        [[arm]]\nname = \"x\"\ncommand = [\"x\"]\n";

    #[test]
    fn a_chosen_sweep_keeps_all_its_points_and_typed_numbers_replace_the_suites() {
        let mut suite = SuiteFile::parse(SUITE).unwrap();
        let choice =
            Choice { cases: vec!["b".to_owned()], processes: Some(3), ..Choice::default() };
        choice.apply(&mut suite).unwrap();
        let names: Vec<&str> = suite.cases.iter().map(|case| &**case.name.get_ref()).collect();
        assert_eq!(names, ["b.n-1", "b.n-2"]);
        assert_eq!((suite.sampling.processes, suite.warm.most_processes), (3, 3));
    }

    #[test]
    fn a_name_that_the_suite_does_not_have_is_refused() {
        let mut suite = SuiteFile::parse(SUITE).unwrap();
        let choice = Choice { arms: vec!["y".to_owned()], ..Choice::default() };
        assert_eq!(choice.apply(&mut suite).unwrap_err(), "the suite has no arm `y`, only x");
    }
}
