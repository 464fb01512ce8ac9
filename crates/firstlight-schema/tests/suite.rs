//! Valid and invalid suites.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use firstlight_schema::suite::{CaseFile, SuiteFile};

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
    assert_eq!(suite.regimes.len(), 3);
    assert_eq!(suite.reference_of(&suite.cases[0]), Some("fast"));
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
    assert_eq!(error, "line 15: the arm `fast` has none of `workload`, `command` and `process`");
    let error = refuse("command = [\"./slow\"]", "command = []");
    assert_eq!(error, "line 19: the arm `slow` has an empty `command`");
}

#[test]
fn two_arms_of_one_name_are_rejected() {
    assert_eq!(refuse("\"slow\"", "\"fast\""), "line 19: two arms are named `fast`");
}

#[test]
fn names_must_be_plain_because_they_become_paths() {
    let error = refuse("name = \"one\"", "name = \"../one\"");
    assert!(error.starts_with("line 10: invalid case name `../one`"), "{error}");
    let two_lines = "name = \"small\\nverified\"";
    let error = refuse("name = \"small\"", two_lines);
    assert!(error.contains("the suite's name has a line break"), "{error}");
}

#[test]
fn an_invalid_duration_is_rejected() {
    let error = refuse("\"20s\"", "\"soon\"");
    assert!(error.contains("`soon` is not a duration"), "{error}");
}

#[test]
fn an_unknown_environment_is_rejected() {
    let error = refuse("\"as-found\"", "\"docker\"");
    assert!(error.contains("expected \"as-found\" or a table"), "{error}");
}

#[test]
fn a_sweep_is_a_case_for_each_value() {
    let sweep = "arms = [\"fast\"]\nsweep = { parameter = \"width\", values = [8, 16] }\n\
                 work = { unit = \"rows\", count = \"width\" }";
    let suite = SuiteFile::parse(&GOOD.replacen("arms = [\"fast\"]", sweep, 1)).unwrap();
    let names: Vec<_> = suite.cases.iter().map(|case| case.name.get_ref().as_str()).collect();
    assert_eq!(names, ["one.width-8", "one.width-16"]);
    let work: Vec<_> = suite.cases.iter().map(CaseFile::work_per_call).collect();
    assert_eq!(work, [Some(8.0), Some(16.0)]);
    assert_eq!(suite.cases[1].point.as_ref().unwrap().case, "one");
}

#[test]
fn a_sweep_needs_different_values_and_work_a_number() {
    let sweep = "arms = [\"fast\"]\nsweep = { parameter = \"width\", values = [8, 8] }";
    let error = refuse("arms = [\"fast\"]", sweep);
    assert_eq!(error, "line 10: the case `one` has a sweep with fewer than two different values");
    let work = "arms = [\"fast\"]\nwork = { unit = \"rows\", count = \"height\" }";
    let error = refuse("arms = [\"fast\"]", work);
    assert_eq!(error, "line 10: the case `one` has no number `height` to count its rows");
}

#[test]
fn values_of_a_sweep_with_equal_names_are_rejected() {
    let sweep = "arms = [\"fast\"]\nsweep = { parameter = \"mode\", values = [\"a b\", \"a-b\"] }";
    let error = refuse("arms = [\"fast\"]", sweep);
    assert_eq!(error, "line 10: two cases are named `one.mode-a-b`");
}

#[test]
fn invalid_numbers_are_rejected() {
    let error = refuse("[sampling]", "[warm]\ntarget = 2.0\n[sampling]");
    assert!(error.ends_with("`warm.target` must be a fraction below 1: 0.02 is 2 %"), "{error}");
    let error = refuse("[sampling]", "[comparison]\nmargin = 5.0\n[sampling]");
    assert!(
        error.ends_with("`comparison.margin` must be a fraction below 1: 0.02 is 2 %"),
        "{error}"
    );
    let error = refuse("environment =", "reference = \"fats\"\nenvironment =");
    assert_eq!(error, "line 3: unknown arm `fats` (did you mean `fast`?)");
}
