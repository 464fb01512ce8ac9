//! Small recordings written by hand: causes of compilations.

mod made;

use firstlight_schema::trace::CauseKind;
use firstlight_trace::{Logs, TorchTrace};
use made::chrome::{Events, call};

/// A call whose operators have inputs.
fn shaped(events: Events, turn: u32, from: u32, args: &str) -> Events {
    let at = if turn > 0 { from + 105 } else { from + 5 };
    let name = if args.contains("Scalar") || !args.contains("double") {
        "CompiledFunction"
    } else {
        "aten::mm"
    };
    call(events, turn, from, if turn > 0 { 100 } else { 0 }).push(
        (1, 1),
        "cpu_op",
        name,
        (at + 2, at + 88),
        args,
    )
}

fn why(before: &str, after: &str, logs: Option<&Logs>) -> (CauseKind, String) {
    let mut events = Events::default();
    for (turn, from, args) in [(0, 0, before), (0, 200, before), (0, 400, before), (1, 600, after)]
    {
        events = shaped(events, turn, from, args);
    }
    let document = events.attributed_with("\"record_shapes\": 1,", logs);
    let [only] = document.compilations.as_slice() else { panic!("{:?}", document.compilations) };
    (only.cause.kind, only.cause.text.clone())
}

#[test]
fn a_size_that_became_dynamic_is_reported_as_the_changed_argument() {
    let before = r#""Input Dims":[[600],[32,600]],"Input type":["float","float"]"#;
    let after = r#""Input Dims":[[600],[],[48,600]],"Input type":["float","Scalar","float"]"#;
    let (kind, text) = why(before, after, None);
    assert_eq!(
        (kind, text.as_str()),
        (CauseKind::Shape, "argument 1: float[32,600] → float[48,600]")
    );
}

#[test]
fn another_number_of_tensors_is_not_a_cause_and_leaves_possibilities() {
    // A flag that is now on makes the code use one more weight, which was not passed as an argument.
    let before = r#""Input Dims":[[600],[32,600]],"Input type":["float","float"]"#;
    let after = r#""Input Dims":[[600],[600,600],[32,600]],"Input type":["float","float","float"]"#;
    let (kind, text) = why(before, after, None);
    assert_eq!(kind, CauseKind::ArgumentCount);
    assert!(text.starts_with("the compiled program uses 3 arguments instead of 2; "), "{text}");
    assert!(text.contains("possible are an attribute") && text.contains("--record"), "{text}");
    assert!(!text.contains('→'), "positions shift, so no shape changed: {text}");
}

#[test]
fn a_changed_type_is_found_from_the_operators_if_no_function_has_inputs() {
    let mut events = Events::default();
    for (turn, from, kind) in
        [(0, 0, "float"), (0, 200, "float"), (1, 400, "double"), (0, 700, "float")]
    {
        let args = format!(r#""Input Dims":[[6,6],[6,6]],"Input type":["{kind}","{kind}"]"#);
        let at = if turn > 0 { from + 105 } else { from + 5 };
        events = call(events, turn, from, if turn > 0 { 100 } else { 0 }).push(
            (1, 1),
            "cpu_op",
            "aten::mm",
            (at + 10, at + 80),
            &args,
        );
    }
    let document = events.attributed_with("\"record_shapes\": 1,", None);
    let cause = &document.compilations[0].cause;
    assert_eq!(cause.kind, CauseKind::Type);
    assert!(
        cause.text.starts_with("in `aten::mm`, argument 0: float[6,6] → double[6,6]"),
        "{}",
        cause.text
    );
}

#[test]
fn the_same_tensors_leave_possibilities_and_the_log_names_the_guard() {
    let same = r#""Input Dims":[[600],[32,600]],"Input type":["float","float"]"#;
    let (kind, text) = why(same, same, None);
    assert_eq!(kind, CauseKind::SameSignature);
    assert!(
        text.contains("possible are an attribute") && !text.contains("record_shapes"),
        "{text}"
    );
    let log = "V1115 10:00:01.1 9 torch/_dynamo/guards.py:1] {\"artifact\": {\"name\": \
               \"recompile_reasons\"}, \"frame_id\": 0, \"frame_compile_id\": 1}\n\t0/0: self.flag == True\n";
    let logs = Logs { torch: TorchTrace::parse(log), ..Logs::default() };
    let (kind, text) = why(same, same, Some(&logs));
    assert_eq!((kind, text.as_str()), (CauseKind::Guard, "0/0: self.flag == True"));
}
