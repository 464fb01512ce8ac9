//! The source of a suite's interpreter.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// `environment = "as-found"`, or a table of things to install.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(untagged)]
pub enum EnvironmentFile {
    /// `"as-found"`: the interpreter on the path, or the one given with `--python`.
    #[default]
    AsFound,
    Provisioned(Provisioned),
}

/// An environment that firstlight creates from a lock file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Provisioned {
    /// Requirements, all pinned, relative to the suite.
    pub requirements: String,
    /// The oldest Python that the lock file supports, such as `"3.11"`.
    #[serde(default)]
    pub python: Option<String>,
    /// Environment variables of every measured process.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Requirements of some arms, which only `--extra` installs.
    #[serde(default, rename = "extra")]
    pub extras: BTreeMap<String, ExtraFile>,
}

/// A requirement that not every user has: large packages, a device.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExtraFile {
    /// The cost of the extra, in a sentence.
    pub about: String,
    /// Further requirements, all pinned, relative to the suite.
    #[serde(default)]
    pub requirements: Option<String>,
}

impl<'de> Deserialize<'de> for EnvironmentFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EnvironmentVisitor)
    }
}

struct EnvironmentVisitor;

impl<'de> Visitor<'de> for EnvironmentVisitor {
    type Value = EnvironmentFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"as-found\" or a table with `requirements`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<EnvironmentFile, E> {
        match text {
            "as-found" => Ok(EnvironmentFile::AsFound),
            _ => Err(de::Error::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EnvironmentFile, A::Error> {
        Provisioned::deserialize(MapAccessDeserializer::new(map)).map(EnvironmentFile::Provisioned)
    }
}
