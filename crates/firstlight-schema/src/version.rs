//! Versions of documents and of the protocol: a newer minor version is read, a newer major version is
//! rejected.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A version whose minor number increases with additions and whose major number increases with incompatible
/// changes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The first field of every document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SchemaId {
    pub name: String,
    pub version: Version,
}

impl SchemaId {
    pub fn new(name: &str, version: Version) -> Self {
        Self { name: name.to_owned(), version }
    }
}

/// The firstlight that wrote a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct Build {
    pub version: String,
    /// The commit it was built from, if there was one.
    pub commit: Option<String>,
}

impl Build {
    pub fn new(version: &str, commit: Option<&str>) -> Self {
        Self { version: version.to_owned(), commit: commit.map(str::to_owned) }
    }
}
