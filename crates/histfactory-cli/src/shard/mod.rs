//! Shards: parts of one computation. Other processes, on any machine, compute the other parts.
//!
//! A toy depends on the seed and its number alone, and a signal on itself, so the joined shards are bitwise
//! the computation in one piece. `docs/guide/clusters.md` describes the file.

mod agree;
mod file;
mod join;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::output::Schema;

pub(crate) use file::{read, seal};
pub(crate) use join::{Joined, join};

pub(crate) const NAME: &str = "histfactory-shard";

/// The result of one process, and the question of which it is a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardDocument {
    pub(crate) schema: Schema,
    /// SHA-256 of this document in one line, with an empty string here.
    pub(crate) digest: String,
    /// The version of the program.
    pub(crate) histfactory: String,
    pub(crate) model: ModelRecord,
    pub(crate) question: Question,
    /// Such as 3/100: the third of a hundred.
    pub(crate) shard: String,
    /// The number of its first toy or signal, counted from zero.
    pub(crate) first: u64,
    /// How many toys or signals it has.
    pub(crate) count: u64,
    pub(crate) answers: Answers,
}

/// A model of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelRecord {
    /// SHA-256 of the patched workspace, as `histfactory digest` prints it.
    pub(crate) workspace: String,
    pub(crate) measurement: String,
    /// The parameter of interest; empty for none.
    pub(crate) poi: String,
    pub(crate) normsys: String,
    pub(crate) histosys: String,
}

/// The computation that is split into shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Question {
    /// Fits to toys.
    Fits(FitsQuestion),
    /// A test statistic of toys of two hypotheses.
    Test(TestQuestion),
    /// The upper limits of the signals of a patch set.
    Limits(LimitsQuestion),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FitsQuestion {
    /// Of all shards together.
    pub(crate) toys: u64,
    pub(crate) seed: u64,
    /// The value at which the parameter of interest was held; null for the best fit.
    pub(crate) test_poi: Option<f64>,
    pub(crate) drawn_at: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestQuestion {
    /// Of each hypothesis, of all shards together.
    pub(crate) toys: u64,
    pub(crate) seed: u64,
    pub(crate) test_stat: String,
    pub(crate) test_poi: f64,
    pub(crate) search: String,
    /// The test statistic of the observed data.
    pub(crate) observed: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsQuestion {
    /// SHA-256 of the patch set.
    pub(crate) patchset: String,
    pub(crate) signals: u64,
    pub(crate) level: f64,
    pub(crate) search: String,
    pub(crate) extend_bound: bool,
}

/// The answers to the question of the same name, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Answers {
    Fits(ToyFits),
    Test(ToyStatistics),
    Limits(Vec<SignalRow>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToyFits {
    /// Toys whose fit did not converge.
    pub(crate) failed: u64,
    pub(crate) fits: Vec<ToyRow>,
}

/// A toy that converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToyRow {
    pub(crate) toy: u64,
    pub(crate) poi: f64,
    /// Null where the fit has none, as at a bound.
    pub(crate) uncertainty: Option<f64>,
    pub(crate) twice_nll: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToyStatistics {
    /// Of toys drawn with the tested value.
    pub(crate) tested: Distribution,
    /// Of toys drawn with the other value: zero, or one for discovery.
    pub(crate) alternative: Distribution,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Distribution {
    /// Toys whose fits did not converge.
    pub(crate) failed: u64,
    /// The test statistic of every other toy, in the order of the toys.
    pub(crate) values: Vec<f64>,
}

/// The upper limits of one signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalRow {
    pub(crate) name: String,
    /// Where it lies on the axes of the patch set.
    pub(crate) values: Vec<serde_json::Value>,
    /// The observed limit; null if there is none.
    pub(crate) observed: Option<f64>,
    /// At −2, −1, 0, 1 and 2 standard deviations; null where there is none.
    pub(crate) expected: [Option<f64>; 5],
    /// The reasons of missing limits, and remarks on the others.
    pub(crate) notes: Vec<String>,
    /// The reason, if the signal has no limits.
    pub(crate) error: Option<String>,
}

impl ShardDocument {
    /// Toys or signals of all shards together.
    pub(crate) fn total(&self) -> u64 {
        match &self.question {
            Question::Fits(fits) => fits.toys,
            Question::Test(test) => test.toys,
            Question::Limits(limits) => limits.signals,
        }
    }

    /// The unit of the counts: toys or signals.
    pub(crate) const fn unit(&self) -> &'static str {
        match &self.question {
            Question::Fits(_) | Question::Test(_) => "toys",
            Question::Limits(_) => "signals",
        }
    }

    /// The number of toys or signals with an answer or a failure; `None` if they answer another question.
    pub(crate) fn answered(&self) -> Option<u64> {
        let of = |values: &Distribution| values.failed + values.values.len() as u64;
        match (&self.question, &self.answers) {
            (Question::Fits(_), Answers::Fits(fits)) => Some(fits.failed + fits.fits.len() as u64),
            (Question::Test(_), Answers::Test(toys)) => {
                let count = of(&toys.tested);
                (count == of(&toys.alternative)).then_some(count)
            }
            (Question::Limits(_), Answers::Limits(rows)) => Some(rows.len() as u64),
            (Question::Fits(_) | Question::Test(_) | Question::Limits(_), _) => None,
        }
    }
}
