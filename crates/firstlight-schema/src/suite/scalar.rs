//! A parameter's value: one of TOML's and JSON's common scalars.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Scalar {
    /// A typed value: a boolean or a number if it parses as one, otherwise a string.
    pub fn typed(text: &str) -> Self {
        match text {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            _ => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(value), _) => Self::Integer(value),
                (_, Ok(value)) if value.is_finite() => Self::Float(value),
                _ => Self::Text(text.to_owned()),
            },
        }
    }

    /// Its value, if it is a number.
    #[expect(clippy::cast_precision_loss, reason = "parameters are small")]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean, a number or a string")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
        i64::try_from(value)
            .map(Scalar::Integer)
            .map_err(|_| de::Error::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.to_owned()))
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "number", "string"] })
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar;

    #[test]
    fn a_typed_value_has_the_type_it_would_have_in_a_suite() {
        assert_eq!(Scalar::typed("true"), Scalar::Bool(true));
        assert_eq!(Scalar::typed("12"), Scalar::Integer(12));
        assert_eq!(Scalar::typed("1e-3"), Scalar::Float(0.001));
        assert_eq!(Scalar::typed("inf"), Scalar::Text("inf".to_owned()));
        assert_eq!(Scalar::typed("model.safetensors").to_string(), "model.safetensors");
    }
}
