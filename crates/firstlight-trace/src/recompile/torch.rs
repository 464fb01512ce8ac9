//! torch.compile: the id says whether it is a second time; the cause is in the `TORCH_TRACE` log, or
//! else in the input shapes of the compiled function before and after.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Cause, CauseKind, Compilation, Turn};
use serde_json::Value;

use super::diff::{Argument, diff, first_use, unknown};
use super::torch_trace::TorchTrace;
use super::{served, timed};
use crate::attribute::{Compile, Findings};
use crate::model::{Detail, Place, Trace};

/// A call of a compiled function: when, under which id, with which inputs.
struct Call {
    start: i64,
    id: String,
    inputs: Vec<String>,
}

pub(super) fn explain(
    trace: &Trace,
    found: &Findings,
    log: Option<&TorchTrace>,
) -> Vec<Compilation> {
    let calls = calls(trace);
    found.compiles.iter().map(|compile| one(found, compile, &calls, log)).collect()
}

fn one(
    found: &Findings,
    compile: &Compile,
    calls: &[Call],
    log: Option<&TorchTrace>,
) -> Compilation {
    let id = compile.id.clone().unwrap_or_default();
    let frame = id.split('/').next().unwrap_or_default();
    let again = id.split('/').nth(1).is_some_and(|turn| turn != "0");
    let after = calls.iter().find(|call| call.id == id && call.start >= compile.span.0);
    let same_frame = |call: &&Call| call.id.split('/').next() == Some(frame);
    let before = calls.iter().rfind(|call| call.start < compile.span.0 && same_frame(call));
    let cause = if let Some(reason) = log.and_then(|log| log.reason(&id)) {
        Cause { kind: CauseKind::Guard, text: reason.to_owned(), changes: Vec::new() }
    } else if !again {
        first_use()
    } else {
        match (before, after) {
            (Some(before), Some(after)) if !after.inputs.is_empty() => {
                diff(&arguments(&before.inputs), &arguments(&after.inputs))
            }
            (Some(_), Some(_)) => {
                unknown("record with record_shapes=True, or give the TORCH_TRACE log")
            }
            _ => unknown("no call before and after it is in the recording"),
        }
    };
    let (step, parts, duration_ns) = timed(found, compile);
    Compilation {
        function: log
            .and_then(|log| log.function(&id))
            .map_or_else(|| compile.function.clone(), str::to_owned),
        step,
        start_ns: Nanos(u64::try_from(compile.span.0).unwrap_or(0)),
        duration_ns,
        parts,
        turn: if again { Turn::Again } else { Turn::First },
        served: served(compile),
        program: compile.id.clone(),
        previous: before.filter(|_| again).map(|call| call.id.clone()),
        cause,
    }
}

fn arguments(inputs: &[String]) -> Vec<Argument<'_>> {
    inputs.iter().map(|shape| Argument { name: "", shape }).collect()
}

/// `CompiledFunction` inside `Torch-Compiled Region: 0/1`.
fn calls(trace: &Trace) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for line in trace.lines.iter().filter(|line| line.place == Place::Host) {
        let events = &line.events;
        let mut end = i64::MIN;
        for index in 0..events.len() {
            let name = trace.names.text(events.name[index]);
            if let Some(id) = name.strip_prefix("Torch-Compiled Region: ") {
                end = events.end(index);
                let start = events.start[index];
                calls.push(Call { start, id: id.to_owned(), inputs: Vec::new() });
            } else if let Detail::Inputs(text) = *trace.detail(line, index)
                && events.start[index] < end
                && let Some(call) = calls.last_mut().filter(|call| call.inputs.is_empty())
            {
                call.inputs = inputs(trace.names.text(text));
            }
        }
    }
    calls.sort_by_key(|call| call.start);
    calls
}

/// `[[64, 128], []]` and `["float", "Scalar"]`, on two lines.
fn inputs(text: &str) -> Vec<String> {
    let (dims, types) = text.split_once('\n').unwrap_or((text, ""));
    let list = |text: &str| match serde_json::from_str(text) {
        Ok(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let types = list(types);
    list(dims)
        .iter()
        .enumerate()
        .map(|(index, dims)| {
            let dims: Vec<String> =
                dims.as_array().into_iter().flatten().map(Value::to_string).collect();
            let of = types.get(index).and_then(Value::as_str).unwrap_or("?");
            format!("{of}[{}]", dims.join(","))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::inputs;

    #[test]
    fn inputs_are_shapes_with_their_types() {
        let text = "[[64, 128], [], [[1], [2]]]\n[\"float\", \"Scalar\"]";
        assert_eq!(inputs(text), ["float[64,128]", "Scalar[]", "?[[1],[2]]"]);
        assert!(inputs("nonsense").is_empty());
    }
}
