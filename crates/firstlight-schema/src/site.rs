//! The document `site`: the summary of every snapshot of a site, so that unchanged snapshots are not read
//! again.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::estimate::Estimate;
use crate::machine::Machine;
use crate::suite::{Regime, Scalar};
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "site";
pub const VERSION: Version = Version { major: 1, minor: 1 };

/// The name of the document in a site's folder.
pub const STATE: &str = "site.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SiteDocument {
    pub schema: SchemaId,
    /// The firstlight that wrote the pages; another one rewrites all of them.
    pub firstlight: Build,
    /// All sources found, by name.
    pub sources: Vec<Source>,
    /// Sorted by time.
    pub snapshots: Vec<Published>,
}

/// A folder or an archive that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Source {
    pub name: String,
    /// A digest over the names, sizes and times of its files; the source is read again if it changes.
    pub stamp: String,
    pub standing: Standing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Standing {
    Published {
        id: String,
    },
    /// Verification failed, so none of its numbers is shown.
    Refused {
        reason: String,
    },
}

/// The part of a snapshot that is needed for histories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Published {
    pub id: String,
    /// UTC, as text and in seconds since 1970.
    pub created: String,
    pub at: f64,
    pub suite: String,
    /// The file or folder that it was read from.
    #[serde(default)]
    pub name: String,
    pub suite_digest: String,
    /// The version of the firstlight that measured.
    pub harness: String,
    pub machine: Machine,
    /// Its GPUs with driver and CUDA version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    pub complete: bool,
    pub cases: Vec<CaseFigures>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CaseFigures {
    pub name: String,
    pub parameters: BTreeMap<String, Scalar>,
    pub margin: f64,
    /// Its most important answer.
    #[serde(default)]
    pub headline: String,
    /// Sizes and element types of its arrays, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<String>,
    pub figures: Vec<Figure>,
}

/// One arm in one regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Figure {
    pub arm: String,
    pub regime: Regime,
    /// Absent if there is no valid, steady measurement.
    pub estimate: Option<Estimate>,
    /// Times of all valid processes, in nanoseconds.
    pub times: Vec<f64>,
    /// The reason why it cannot be compared with another snapshot's figure.
    pub unfit: Option<String>,
}

/// A figure compared with the previous one on the same machine; snapshots are given by their index in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub before: usize,
    pub after: usize,
    pub comparison: Comparison,
}

impl SiteDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}

impl Published {
    /// Whether both were measured on the same machine in the same state of its system.
    pub fn is_beside(&self, other: &Self) -> bool {
        let (a, b) = (&self.machine, &other.machine);
        a.cpu == b.cpu && a.cores == b.cores && a.kernel == b.kernel && self.gpu == other.gpu
    }

    pub fn case(&self, name: &str) -> Option<&CaseFigures> {
        self.cases.iter().find(|case| case.name == name)
    }
}
