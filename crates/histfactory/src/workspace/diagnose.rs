//! Describes the errors of an invalid workspace document, with names. Only runs after the fast reader has
//! rejected the document; follows pyhf's schema, version 1.0.0.

use serde_json::{Map, Value};

use super::error::{Place, Problem};
use super::modifier::ModifierType;
use super::nearest::nearest;

/// All deviations from the schema.
pub(super) fn diagnose(document: &Value) -> Vec<Problem> {
    let mut diagnosis = Diagnosis::default();
    diagnosis.workspace(document);
    diagnosis.problems
}

#[derive(Default)]
struct Diagnosis {
    problems: Vec<Problem>,
    place: Place,
}

impl Diagnosis {
    fn workspace(&mut self, document: &Value) {
        let keys = ["channels", "measurements", "observations", "version"];
        let Some(map) = self.object(document, "the workspace", &keys, &[]) else { return };
        self.items(map, "channels", Self::channel);
        self.items(map, "observations", Self::observation);
        self.items(map, "measurements", Self::measurement);
        if let Some(version) = map.get("version")
            && version != super::VERSION
        {
            self.complain(format!("`version` is {version}, only \"{}\" is known", super::VERSION));
        }
    }

    fn channel(&mut self, value: &Value, index: usize) {
        self.place = Place { channel: Some(called(value, index)), ..Place::default() };
        let Some(map) = self.object(value, "a channel", &["name", "samples"], &[]) else { return };
        self.string(map, "name");
        self.items(map, "samples", Self::sample);
    }

    fn sample(&mut self, value: &Value, index: usize) {
        self.place.sample = Some(called(value, index));
        if let Some(map) = self.object(value, "a sample", &["name", "data", "modifiers"], &[]) {
            self.string(map, "name");
            self.numbers(map, "data");
            self.list(map, "modifiers", 0, Self::modifier);
        }
        self.place.sample = None;
    }

    fn modifier(&mut self, value: &Value, index: usize) {
        self.place.modifier = Some(called(value, index));
        if let Some(map) = self.object(value, "a modifier", &["name", "type", "data"], &[]) {
            self.string(map, "name");
            self.modifier_data(map);
        }
        self.place.modifier = None;
    }

    fn modifier_data(&mut self, map: &Map<String, Value>) {
        let (Some(kind), Some(data)) = (map.get("type"), map.get("data")) else { return };
        let Some(kind) = self.modifier_type(kind) else { return };
        match kind {
            ModifierType::Histosys => {
                if let Some(data) = self.object(data, "`data`", &["lo_data", "hi_data"], &[]) {
                    self.numbers(data, "lo_data");
                    self.numbers(data, "hi_data");
                }
            }
            ModifierType::Normsys => {
                if let Some(data) = self.object(data, "`data`", &["lo", "hi"], &[]) {
                    self.number(data, "lo");
                    self.number(data, "hi");
                }
            }
            ModifierType::Shapesys | ModifierType::Staterror => self.numbers(map, "data"),
            ModifierType::Lumi | ModifierType::Normfactor | ModifierType::Shapefactor => {
                if !data.is_null() {
                    self.complain(format!("`data` of a {kind} is null, not {}", kind_of(data)));
                }
            }
        }
    }

    fn modifier_type(&mut self, value: &Value) -> Option<ModifierType> {
        let Value::String(text) = value else {
            self.complain(format!("`type` must be a string, not {}", kind_of(value)));
            return None;
        };
        let kind = ModifierType::parse(text);
        if kind.is_none() {
            let meant = nearest(text, ModifierType::ALL.map(ModifierType::as_str));
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            self.complain(format!("there is no modifier type `{text}`{meant}"));
        }
        kind
    }

    fn observation(&mut self, value: &Value, index: usize) {
        self.place = Place { observation: Some(called(value, index)), ..Place::default() };
        let Some(map) = self.object(value, "an observation", &["name", "data"], &[]) else {
            return;
        };
        self.string(map, "name");
        self.numbers(map, "data");
    }

    fn measurement(&mut self, value: &Value, index: usize) {
        self.place = Place { measurement: Some(called(value, index)), ..Place::default() };
        let Some(map) = self.object(value, "a measurement", &["name", "config"], &[]) else {
            return;
        };
        self.string(map, "name");
        let Some(config) = map.get("config") else { return };
        let Some(config) = self.object(config, "`config`", &["poi", "parameters"], &[]) else {
            return;
        };
        self.string(config, "poi");
        self.list(config, "parameters", 0, Self::parameter);
    }

    fn parameter(&mut self, value: &Value, index: usize) {
        self.place.parameter = Some(called(value, index));
        let lists = ["inits", "auxdata", "factors", "sigmas"];
        let known = ["inits", "auxdata", "factors", "sigmas", "bounds", "fixed"];
        if let Some(map) = self.object(value, "a parameter", &["name"], &known) {
            self.string(map, "name");
            for key in lists {
                self.numbers(map, key);
            }
            self.list(map, "bounds", 1, Self::bound);
            self.fixed(map);
        }
        self.place.parameter = None;
    }

    fn bound(&mut self, value: &Value, index: usize) {
        let pair = value.as_array().filter(|pair| pair.len() == 2);
        if !pair.is_some_and(|pair| pair.iter().all(Value::is_number)) {
            self.complain(format!("entry {index} of `bounds` is not a pair of numbers"));
        }
    }

    fn fixed(&mut self, map: &Map<String, Value>) {
        let flags = |value: &Value| match value {
            Value::Array(flags) => flags.iter().all(Value::is_boolean),
            value => value.is_boolean(),
        };
        if let Some(value) = map.get("fixed").filter(|value| !flags(value)) {
            self.complain(format!("`fixed` must be true or false, not {}", kind_of(value)));
        }
    }

    fn complain(&mut self, what: String) {
        self.problems.push(Problem { place: self.place.clone(), what });
    }

    /// The object with its keys checked.
    fn object<'a>(
        &mut self,
        value: &'a Value,
        what: &str,
        required: &[&str],
        optional: &[&str],
    ) -> Option<&'a Map<String, Value>> {
        let Value::Object(map) = value else {
            self.complain(format!("{what} must be an object, not {}", kind_of(value)));
            return None;
        };
        for key in required.iter().filter(|key| !map.contains_key(**key)) {
            self.complain(format!("`{key}` is missing"));
        }
        let known: Vec<&str> = required.iter().chain(optional).copied().collect();
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let meant = nearest(key, known.iter().copied());
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            self.complain(format!("there is no key `{key}` here{meant}"));
        }
        Some(map)
    }

    fn items(&mut self, map: &Map<String, Value>, key: &str, each: fn(&mut Self, &Value, usize)) {
        let place = self.place.clone();
        self.list(map, key, 1, each);
        self.place = place;
    }

    fn list(
        &mut self,
        map: &Map<String, Value>,
        key: &str,
        at_least: usize,
        each: fn(&mut Self, &Value, usize),
    ) {
        match map.get(key) {
            None => {}
            Some(Value::Array(items)) if items.len() < at_least => {
                self.complain(format!("`{key}` is empty"));
            }
            Some(Value::Array(items)) => {
                items.iter().enumerate().for_each(|(index, item)| each(self, item, index));
            }
            Some(other) => {
                self.complain(format!("`{key}` must be an array, not {}", kind_of(other)));
            }
        }
    }

    fn string(&mut self, map: &Map<String, Value>, key: &str) {
        if let Some(value) = map.get(key).filter(|value| !value.is_string()) {
            self.complain(format!("`{key}` must be a string, not {}", kind_of(value)));
        }
    }

    fn number(&mut self, map: &Map<String, Value>, key: &str) {
        if let Some(value) = map.get(key).filter(|value| !value.is_number()) {
            self.complain(format!("`{key}` must be a number, not {}", kind_of(value)));
        }
    }

    fn numbers(&mut self, map: &Map<String, Value>, key: &str) {
        let name = key.to_owned();
        let problem = match map.get(key) {
            None => return,
            Some(Value::Array(items)) if items.is_empty() => format!("`{name}` is empty"),
            Some(Value::Array(items)) => {
                let odd = items.iter().enumerate().find(|(_, item)| !item.is_number());
                let Some((index, item)) = odd else { return };
                format!("entry {index} of `{name}` must be a number, not {}", kind_of(item))
            }
            Some(other) => format!("`{name}` must be an array of numbers, not {}", kind_of(other)),
        };
        self.complain(problem);
    }
}

/// The name of an item, or its index in its list.
fn called(value: &Value, index: usize) -> String {
    value.get("name").and_then(Value::as_str).map_or_else(|| format!("#{index}"), str::to_owned)
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => {
            text.clone()
        }
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
