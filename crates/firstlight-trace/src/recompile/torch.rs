//! torch.compile: the id says whether it is a second time; the cause is in the `TORCH_TRACE` log, or
//! else in the input shapes of the compiled function before and after.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Cause, CauseKind, Compilation, Turn};
use serde_json::Value;

use super::diff::{Argument, diff, first_use, unknown};
use super::torch_trace::TorchTrace;
use super::{Timed, served};
use crate::attribute::{Compile, Findings};
use crate::intervals::Span;
use crate::model::{Detail, Line, Place, Trace};

/// The calls around the compilations.
pub(super) struct Calls {
    around: Vec<Around>,
    /// The last call of each line, which may yet be told its inputs.
    open: Vec<Option<Open>>,
    /// How many there were.
    seen: u64,
}

/// What is compared to explain a compilation: the last call of the function before it, and the first call
/// of what was compiled.
struct Around {
    start: i64,
    id: String,
    before: Option<Call>,
    after: Option<Call>,
}

/// A call of a compiled function: when, under which id, with which inputs.
#[derive(Clone)]
struct Call {
    /// Its start, its line, its place on the line.
    order: (i64, usize, u64),
    id: String,
    inputs: Vec<String>,
}

struct Open {
    call: Call,
    end: i64,
}

impl Calls {
    pub(super) fn new(found: &Findings) -> Self {
        let around = |compile: &Compile| Around {
            start: compile.span.0,
            id: compile.id.clone().unwrap_or_default(),
            before: None,
            after: None,
        };
        Self { around: found.compiles.iter().map(around).collect(), open: Vec::new(), seen: 0 }
    }

    /// `CompiledFunction` inside `Torch-Compiled Region: 0/1`.
    pub(super) fn feed(&mut self, piece: &Trace, span: Span) {
        if self.around.is_empty() {
            return;
        }
        self.open.resize_with(piece.lines.len(), || None);
        let host = |line: &Line| line.place == Place::Host;
        for (number, line) in piece.lines.iter().enumerate().filter(|(_, line)| host(line)) {
            let mut open = self.open[number].take();
            let events = &line.events;
            for index in 0..events.len() {
                let start = events.start[index];
                let name = piece.names.text(events.name[index]);
                if let Some(id) = name.strip_prefix("Torch-Compiled Region: ") {
                    self.seen += 1;
                    let order = (start, number, self.seen);
                    let call = Call { order, id: id.to_owned(), inputs: Vec::new() };
                    let last = open.replace(Open { call, end: events.end(index) });
                    self.close(last);
                } else if let Detail::Inputs(text) = *piece.detail(line, index)
                    && let Some(open) = &mut open
                    && start < open.end
                    && open.call.inputs.is_empty()
                {
                    open.call.inputs = inputs(piece.names.text(text));
                }
            }
            // What no later event can lie in is told everything.
            if open.as_ref().is_some_and(|open| open.end <= span.1) {
                self.close(open.take());
            }
            self.open[number] = open;
        }
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(Open { call, .. }) = open else { return };
        let frame = |id: &str| id.split('/').next().map(str::to_owned);
        for around in &mut self.around {
            if call.order.0 >= around.start {
                let first = around.after.as_ref().is_none_or(|other| call.order < other.order);
                if first && call.id == around.id {
                    around.after = Some(call.clone());
                }
            } else {
                let last = around.before.as_ref().is_none_or(|other| call.order > other.order);
                if last && frame(&call.id) == frame(&around.id) {
                    around.before = Some(call.clone());
                }
            }
        }
    }
}

pub(super) fn explain(
    found: &Findings,
    timed: Vec<Timed>,
    calls: &Calls,
    log: Option<&TorchTrace>,
) -> Vec<Compilation> {
    let compiles = found.compiles.iter().zip(timed).zip(&calls.around);
    compiles.map(|((compile, timed), around)| one(compile, timed, around, log)).collect()
}

fn one(compile: &Compile, timed: Timed, around: &Around, log: Option<&TorchTrace>) -> Compilation {
    let id = compile.id.clone().unwrap_or_default();
    let again = id.split('/').nth(1).is_some_and(|turn| turn != "0");
    let (before, after) = (around.before.as_ref(), around.after.as_ref());
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
    let Timed { step, parts, duration_ns } = timed;
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
