//! The recompilations in PyTorch's structured log (`TORCH_TRACE`): a line of JSON after a prefix, and its
//! payload on the lines that begin with a tab.

use std::collections::BTreeMap;

use firstlight_schema::trace::GraphBreak;
use serde::Deserialize;
use serde_json::Value;

/// Reasons and functions by compile id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TorchTrace {
    reasons: BTreeMap<String, String>,
    functions: BTreeMap<String, String>,
    breaks: Vec<GraphBreak>,
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
    /// Other lines are skipped, because the log contains much more.
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
        match artifact {
            Some("recompile_reasons") => {
                let reason = match serde_json::from_str(payload) {
                    Ok(Value::Array(reasons)) => {
                        let texts = reasons.iter().filter_map(Value::as_str).map(guard);
                        texts.collect::<Vec<_>>().join("; ")
                    }
                    _ => guard(payload),
                };
                self.reasons.insert(id.clone(), reason);
            }
            Some("dynamo_graph_break_reason") => {
                let known = |one: &GraphBreak| one.compile_id == id && payload.contains(&one.place);
                if !self.breaks.iter().any(known) {
                    self.breaks.push(graph_break(&id, payload));
                }
            }
            _ => {}
        }
        let Some(metrics) = &entry.compilation_metrics else { return };
        if let Some(name) = &metrics.co_name {
            self.functions.insert(id.clone(), name.clone());
        }
        if let Some(reason) = &metrics.recompile_reason {
            self.reasons.entry(id).or_insert_with(|| guard(reason));
        }
    }

    /// Adds another process's log; known entries are kept.
    pub(super) fn extend(&mut self, other: Self) {
        for (id, reason) in other.reasons {
            self.reasons.entry(id).or_insert(reason);
        }
        for (id, function) in other.functions {
            self.functions.entry(id).or_insert(function);
        }
        self.breaks.extend(other.breaks);
    }

    /// The graph breaks, with the names of their functions.
    pub(crate) fn graph_breaks(&self) -> Vec<GraphBreak> {
        let named = |one: &GraphBreak| GraphBreak {
            function: self.function(&one.compile_id).map(str::to_owned),
            ..one.clone()
        };
        self.breaks.iter().map(named).collect()
    }

    pub(super) fn reason(&self, id: &str) -> Option<&str> {
        self.reasons.get(id).map(String::as_str)
    }

    pub(super) fn function(&self, id: &str) -> Option<&str> {
        self.functions.get(id).map(String::as_str)
    }
}

/// Guards that failed, one per compiled version, without the stack traces below them.
fn guard(payload: &str) -> String {
    let lines = payload.lines().map(str::trim).filter(|line| !line.is_empty());
    let own = lines.take_while(|line| !line.starts_with("User stack trace"));
    let one_line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    own.map(one_line).collect::<Vec<_>>().join("; ")
}

/// `Graph break in user code at train.py:63`, then the reason and Dynamo's explanation.
fn graph_break(id: &str, payload: &str) -> GraphBreak {
    const PLACE: &str = "Graph break in user code at ";
    let lines = || payload.lines().map(str::trim).filter(|line| !line.is_empty());
    let place = lines().find_map(|line| line.strip_prefix(PLACE)).unwrap_or("?");
    let explanation = lines().find_map(|line| line.strip_prefix("Explanation: "));
    let reason = lines().find_map(|line| line.strip_prefix("Graph Break Reason: "));
    GraphBreak {
        compile_id: id.to_owned(),
        function: None,
        place: place.to_owned(),
        reason: explanation.or(reason).unwrap_or("?").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::TorchTrace;

    #[test]
    fn a_graph_break_has_its_place_and_its_reason_once() {
        let entry = "V1115 10:00:01.1 9 torch/_dynamo/symbolic_convert.py:1] {\"artifact\": {\"name\": \
                     \"dynamo_graph_break_reason\"}, \"frame_id\": 0, \"frame_compile_id\": 0}\n\tGraph \
                     break in user code at train.py:63\n\tGraph Break Reason: Encountered graph \
                     break:\n\t\n\tFailed to trace\n\t  Explanation: Dynamo does not know `print`\n";
        let [only] = TorchTrace::parse(&entry.repeat(2)).graph_breaks().try_into().unwrap();
        assert_eq!((only.place.as_str(), only.compile_id.as_str()), ("train.py:63", "0/0"));
        assert_eq!(only.reason, "Dynamo does not know `print`");
    }

    #[test]
    fn a_failed_guard_is_one_line() {
        let text = "V1115 10:00:01.1 9 torch/_dynamo/guards.py:1] {\"artifact\": {\"name\": \
                    \"recompile_reasons\"}, \"frame_id\": 0, \"frame_compile_id\": 1}\n\t0/0: self.flag \
                    == True       # train.py:17\n\tUser stack trace:\n\t  File \"train.py\", line 17\n";
        assert_eq!(
            TorchTrace::parse(text).reason("0/1"),
            Some("0/0: self.flag == True # train.py:17")
        );
    }

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
