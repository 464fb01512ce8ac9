//! A place in a foreign JSON file, so that every error names its position.

use std::num::NonZeroU64;

use serde_json::Value;

use super::ImportError;
use super::foreign::Timed;

const LONGEST_NAME: usize = 4096;
/// The largest number of characters shown of an invalid value.
const SHOWN: usize = 40;
/// A larger number of seconds is not a measurement.
const MOST_SECONDS: f64 = 1e9;

#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Place<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    pub(super) fn error<T>(&self, reason: impl Into<String>) -> Result<T, ImportError> {
        let path = if self.path.is_empty() { "the file".to_owned() } else { self.path.clone() };
        Err(ImportError::At { path, reason: reason.into() })
    }

    /// The expected and the actual value.
    fn wrong<T>(&self, wanted: &str) -> Result<T, ImportError> {
        let text = self.value.to_string();
        let shown: String = text.chars().take(SHOWN).filter(|c| !c.is_control()).collect();
        let more = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
        self.error(format!("is {shown}{more}, not {wanted}"))
    }

    pub(super) fn maybe(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Some(Self { value, path })
    }

    pub(super) fn key(&self, name: &str) -> Result<Self, ImportError> {
        match self.maybe(name) {
            Some(found) => Ok(found),
            None => self.error(format!("has no `{name}`")),
        }
    }

    pub(super) fn items(&self) -> Result<impl Iterator<Item = Self>, ImportError> {
        let Value::Array(values) = self.value else { return self.wrong("a list") };
        Ok(values
            .iter()
            .enumerate()
            .map(|(index, value)| Self { value, path: format!("{}[{index}]", self.path) }))
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    pub(super) fn text(&self) -> Result<&'a str, ImportError> {
        self.value.as_str().map_or_else(|| self.wrong("a text"), Ok)
    }

    /// A name on one line. Line breaks become spaces; other control characters could deceive a reader in a
    /// terminal.
    pub(super) fn name(&self) -> Result<String, ImportError> {
        let name = self.text()?.replace(['\n', '\r', '\t'], " ").trim().to_owned();
        if name.is_empty() {
            self.error("is empty")
        } else if name.chars().any(char::is_control) {
            self.error("is a name with control characters")
        } else if name.chars().nth(LONGEST_NAME).is_some() {
            self.error(format!("is a name longer than {LONGEST_NAME} characters"))
        } else {
            Ok(name)
        }
    }

    pub(super) fn number(&self) -> Result<f64, ImportError> {
        self.value.as_f64().map_or_else(|| self.wrong("a number"), Ok)
    }

    pub(super) fn integer(&self) -> Result<i64, ImportError> {
        self.value.as_i64().map_or_else(|| self.wrong("a whole number"), Ok)
    }

    pub(super) fn count(&self) -> Result<NonZeroU64, ImportError> {
        let count = self.value.as_u64().and_then(NonZeroU64::new);
        count.map_or_else(|| self.wrong("a count from 1 on"), Ok)
    }

    /// Seconds per call, for calls that were timed together.
    pub(super) fn timed(&self, calls: NonZeroU64, unit: f64) -> Result<Timed, ImportError> {
        let seconds = self.number()? * unit;
        #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
        let total = seconds * calls.get() as f64;
        if !(total.is_finite() && total > 0.0 && total < MOST_SECONDS) {
            return self.wrong("a time above zero");
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and less than a billion seconds"
        )]
        let ns = (total * 1e9).round() as u64;
        if ns == 0 {
            return self.wrong("a time of a nanosecond or more");
        }
        Ok(Timed { calls, ns })
    }
}
