//! All conditions of a result, as names and values, without a selection.

use firstlight_schema::run::RunDocument;
use serde::Serialize;
use serde_json::Value;

use crate::words::format::{bytes, duration};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    pub facts: Vec<Fact>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub name: String,
    pub value: String,
    /// For the machine's state: its value after the last process.
    pub after: Option<String>,
}

pub(super) fn manifest(document: &RunDocument) -> Vec<Group> {
    let mut environment = facts(&document.environment);
    let (packages, environment): (Vec<Fact>, Vec<Fact>) =
        environment.drain(..).partition(|fact| fact.name.starts_with("packages"));
    let strip = |fact: Fact| Fact {
        name: fact.name.strip_prefix("packages ").unwrap_or(&fact.name).to_owned(),
        ..fact
    };
    vec![
        Group { name: "Result", facts: result(document) },
        Group { name: "Options", facts: facts(&document.options) },
        Group { name: "Machine", facts: facts(&document.machine) },
        Group { name: "Machine state, before and after", facts: state(document) },
        Group { name: "Environment", facts: environment },
        Group { name: "Packages", facts: packages.into_iter().map(strip).collect() },
    ]
}

fn result(document: &RunDocument) -> Vec<Fact> {
    let build = &document.firstlight;
    let schema = &document.schema;
    let complete = if document.complete { "yes" } else { "no" };
    [
        ("suite", document.suite.clone()),
        ("suite digest", document.suite_digest.clone()),
        ("created", document.created.clone()),
        ("complete", complete.to_owned()),
        ("seed", document.seed.to_string()),
        ("time limit", duration(document.timeout_ns.as_f64())),
        ("document", format!("{} {}", schema.name, schema.version)),
        ("firstlight", build.version.clone()),
        ("commit", build.commit.clone().unwrap_or_else(unknown)),
    ]
    .map(|(name, value)| Fact { name: name.to_owned(), value, after: None })
    .into()
}

/// The state before the first process and the state after the last.
fn state(document: &RunDocument) -> Vec<Fact> {
    let after = document.after.as_ref().map(facts).unwrap_or_default();
    let mut before = facts(&document.before);
    for fact in &mut before {
        let later = after.iter().find(|one| one.name == fact.name);
        fact.after = Some(later.map_or_else(unknown, |one| one.value.clone()));
    }
    before
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn facts(given: &impl Serialize) -> Vec<Fact> {
    let value = serde_json::to_value(given).expect("a document's parts have only plain fields");
    let mut facts = Vec::new();
    flatten("", &value, &mut facts);
    facts
}

/// Each value with the path of names that leads to it.
fn flatten(name: &str, value: &Value, facts: &mut Vec<Fact>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name} {key}") };
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(&below(key), value, facts));
        }
        Value::Array(values)
            if values.iter().any(|value| value.is_object() || value.is_array()) =>
        {
            let numbered = values.iter().enumerate();
            numbered.for_each(|(n, value)| flatten(&below(&n.to_string()), value, facts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let (name, value) = readable(name, value);
            facts.push(Fact { name, value, after: None });
        }
    }
}

/// Times and sizes with their unit, which is then removed from the name.
fn readable(name: &str, value: &Value) -> (String, String) {
    let rest = |suffix: &str| name.strip_suffix(suffix).map(str::to_owned);
    match (value, value.as_u64()) {
        (_, Some(ns)) if name.ends_with("-ns") => {
            #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
            let shown = duration(ns as f64);
            (rest("-ns").unwrap_or_default(), shown)
        }
        (_, Some(count)) if name.ends_with("-bytes") => {
            (rest("-bytes").unwrap_or_default(), bytes(count))
        }
        (Value::Null, _) => (name.to_owned(), unknown()),
        (Value::Bool(value), _) => (name.to_owned(), if *value { "yes" } else { "no" }.to_owned()),
        (Value::String(text), _) => (name.to_owned(), text.clone()),
        (Value::Array(values), _) if values.is_empty() => (name.to_owned(), "none".to_owned()),
        (Value::Array(values), _) => {
            let texts: Vec<String> = values.iter().map(|one| readable("", one).1).collect();
            (name.to_owned(), texts.join(", "))
        }
        (Value::Number(_) | Value::Object(_), _) => (name.to_owned(), value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::facts;

    #[test]
    fn nested_values_have_all_their_names() {
        let one = json!({"load": {"one": 0.5}, "memory-bytes": 4_096, "within-ns": 1_000_000,
            "gpus": [{"name": "a"}, {"name": "b"}], "turbo": null, "limits": ["x", "y"], "none": []});
        let shown: Vec<String> =
            facts(&one).iter().map(|fact| format!("{}: {}", fact.name, fact.value)).collect();
        assert_eq!(
            shown,
            [
                "gpus 0 name: a",
                "gpus 1 name: b",
                "limits: x, y",
                "load one: 0.5",
                "memory: 4.10 kB",
                "none: none",
                "turbo: unknown",
                "within: 1.00 ms",
            ]
        );
    }
}
