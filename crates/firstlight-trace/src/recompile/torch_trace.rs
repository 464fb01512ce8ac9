//! The structured log that `TORCH_TRACE` makes PyTorch write, as far as recompilations go: a line of
//! JSON behind a prefix, and its payload on the lines that begin with a tab.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Reasons and functions by compile id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TorchTrace {
    reasons: BTreeMap<String, String>,
    functions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Entry {
    frame_id: Option<u64>,
    frame_compile_id: Option<u64>,
    artifact: Option<Artifact>,
    compilation_metrics: Option<Metrics>,
}

#[derive(Deserialize)]
struct Artifact {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Metrics {
    co_name: Option<String>,
    recompile_reason: Option<String>,
}

impl TorchTrace {
    /// Lines that are something else are skipped, for the log holds much besides.
    pub fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(at) = line.find("] {") else { continue };
            let Ok(entry) = serde_json::from_str::<Entry>(&line[at + 2..]) else { continue };
            let mut payload = String::new();
            while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
                payload.push_str(more.trim_start_matches('\t'));
                payload.push('\n');
            }
            log.entry(&entry, &payload);
        }
        log
    }

    fn entry(&mut self, entry: &Entry, payload: &str) {
        let (Some(frame), Some(turn)) = (entry.frame_id, entry.frame_compile_id) else { return };
        let id = format!("{frame}/{turn}");
        let artifact = entry.artifact.as_ref().and_then(|artifact| artifact.name.as_deref());
        if artifact == Some("recompile_reasons") {
            let reason = match serde_json::from_str(payload) {
                Ok(Value::Array(reasons)) => {
                    let texts = reasons.iter().filter_map(Value::as_str).map(str::trim);
                    texts.collect::<Vec<_>>().join("; ")
                }
                _ => payload.trim().to_owned(),
            };
            self.reasons.insert(id.clone(), reason);
        }
        let Some(metrics) = &entry.compilation_metrics else { return };
        if let Some(name) = &metrics.co_name {
            self.functions.insert(id.clone(), name.clone());
        }
        if let Some(reason) = &metrics.recompile_reason {
            self.reasons.entry(id).or_insert_with(|| reason.trim().to_owned());
        }
    }

    pub(super) fn reason(&self, id: &str) -> Option<&str> {
        self.reasons.get(id).map(String::as_str)
    }

    pub(super) fn function(&self, id: &str) -> Option<&str> {
        self.functions.get(id).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::TorchTrace;

    #[test]
    fn reasons_and_names_are_found_by_compile_id() {
        let text = concat!(
            "V1115 10:00:00.1 9 torch/_logging/structured.py:28] {\"str\": [\"a.py\", 1]}\n",
            "V1115 10:00:01.1 9 torch/_dynamo/guards.py:1] {\"artifact\": {\"name\": \
             \"recompile_reasons\", \"encoding\": \"json\"}, \"frame_id\": 0, \"frame_compile_id\": \
             1, \"attempt\": 0, \"has_payload\": \"ab\"}\n",
            "\t[\n\t\"0/0: tensor 'x' size mismatch at index 0. expected 64, actual 65\"\n\t]\n",
            "V1115 10:00:02.1 9 torch/_dynamo/utils.py:1] {\"compilation_metrics\": {\"co_name\": \
             \"forward\"}, \"frame_id\": 0, \"frame_compile_id\": 1}\n",
            "] {broken\n",
        );
        let log = TorchTrace::parse(text);
        let reason = log.reason("0/1").unwrap();
        assert_eq!(reason, "0/0: tensor 'x' size mismatch at index 0. expected 64, actual 65");
        assert_eq!((log.function("0/1"), log.reason("0/0")), (Some("forward"), None));
    }
}
