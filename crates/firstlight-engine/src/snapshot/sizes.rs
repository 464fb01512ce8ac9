//! The arrays of a run, from its raw readings: the largest model and the element types.
//!
//! Readings may be larger than memory, so they are read line by line. Most lines count no arrays and are not
//! parsed.

use std::collections::BTreeSet;
use std::io::BufRead;

use firstlight_schema::message::ArrayCount;
use serde::Deserialize;

/// Of all processes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) most_parameters: u64,
    pub(super) types: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Line {
    sample: Process,
}

#[derive(Deserialize)]
struct Process {
    messages: Vec<Said>,
}

/// The part of an `output` that is of interest; other messages have none of it.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    parameters: Vec<ArrayCount>,
    #[serde(default)]
    inputs: Vec<ArrayCount>,
}

/// The key of a count in a line that has one.
const COUNT: &[u8] = b"\"elements\":";

impl Sizes {
    /// Lines of another version may hold something else; what was read before them counts.
    pub(super) fn read(mut raw: impl BufRead) -> Self {
        let mut sizes = Self::default();
        let mut bytes = Vec::new();
        while raw.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
            let counts = memchr::memmem::find(&bytes, COUNT).is_some();
            let line = counts.then(|| serde_json::from_slice::<Line>(&bytes));
            bytes.clear();
            let Some(line) = line else { continue };
            let Ok(line) = line else { break };
            for said in &line.sample.messages {
                let parameters = said.parameters.iter().map(|one| one.elements).sum();
                sizes.most_parameters = sizes.most_parameters.max(parameters);
                let all = said.parameters.iter().chain(&said.inputs);
                sizes.types.extend(all.map(|one| one.dtype.clone()));
            }
        }
        sizes
    }

    /// `, computing with float32 and int32 arrays and up to 36 parameters`; nothing if nothing is known.
    pub(super) fn words(&self) -> String {
        if self.types.is_empty() {
            return String::new();
        }
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        let parameters = match self.most_parameters {
            0 => String::new(),
            most => format!(" and up to {most} parameters"),
        };
        format!(", computing with {} arrays{parameters}", types.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn a_stream_of_readings_gives_the_largest_model_and_all_types() {
        let line = |outputs: &str| {
            format!("{{\"subject\":null,\"sample\":{{\"number\":1,\"messages\":[{outputs}]}}}}\n")
        };
        let count = |dtype: &str, elements: u64| {
            format!("[{{\"dtype\":\"{dtype}\",\"arrays\":1,\"elements\":{elements}}}]")
        };
        let output = |parameters: String, inputs: String| {
            format!("{{\"type\":\"output\",\"parameters\":{parameters},\"inputs\":{inputs}}}")
        };
        let raw = [
            line("{\"type\":\"bye\",\"at\":1}"),
            line(&output(count("bfloat16", 36), count("int32", 8))),
            line(&output(count("bfloat16", 12), count("float32", 8))),
        ];
        let sizes = Sizes::read(raw.concat().as_bytes());
        let words =
            ", computing with bfloat16 and float32 and int32 arrays and up to 36 parameters";
        assert_eq!(sizes.words(), words);
        assert_eq!(Sizes::read(raw[0].as_bytes()).words(), "");
        assert_eq!(Sizes::read(&b"not a reading"[..]), Sizes::default());
    }
}
