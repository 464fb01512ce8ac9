//! One event of a Chrome trace, borrowed from the text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The fields that are used; the rest is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JsonEvent<'a> {
    #[serde(borrow)]
    pub(crate) ph: Text<'a>,
    #[serde(borrow)]
    pub(crate) cat: Text<'a>,
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(borrow)]
    pub(crate) pid: Id<'a>,
    #[serde(borrow)]
    pub(crate) tid: Id<'a>,
    #[serde(borrow)]
    pub(crate) ts: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) dur: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) args: Option<&'a RawValue>,
}

/// A text that is only copied if it has escapes; other values count as absent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

/// A process or a thread: usually a number, sometimes a text.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id<'a> {
    #[default]
    None,
    Number(i64),
    Text(Cow<'a, str>),
}

impl Id<'_> {
    pub(crate) fn into_owned(self) -> Id<'static> {
        match self {
            Self::None => Id::None,
            Self::Number(number) => Id::Number(number),
            Self::Text(text) => Id::Text(Cow::Owned(text.into_owned())),
        }
    }

    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::None => None,
        }
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything).map(|id| match id {
            Id::Text(text) => Self(text),
            Id::None | Id::Number(_) => Self::default(),
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Id<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Id<'de>, E> {
        Ok(Id::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Id<'de>, E> {
        Ok(Id::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Id<'de>, E> {
        Ok(Id::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id<'de>, E> {
        Ok(Id::Number(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Id<'de>, E> {
        Ok(Id::None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Id<'de>, E> {
        Ok(Id::None)
    }

    fn visit_unit<E>(self) -> Result<Id<'de>, E> {
        Ok(Id::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Id<'de>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Id::None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Id<'de>, A::Error> {
        while items.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Id::None)
    }
}

/// The used fields of an event's `args`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Args<'a> {
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(borrow)]
    pub(crate) step_num: Id<'a>,
    #[serde(borrow)]
    pub(crate) program_id: Id<'a>,
    #[serde(borrow)]
    pub(crate) hlo_module: Text<'a>,
    #[serde(borrow)]
    pub(crate) run_id: Id<'a>,
    #[serde(borrow)]
    pub(crate) device_ordinal: Id<'a>,
    #[serde(borrow)]
    pub(crate) correlation: Id<'a>,
    #[serde(borrow, rename = "Input Dims")]
    pub(crate) input_dims: Option<&'a RawValue>,
    #[serde(borrow, rename = "Input type")]
    pub(crate) input_type: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::{Id, JsonEvent};

    #[test]
    fn an_event_borrows_what_has_no_escapes_and_takes_any_id() {
        let text = r#"{"ph":"X","name":"a\"b","pid":"Spans","tid":-1,"ts":1.5,"dur":2,"id":{"x":[1]},"cat":7}"#;
        let event: JsonEvent<'_> = serde_json::from_str(text).unwrap();
        assert_eq!((event.name.0.as_ref(), event.cat.0.as_ref()), ("a\"b", ""));
        assert_eq!(event.pid, Id::Text("Spans".into()));
        assert_eq!(event.tid, Id::Number(-1));
        assert_eq!(event.ts.unwrap().get(), "1.5");
    }
}
