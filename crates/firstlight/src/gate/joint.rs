//! One suite of two: every arm of a case becomes a case of its own with two arms, base and head. The
//! engine then interleaves the two sides of an arm, and a verdict on a case is a verdict on the commits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstlight_analysis::gate::Pair;
use firstlight_analysis::results::Margins;
use firstlight_engine::suites::{Place, Suite};
use firstlight_schema::suite::{
    ArmFile, CaseFile, EnvironmentFile, Program, Regime, SuiteFile, suite_from_json,
};
use serde_json::{Map, Value, json};

use super::trial::Side;
use crate::cold_suite::unused;

/// The names of the sides, in their order.
pub(super) const SIDES: [&str; 2] = ["base", "head"];

/// A suite of one side, as far as it was chosen.
pub(super) struct Half<'a> {
    pub(super) suite: &'a Suite,
    pub(super) side: &'a Side,
    pub(super) python: Option<&'a Path>,
}

/// The suite of both sides.
pub(super) struct Joint {
    /// As it is written down, with the files of both sides below `base/` and `head/`.
    pub(super) stored: String,
    /// As its processes need it.
    pub(super) started: String,
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) places: BTreeMap<String, Place>,
    pub(super) pairs: Vec<Pair>,
    /// Cases and arms that only one side has, or that cannot be compared.
    pub(super) notes: Vec<String>,
}

/// One arm of a case that both sides have.
struct Common<'a> {
    cases: [&'a CaseFile; 2],
    arm: &'a str,
    regimes: Vec<Regime>,
}

impl Common<'_> {
    fn case(&self) -> &str {
        self.cases[1].name.get_ref()
    }
}

/// Joins two halves; `only` selects pairs by their own names.
pub(super) fn joint(
    halves: &[Half<'_>; 2],
    question: &str,
    margins: &Margins,
    only: Option<&[(String, String)]>,
) -> Joint {
    let (mut common, notes) = common(halves);
    if let Some(only) = only {
        common.retain(|one| only.iter().any(|(case, arm)| one.case() == case && one.arm == arm));
    }
    let pairs = pairs(&common);
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for (one, pair) in common.iter().zip(&pairs) {
        for (half, name) in halves.iter().zip([&pair.base, &pair.head]) {
            let arm = half.suite.file.arm(one.arm);
            let is_process = arm.is_some_and(ArmFile::is_process);
            let folder =
                if is_process { half.side.folder.clone() } else { half.suite.folder.clone() };
            let python = half.python.map(Path::to_owned);
            let new = Place { folder, python, arm: one.arm.to_owned(), cases: BTreeMap::new() };
            let place = places.entry(name.clone()).or_insert(new);
            place.cases.insert(pair.case.clone(), one.case().to_owned());
        }
    }
    let text = |words: Words| text(halves, question, (&common, &pairs), margins, words);
    Joint {
        stored: text(Words::Stored),
        started: text(Words::Started),
        files: files(halves),
        places,
        pairs,
        notes,
    }
}

/// Whose paths a suite has: those of its copy in the run, or those of the checkouts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Stored,
    Started,
}

/// The cases and arms that both sides have, and a line for every other one.
fn common<'a>(halves: &'a [Half<'_>; 2]) -> (Vec<Common<'a>>, Vec<String>) {
    let [base, head] = [&halves[0].suite.file, &halves[1].suite.file];
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let named = |suite: &'a SuiteFile, name: &str| {
        suite.cases.iter().find(|case| case.name.get_ref() == name)
    };
    for case in head.cases.iter().filter(|case| case.planted.is_none()) {
        let name = case.name.get_ref();
        let Some(before) = named(base, name) else {
            notes.push(format!("not compared: {name} is only in head"));
            continue;
        };
        if case.parameters != before.parameters {
            notes.push(format!("not compared: {name} has other parameters in head than in base"));
            continue;
        }
        let other = base.regimes_of(before);
        let regimes: Vec<Regime> =
            head.regimes_of(case).into_iter().filter(|regime| other.contains(regime)).collect();
        for arm in head.arms_of(case).map(|arm| arm.name.get_ref()) {
            if base.arms_of(before).any(|known| known.name.get_ref() == arm) && !regimes.is_empty()
            {
                found.push(Common { cases: [before, case], arm, regimes: regimes.clone() });
            } else {
                notes.push(format!("not compared: {name}, {arm} is only in head"));
            }
        }
        for arm in base.arms_of(before).map(|arm| arm.name.get_ref()) {
            if !head.arms_of(case).any(|known| known.name.get_ref() == arm) {
                notes.push(format!("not compared: {name}, {arm} is only in base"));
            }
        }
    }
    for case in base.cases.iter().filter(|case| case.planted.is_none()) {
        let name = case.name.get_ref();
        if named(head, name).is_none() {
            notes.push(format!("not compared: {name} is only in base"));
        }
    }
    (found, notes)
}

/// Names of cases and arms in the joint suite, all different.
fn pairs(common: &[Common<'_>]) -> Vec<Pair> {
    let is_alone = common.iter().all(|one| one.arm == common[0].arm);
    let mut cases: Vec<String> = Vec::new();
    let pair = |one: &Common<'_>| {
        let (case, arm) = (one.case(), one.arm);
        let [base, head] =
            SIDES.map(|side| if is_alone { side.to_owned() } else { format!("{side}.{arm}") });
        let name = if is_alone { case.to_owned() } else { format!("{case}.{arm}") };
        let name = unused(&name, &cases);
        cases.push(name.clone());
        Pair { case: name, base, head, own_case: case.to_owned(), own_arm: arm.to_owned() }
    };
    common.iter().map(pair).collect()
}

/// The files of both sides, each below its side's folder.
fn files(halves: &[Half<'_>; 2]) -> Vec<(String, Vec<u8>)> {
    let of = |(half, side): (&Half<'_>, &str)| {
        let named =
            |(name, content): &(String, Vec<u8>)| (format!("{side}/{name}"), content.clone());
        half.suite.files.iter().map(named).collect::<Vec<_>>()
    };
    halves.iter().zip(SIDES).flat_map(of).collect()
}

fn text(
    halves: &[Half<'_>; 2],
    question: &str,
    (common, pairs): (&[Common<'_>], &[Pair]),
    margins: &Margins,
    words: Words,
) -> String {
    let head = &halves[1].suite.file;
    let mut suite = json!({
        "name": format!("gate-{}", head.name),
        "question": question,
        "regimes": head.regimes.clone(),
        "environment": environment(&head.environment),
        "files": files(halves).into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "sampling": head.sampling.clone(),
        "warm": head.warm.clone(),
        "comparison": head.comparison.clone(),
        "cache": head.cache,
        "case": common.iter().zip(pairs).map(|(one, pair)| case(one, pair, head, margins)).collect::<Vec<_>>(),
        "arm": arms(halves, pairs, words),
    });
    suite["comparison"]["verdicts"] = true.into();
    suite["comparison"]["control"] = true.into();
    suite_from_json(&without_nulls(suite)).replace('\u{7f}', "\\u007f") + "\n"
}

fn environment(of: &EnvironmentFile) -> Value {
    let EnvironmentFile::Provisioned(wanted) = of else { return "as-found".into() };
    let mut table = json!(wanted.clone());
    table["requirements"] = below_head(&wanted.requirements);
    // Each side's arms carry their own.
    table["variables"] = json!({});
    for (name, extra) in &wanted.extras {
        table["extra"][name]["requirements"] =
            extra.requirements.as_deref().map_or(Value::Null, below_head);
    }
    table
}

/// A file of head, as a path in the run.
fn below_head(path: &str) -> Value {
    format!("{}/{path}", SIDES[1]).into()
}

fn case(one: &Common<'_>, pair: &Pair, head: &SuiteFile, margins: &Margins) -> Value {
    let file = one.cases[1];
    let own = margins.cases.get(one.case()).copied().or(margins.all);
    json!({
        "name": pair.case,
        "parameters": file.parameters.clone(),
        "arms": [pair.base, pair.head],
        "work": file.work.clone(),
        "margin": own.unwrap_or_else(|| head.margin_of(file)),
        "regimes": one.regimes,
    })
}

/// The arms of all pairs, each once, base before head.
fn arms(halves: &[Half<'_>; 2], pairs: &[Pair], words: Words) -> Vec<Value> {
    let mut known: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for pair in pairs {
        for (place, name) in [&pair.base, &pair.head].into_iter().enumerate() {
            if !known.contains(&name.as_str()) {
                known.push(name);
                let suite = halves[place].suite;
                let started = suite.started.as_ref().filter(|_| words == Words::Started);
                let arm = started.unwrap_or(&suite.file).arm(&pair.own_arm);
                let arm = arm.expect("a pair is of arms that both suites have");
                found.push(arm_of(&halves[place], SIDES[place], name, arm, words));
            }
        }
    }
    found
}

fn arm_of(half: &Half<'_>, side: &str, name: &str, arm: &ArmFile, words: Words) -> Value {
    let stored = |word: &str| {
        let plain: PathBuf = Path::new(word).components().collect();
        let plain = plain.strip_prefix(".").unwrap_or(&plain).to_string_lossy().into_owned();
        let is_file = half.suite.files.iter().any(|(name, _)| *name == plain);
        if is_file && words == Words::Stored { format!("{side}/{plain}") } else { word.to_owned() }
    };
    let all = |line: &[String]| line.iter().map(|word| stored(word)).collect::<Vec<_>>();
    let mut fields = Map::new();
    match arm.program() {
        Program::Workload(file) => fields.insert("workload".to_owned(), stored(file).into()),
        Program::Command(line) => fields.insert("command".to_owned(), all(line).into()),
        Program::Process(line) => fields.insert("process".to_owned(), line.to_vec().into()),
    };
    let mut variables = match &half.suite.file.environment {
        EnvironmentFile::Provisioned(wanted) => wanted.variables.clone(),
        EnvironmentFile::AsFound => BTreeMap::new(),
    };
    variables.extend(arm.variables.clone());
    let rest = json!({
        "name": name,
        "options": arm.options.clone(),
        "variables": variables,
        "cache": arm.cache,
        "artefacts": arm.artefacts,
    });
    fields.extend(rest.as_object().cloned().unwrap_or_default());
    fields.into()
}

/// TOML has no null: an absent key says the same.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use firstlight_analysis::results::Margins;
    use firstlight_engine::suites::{self, Suite};
    use firstlight_schema::suite::{Program, SuiteFile};

    use super::{Half, Joint, joint};
    use crate::gate::Side;

    const HEAD: &str = r#"
name = "s"
reference = "b"
[environment]
requirements = "r.lock"
variables = { A = "1" }
[sampling]
timeout = "90500ms"
[comparison]
control = false
margin = 0.03
[[case]]
name = "mlp"
parameters = { n = 2, rate = 1e-5, text = "a \"b\" \u007f" }
work = { unit = "tokens", count = "n" }
[[case]]
name = "swept"
sweep = { parameter = "k", values = [1, 2] }
margin = 0.1
regimes = ["warm"]
[[case]]
name = "changed"
parameters = { n = 3 }
[[case]]
name = "new"
[[arm]]
name = "a"
workload = "./a.py"
options = { fast = true }
variables = { B = "2" }
[[arm]]
name = "b"
command = ["./b.sh", "x"]
cache = "disabled"
[[arm]]
name = "only-head"
workload = "a.py"
"#;

    fn suite(folder: &Path, text: &str) -> Suite {
        fs::create_dir_all(folder).unwrap();
        for name in ["a.py", "b.sh", "r.lock"] {
            fs::write(folder.join(name), name).unwrap();
        }
        fs::write(folder.join("suite.toml"), text).unwrap();
        suites::read(folder).unwrap()
    }

    fn joined(margins: &Margins) -> Joint {
        let folder = tempfile::tempdir().unwrap();
        let base = HEAD.replace("n = 3", "n = 4").replace("\"new\"", "\"old\"");
        let base = base.replace(
            "name = \"only-head\"\nworkload = \"a.py\"",
            "name = \"gone\"\nworkload = \"a.py\"",
        );
        let [base, head] = [("base", base.as_str()), ("head", HEAD)]
            .map(|(side, text)| suite(&folder.path().join(side), text));
        let sides =
            ["base", "head"].map(|name| Side::for_test(name, PathBuf::from("/at").join(name)));
        let halves = [
            Half { suite: &base, side: &sides[0], python: None },
            Half { suite: &head, side: &sides[1], python: None },
        ];
        joint(&halves, "Is it \"slower\"?", margins, None)
    }

    #[test]
    fn every_common_arm_is_a_case_with_two_sides_and_keeps_its_settings() {
        let joint = joined(&Margins { all: Some(0.05), ..Margins::default() });
        let [stored, started] =
            [&joint.stored, &joint.started].map(|text| SuiteFile::parse(text).unwrap());
        let names: Vec<&str> =
            stored.cases.iter().map(|case| case.name.get_ref().as_str()).collect();
        assert_eq!(
            names,
            ["mlp.a", "mlp.b", "swept.k-1.a", "swept.k-1.b", "swept.k-2.a", "swept.k-2.b"]
        );
        for case in &stored.cases {
            assert_eq!(stored.arms_of(case).count(), 2);
            assert!(stored.reference_of(case).unwrap().starts_with("base."));
            assert!((stored.margin_of(case) - 0.05).abs() < 1e-12);
        }
        assert_eq!(stored.regimes_of(&stored.cases[2]).len(), 1);
        assert_eq!(stored.cases[0].parameters["rate"].to_string(), "0.00001");
        assert_eq!(stored.cases[0].parameters["text"].to_string(), "a \"b\" \u{7f}");
        assert_eq!(stored.cases[0].work_per_call(), Some(2.0));
        assert_eq!(stored.sampling.timeout.as_millis(), 90_500);
        assert_eq!(stored.control_of(&stored.cases[0]), Some("base.a"), "a gate has a control");
        let program = |suite: &SuiteFile, arm: &str| match suite.arm(arm).unwrap().program() {
            Program::Workload(file) => file.to_owned(),
            Program::Command(words) | Program::Process(words) => words[0].clone(),
        };
        assert_eq!(program(&stored, "head.a"), "head/a.py");
        assert_eq!(program(&started, "head.a"), "./a.py");
        assert_eq!(program(&stored, "base.b"), "base/b.sh");
        assert_eq!(program(&started, "base.b"), "./b.sh");
        let variables = &stored.arm("head.a").unwrap().variables;
        assert_eq!((variables["A"].as_str(), variables["B"].as_str()), ("1", "2"));
        assert_eq!(joint.places["base.b"].cases["swept.k-1.b"], "swept.k-1");
        assert!(joint.files.iter().any(|(name, _)| name == "base/r.lock"));
    }

    #[test]
    fn margins_are_the_suites_own_unless_others_are_typed() {
        let typed = Margins { cases: [("swept.k-2".to_owned(), 0.2)].into(), all: None };
        let suite = SuiteFile::parse(&joined(&typed).stored).unwrap();
        let margins: Vec<f64> = suite.cases.iter().map(|case| suite.margin_of(case)).collect();
        assert_eq!(margins, [0.03, 0.03, 0.1, 0.1, 0.2, 0.2]);
    }

    #[test]
    fn what_only_one_side_has_is_named() {
        let notes = joined(&Margins::default()).notes.join("\n");
        for (what, whose) in [
            ("mlp, only-head", "only in head"),
            ("mlp, gone", "only in base"),
            ("new", "only in head"),
            ("old", "only in base"),
        ] {
            assert!(notes.contains(&format!("{what} is {whose}")), "{notes}");
        }
        assert!(notes.contains("changed has other parameters"), "{notes}");
    }
}
