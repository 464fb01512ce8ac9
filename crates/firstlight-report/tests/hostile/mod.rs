//! A document in which every foreign text is replaced by another.

use std::collections::{BTreeMap, BTreeSet};

use firstlight_schema::run::RunDocument;
use serde_json::Value;

/// With the first and the last sample of each regime, which is enough to cover all places of text.
fn shortened(mut document: RunDocument) -> RunDocument {
    for regime in document.cases[0].arms.iter_mut().flat_map(|arm| &mut arm.regimes) {
        if let Some(last) = regime.samples.len().checked_sub(1) {
            regime.samples.drain(1..last);
        }
    }
    document
}

/// A document, and the places of its free texts.
pub(crate) struct Free {
    value: Value,
    places: BTreeMap<String, Kind>,
}

#[derive(Clone, Copy)]
enum Kind {
    Anything,
    /// It begins with a finding's name, which stays.
    Finding,
}

impl Free {
    /// Finds the places by trial: names with a fixed set of values are rejected.
    pub(crate) fn new(document: RunDocument) -> Self {
        let value = serde_json::to_value(shortened(document)).unwrap();
        let mut all = BTreeSet::new();
        collect("", &value, &mut all);
        let accepts = |place: &str, kind: Kind| {
            let only = BTreeMap::from([(place.to_owned(), kind)]);
            let mut changed = value.clone();
            replace("", &mut changed, &only, "harmless");
            serde_json::from_value::<RunDocument>(changed).is_ok()
        };
        let places = all
            .into_iter()
            .filter_map(|place| {
                let mut kinds = [Kind::Anything, Kind::Finding].into_iter();
                let kind = kinds.find(|kind| accepts(&place, *kind))?;
                Some((place, kind))
            })
            .collect();
        Self { value, places }
    }

    pub(crate) fn with(&self, text: &str) -> RunDocument {
        let mut value = self.value.clone();
        replace("", &mut value, &self.places, text);
        serde_json::from_value(value).unwrap()
    }
}

/// The places of texts, treating all members of a list as one.
fn collect(place: &str, value: &Value, places: &mut BTreeSet<String>) {
    match value {
        Value::String(_) => {
            places.insert(place.to_owned());
        }
        Value::Array(values) => {
            for one in values {
                collect(&format!("{place}[]"), one, places);
            }
        }
        Value::Object(fields) => {
            for (key, one) in fields {
                collect(&format!("{place}.{key}"), one, places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn replace(place: &str, value: &mut Value, places: &BTreeMap<String, Kind>, text: &str) {
    match value {
        Value::String(old) => match places.get(place) {
            Some(Kind::Anything) => text.clone_into(old),
            Some(Kind::Finding) => *old = format!("process-failed: {text}"),
            None => {}
        },
        Value::Array(values) => {
            for one in values {
                replace(&format!("{place}[]"), one, places, text);
            }
        }
        Value::Object(fields) => {
            for (key, one) in fields {
                replace(&format!("{place}.{key}"), one, places, text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
