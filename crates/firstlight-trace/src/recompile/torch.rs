//! torch.compile: the id shows whether it is a recompilation. The cause is in the `TORCH_TRACE` log, or in
//! the compiled function's input shapes before and after.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Cause, CauseKind, Compilation, Turn};
use serde_json::Value;

use super::diff::{Argument, diff, first_use, same, unknown};
use super::torch_trace::TorchTrace;
use super::{Timed, served};
use crate::attribute::{Attribution, Compile};
use crate::intervals::Span;
use crate::model::{Detail, Line, Place, Trace};
use crate::names::NameId;

/// The calls around the compilations.
pub(super) struct Calls {
    around: Vec<Around>,
    /// The last call of each line, which may still get its inputs.
    open: Vec<Option<Open>>,
    /// The number of calls.
    seen: u64,
}

/// The calls compared to explain a compilation: the last call of the function before it, and the first call
/// of the compiled code.
struct Around {
    start: i64,
    id: String,
    before: Option<Call>,
    after: Option<Call>,
}

/// A call of a compiled function: its time, id and inputs.
#[derive(Clone)]
struct Call {
    /// Its start, its line, its index on the line.
    order: (i64, usize, u64),
    id: String,
    inputs: Vec<String>,
    /// The first operators in it, with their inputs.
    operators: Vec<(NameId, Vec<String>)>,
}

struct Open {
    call: Call,
    end: i64,
}

impl Calls {
    pub(super) fn new(found: &Attribution) -> Self {
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
                    let (id, inputs, operators) = (id.to_owned(), Vec::new(), Vec::new());
                    let call = Call { order, id, inputs, operators };
                    let last = open.replace(Open { call, end: events.end(index) });
                    self.close(last);
                } else if let Detail::Inputs(text) = *piece.detail(line, index)
                    && let Some(open) = &mut open
                    && start < open.end
                {
                    let inputs = tensors(piece.names.text(text));
                    if name != "CompiledFunction" {
                        open.call.operators.push((events.name[index], inputs));
                    } else if open.call.inputs.is_empty() {
                        open.call.inputs = inputs;
                    }
                }
            }
            // A call is complete when no later event can be inside it.
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
    trace: &Trace,
    found: &Attribution,
    timed: Vec<Timed>,
    calls: &Calls,
    log: Option<&TorchTrace>,
) -> Vec<Compilation> {
    let compiles = found.compiles.iter().zip(timed).zip(&calls.around);
    compiles.map(|((compile, timed), around)| one(trace, (compile, timed), around, log)).collect()
}

fn one(
    trace: &Trace,
    (compile, timed): (&Compile, Timed),
    around: &Around,
    log: Option<&TorchTrace>,
) -> Compilation {
    let id = compile.id.clone().unwrap_or_default();
    let recompiled = id.split('/').nth(1).is_some_and(|turn| turn != "0");
    let (before, after) = (around.before.as_ref(), around.after.as_ref());
    let cause = if let Some(reason) = log.and_then(|log| log.reason(&id)) {
        Cause { kind: CauseKind::Guard, text: reason.to_owned(), changes: Vec::new() }
    } else if !recompiled {
        first_use()
    } else {
        match (before, after) {
            (Some(before), Some(after)) => compared(trace, before, after),
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
        turn: if recompiled { Turn::Again } else { Turn::First },
        served: served(compile),
        program: compile.id.clone(),
        previous: before.filter(|_| recompiled).map(|call| call.id.clone()),
        cause,
    }
}

/// The remaining causes if all tensors are the same.
const SAME: &str = "the tensors have the same types and shapes; possible are an attribute, a global or another \
                    Python value that the code depends on, a grad mode or a setting; `firstlight trace --record` \
                    or the TORCH_TRACE log names which";

/// The remaining causes if the compiled code takes another number of tensors: it takes those that it uses, so
/// the caller may have passed as many as before.
const OTHER_COUNT: &str = "the cause is not in the recording; possible are an attribute, a global or another \
                           Python value that decides which tensors the code uses, or another number of \
                           arguments; `firstlight trace --record` or the TORCH_TRACE log names which";

/// Lists the remaining causes if the tensors alone do not show the cause.
fn with_possibilities(cause: Cause) -> Cause {
    match cause.kind {
        CauseKind::SameSignature => same(SAME),
        CauseKind::ArgumentCount => {
            Cause { text: format!("{}; {OTHER_COUNT}", cause.text), ..cause }
        }
        _ => cause,
    }
}

/// Compares two calls by the tensors passed to them, or by those of their first operators.
fn compared(trace: &Trace, before: &Call, after: &Call) -> Cause {
    if !before.inputs.is_empty() && !after.inputs.is_empty() {
        return with_possibilities(diff(&arguments(&before.inputs), &arguments(&after.inputs)));
    }
    if before.operators.is_empty() || after.operators.is_empty() {
        let text = if trace.facts.shapes == Some(true) {
            "the inputs of these calls are not in the recording; give the TORCH_TRACE log"
        } else {
            "record with record_shapes=True, or give the TORCH_TRACE log"
        };
        return unknown(text);
    }
    let pairs = before.operators.iter().zip(&after.operators);
    for ((name, old), (_, new)) in pairs.take_while(|(old, new)| old.0 == new.0) {
        let mut cause = diff(&arguments(old), &arguments(new));
        if cause.kind != CauseKind::SameSignature {
            cause.text = format!("in `{}`, {}", trace.names.text(*name), cause.text);
            return with_possibilities(cause);
        }
    }
    same(SAME)
}

fn arguments(inputs: &[String]) -> Vec<Argument<'_>> {
    inputs.iter().map(|shape| Argument { name: "", shape }).collect()
}

/// `[[64, 128], []]` and `["float", "Scalar"]`, on two lines; returns those that are tensors. A dynamic size
/// is a separate scalar.
fn tensors(text: &str) -> Vec<String> {
    let (dims, types) = text.split_once('\n').unwrap_or((text, ""));
    let list = |text: &str| match serde_json::from_str(text) {
        Ok(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let types = list(types);
    list(dims)
        .iter()
        .enumerate()
        .map(|(index, dims)| (dims, types.get(index).and_then(Value::as_str).unwrap_or("?")))
        .filter(|(_, kind)| !matches!(*kind, "" | "Scalar" | "ScalarList"))
        .map(|(dims, kind)| {
            let dims: Vec<String> =
                dims.as_array().into_iter().flatten().map(Value::to_string).collect();
            format!("{kind}[{}]", dims.join(","))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::tensors;

    #[test]
    fn inputs_are_shapes_with_their_types_and_no_scalars() {
        let text =
            "[[64, 128], [], [[1], [2]], []]\n[\"float\", \"Scalar\", \"TensorList\", \"double\"]";
        assert_eq!(tensors(text), ["float[64,128]", "TensorList[[1],[2]]", "double[]"]);
        assert!(tensors("nonsense").is_empty());
    }
}
