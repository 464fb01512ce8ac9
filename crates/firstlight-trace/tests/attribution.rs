//! Small recordings written by hand, whose truth is known: what ran, what waited, which step is which, and
//! why something was compiled.

use std::fmt::Write as _;

use firstlight_schema::finding::Finding;
use firstlight_schema::trace::{
    Bucket, CauseKind, LeftOut, NoticeName, Part, ProgramRow, Step, StepsBy, TraceDocument, Turn,
};
use firstlight_schema::version::Build;
use firstlight_trace::{Limits, Logs, TorchTrace, document, open_bytes, read_bytes};

const US: u64 = 1_000;

/// Events of a Chrome trace; times are whole microseconds.
#[derive(Default)]
struct Events(String);

impl Events {
    /// A recording of JAX, as its converter writes it.
    fn jax() -> Self {
        let mut events = Self::default();
        events.0.push_str(
            r#"{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},
               {"ph":"M","pid":9,"name":"process_name","args":{"name":"/device:GPU:0"}},"#,
        );
        events
    }

    fn push(
        mut self,
        (pid, tid): (u32, u32),
        cat: &str,
        name: &str,
        at: (u32, u32),
        args: &str,
    ) -> Self {
        let (ts, dur) = (at.0, at.1 - at.0);
        writeln!(
            self.0,
            r#"{{"ph":"X","pid":{pid},"tid":{tid},"cat":"{cat}","name":"{name}","ts":{ts},"dur":{dur},"args":{{{args}}}}},"#
        )
        .expect("a text can be written to");
        self
    }

    /// On the thread of the steps.
    fn main(self, name: &str, from: u32, to: u32) -> Self {
        self.push((1, 1), "", name, (from, to), "")
    }

    fn step(self, number: u32, from: u32, to: u32) -> Self {
        let args = format!(r#""step_num":"{number}""#);
        self.push((1, 1), "", "train", (from, to), &args)
    }

    /// An operator of a program on a thread of the processor.
    fn operator(self, tid: u32, name: &str, run: u32, from: u32, to: u32) -> Self {
        let args = format!(
            r#""hlo_op":"{name}","hlo_module":"jit_step","run_id":"{run}","device_ordinal":"0""#
        );
        self.push((1, tid), "", name, (from, to), &args)
    }

    fn torch(self, cat: &str, name: &str, from: u32, to: u32) -> Self {
        self.push((1, 1), cat, name, (from, to), "")
    }

    fn bytes(&self, head: &str) -> Vec<u8> {
        format!("{{{head}\"traceEvents\":[{}{{}}]}}", self.0).into_bytes()
    }

    fn told(&self) -> TraceDocument {
        self.told_with("", None)
    }

    /// The same whether it is read at once or in pieces.
    fn told_with(&self, head: &str, logs: Option<&Logs>) -> TraceDocument {
        let bytes = self.bytes(head);
        let build = || Build::new("0", None);
        let whole = document(
            &read_bytes(&bytes, &Limits::default()).expect("a trace"),
            "trace",
            logs,
            build(),
        );
        for step in &whole.steps {
            assert_eq!(step.parts.iter().map(|row| row.ns.0).sum::<u64>(), step.duration_ns.0);
        }
        let limits = Limits { memory: 4_000, ..Limits::default() };
        if let Ok(mut opened) = open_bytes(bytes, &limits)
            && let Ok(pieces) = opened.document("trace", logs, build())
        {
            assert_eq!(pieces.steps, whole.steps);
        }
        whole
    }
}

fn us(step: &Step, part: Part) -> u64 {
    step.part(part).0 / US
}

#[test]
fn operators_on_a_thread_of_the_processor_are_execution() {
    // Nothing tells that the program ran but its operators, and the gap between them is part of the run.
    let events = Events::jax()
        .step(0, 0, 1000)
        .main("PjitFunction(step)", 10, 60)
        .operator(2, "dot.1", 7, 50, 400)
        .operator(2, "add.2", 7, 405, 800)
        .push(
            (1, 2),
            "",
            "ThunkExecutor::Execute (wait for completion)",
            (800, 850),
            r#""run_id":"7""#,
        )
        .operator(2, "dot.1", 8, 900, 950);
    let of = events.told();
    assert_eq!(us(&of.steps[0], Part::Compiled), 800 + 50);
    assert_eq!(us(&of.steps[0], Part::Call), 40);
    assert_eq!(of.steps[0].bucket(Bucket::Host).0 / US, 10 + 50 + 50);
    assert!(of.findings.is_empty());
}

#[test]
fn a_program_that_was_called_and_never_ran_is_a_finding() {
    let called = Events::jax().step(0, 0, 1000).main("PjitFunction(step)", 10, 60);
    let finding = |of: &TraceDocument| {
        of.findings.iter().any(|one| one.finding == Finding::ExecutionNotRecorded)
    };
    assert!(finding(&called.told()));
    assert!(!finding(&called.operator(2, "dot.1", 7, 50, 400).told()));
    // Nothing called, nothing missing.
    assert!(!finding(&Events::jax().step(0, 0, 1000).told()));
    // Kernels were launched, and the device was not recorded: the graph on the host is no execution.
    let launched = Events::default()
        .torch("user_annotation", "ProfilerStep#1", 0, 1000)
        .torch("cpu_op", "Torch-Compiled Region: 0/0", 100, 900)
        .torch("user_annotation", "## Call CompiledFxGraph f ##", 150, 800)
        .torch("cuda_runtime", "cudaLaunchKernel", 200, 210);
    assert!(finding(&launched.told()));
}

#[test]
fn host_code_that_a_program_calls_back_is_neither_execution_nor_dispatch() {
    // Inside a loop of the program, on the calling thread itself, with a program of its own inside.
    let events = Events::jax()
        .step(0, 0, 1000)
        .main("PjitFunction(step)", 10, 900)
        .operator(1, "while.1", 7, 50, 850)
        .operator(1, "dot.1", 7, 60, 200)
        .operator(1, "pure_callback.1", 7, 210, 600)
        .operator(2, "sin.1", 9, 300, 400)
        .operator(1, "dot.2", 7, 610, 850);
    let of = events.told();
    let step = &of.steps[0];
    assert_eq!(us(step, Part::Callback), 390 - 100);
    assert_eq!(us(step, Part::Compiled), 800 - 390 + 100);
    assert_eq!(us(step, Part::Call), 40 + 50);
    assert_eq!(step.device_busy_ns.0 / US, 510);
}

#[test]
fn waits_are_waits_even_inside_a_call() {
    let waits = [
        "Wait for LaunchOnDevice completion",
        "$api.py:2490 try_to_block",
        "$api.py:2479 block_until_ready",
        "hipStreamSynchronize",
        "cuEventSynchronize",
    ];
    for name in waits {
        let events = Events::jax()
            .step(0, 0, 1000)
            .main("PjitFunction(step)", 10, 500)
            .main(name, 100, 400)
            .main(name, 600, 700)
            .operator(2, "dot.1", 7, 350, 420);
        let of = events.told();
        assert_eq!(us(&of.steps[0], Part::Blocked), 250 + 100, "{name}");
        assert_eq!(us(&of.steps[0], Part::Call), 90 + 80, "{name}");
    }
    for name in ["hipEventSynchronize", "hipDeviceSynchronize", "cudaStreamSynchronize"] {
        let events = Events::default()
            .torch("user_annotation", "ProfilerStep#1", 0, 1000)
            .torch("cuda_runtime", name, 100, 400)
            .push((0, 7), "kernel", "gemm", (200, 300), "");
        assert_eq!(us(&events.told().steps[0], Part::Blocked), 200, "{name}");
    }
}

/// A call of a compiled function of torch, `turn` times compiled.
fn call(events: Events, turn: u32, from: u32, compiled: u32) -> Events {
    let mut events = events.torch("cpu_op", "TorchDynamo Cache Lookup", from, from + 5);
    let mut at = from + 5;
    if compiled > 0 {
        let id = format!("compile_fx.x: compile_id=0/{turn}");
        events = events.torch("cpu_op", "dynamo", at, at + compiled).torch(
            "cpu_op",
            &id,
            at + 1,
            at + compiled,
        );
        at += compiled;
    }
    let region = format!("Torch-Compiled Region: 0/{turn}");
    events.torch("cpu_op", &region, at, at + 90).torch(
        "user_annotation",
        "## Call CompiledFxGraph f ##",
        at + 5,
        at + 85,
    )
}

#[test]
fn a_function_that_is_compiled_again_goes_on_making_steps() {
    let mut events = Events::default();
    for (number, from) in [(0, 100), (1, 300), (2, 500), (3, 700), (4, 1900)] {
        let turn = u32::from(number >= 3);
        events = call(events, turn, from, if number == 3 { 1000 } else { 0 });
    }
    let of = events.torch("cpu_op", "aten::ones", 2100, 2110).told();
    assert_eq!(of.steps_by, StepsBy::RepeatedCall);
    let starts: Vec<u64> = of.steps.iter().map(|step| step.start_ns.0 / US).collect();
    assert_eq!(starts, [0, 200, 400, 600, 1800]);
    // What was compiled belongs to the step that caused it, whole.
    let compiled: Vec<bool> = of.steps.iter().map(|step| step.compiled).collect();
    assert_eq!(compiled, [false, false, false, true, false]);
    assert_eq!(of.steps[3].bucket(Bucket::Compile).0 / US, 1000);
    assert_eq!((of.compilations[0].step, of.compilations[0].turn), (Some(3), Turn::Again));
    // The last step goes on to the recording's end, and is in no median.
    assert_eq!(of.steps[4].duration_ns.0 / US, 2110 - 1900);
    assert_eq!(of.steps[4].left_out, Some(LeftOut::Unended));
    assert_eq!(of.steady[0].median.n, 3);
}

#[test]
fn guessed_steps_of_jax_begin_with_what_is_called_first() {
    let mut events = Events::jax();
    for (index, from) in (0..4).map(|index| (index, index * 1000)) {
        events = events
            .main("PjitFunction(load)", from, from + 10)
            .main("PjitFunction(step)", from + 500, from + 600)
            .operator(2, "dot.1", index, from + 550, from + 900);
    }
    let of = events.operator(3, "copy.1", 99, 3950, 5000).told();
    let spans: Vec<(u64, u64)> =
        of.steps.iter().map(|step| (step.start_ns.0 / US, step.duration_ns.0 / US)).collect();
    assert_eq!(spans, [(0, 1000), (1000, 1000), (2000, 1000), (3000, 2000)]);
    assert!(of.notices.iter().any(|notice| notice.name == NoticeName::StepsGuessed));
}

#[test]
fn an_empty_last_step_is_in_no_median() {
    let mut events = Events::default();
    for (number, from) in [(0, 0), (1, 1000), (2, 2000), (3, 3000)] {
        let to = if number == 3 { from + 20 } else { from + 1000 };
        events = events.torch("user_annotation", &format!("ProfilerStep#{number}"), from, to);
        if number != 3 {
            events = events.torch("cpu_op", "aten::mm", from + 10, from + 600);
        }
    }
    let of = events.told();
    let left_out: Vec<Option<LeftOut>> = of.steps.iter().map(|step| step.left_out).collect();
    assert_eq!(left_out, [None, None, None, Some(LeftOut::Empty)]);
    assert_eq!(of.steady[0].median.n, 3);
    assert!((of.steady[0].median.point - 590e3).abs() < 1.0);
}

#[test]
fn empty_steps_between_others_are_in_no_median() {
    let mut events = Events::default();
    for number in 0..6 {
        let from = number * 1000;
        events =
            events.torch("user_annotation", &format!("ProfilerStep#{number}"), from, from + 1000);
        // The first one, and one in the middle.
        if number != 0 && number != 3 {
            events = events.torch("cpu_op", "aten::mm", from + 10, from + 600);
        }
    }
    let document = events.told();
    let empty: Vec<i64> = document
        .steps
        .iter()
        .filter(|step| step.left_out == Some(LeftOut::Empty))
        .map(|step| step.number)
        .collect();
    assert_eq!((empty, document.steady[0].median.n), (vec![0, 3], 4));
    assert!((document.steady[0].median.point - 590e3).abs() < 1.0);
    // What the host did is that of the same steps: 410 of each 1000.
    let host: f64 = document.frames.iter().map(|frame| frame.exclusive_ns).sum();
    assert!((host - 410e3).abs() < 1.0, "{host}");
    // Where no step works, none is set apart.
    let mut idle = Events::default();
    for number in 0..3 {
        let (from, name) = (number * 1000, format!("ProfilerStep#{number}"));
        idle = idle.torch("user_annotation", &name, from, from + 1000);
    }
    assert!(idle.told().steps.iter().all(Step::is_steady));
}

#[test]
fn a_compilation_before_a_run_belongs_to_that_runs_step() {
    // No call is recorded: steps are from one run of the program to the next.
    let mut events = Events::jax();
    for number in 0..5 {
        let from = number * 1000;
        if number == 3 {
            events = events.main("lower_sharding_computation", from - 200, from - 150).main(
                "backend_compile_and_load",
                from - 150,
                from - 50,
            );
        }
        events = events
            .operator(2, "dot.1", number, from, from + 400)
            .main("load", from + 410, from + 420)
            .main("log", from + 430, from + 440);
    }
    let document = events.told();
    assert_eq!(document.steps_by, StepsBy::RepeatedModule);
    let compiled: Vec<bool> = document.steps.iter().map(|step| step.compiled).collect();
    assert_eq!(compiled, [false, false, false, true, false]);
    assert_eq!(document.compilations[0].step, Some(3));
    assert_eq!(document.steps[3].bucket(Bucket::Compile).0 / US, 150);
    let spans: Vec<u64> = document.steps.iter().map(|step| step.duration_ns.0 / US).collect();
    assert_eq!(spans, [1000, 1000, 800, 1200, 440]);
}

#[test]
fn eager_operators_on_the_processor_are_execution() {
    let events = Events::default()
        .torch("user_annotation", "ProfilerStep#1", 0, 1000)
        .torch("user_annotation", "Optimizer.step#SGD.step", 600, 900)
        .torch("cpu_op", "aten::linear", 100, 500)
        .torch("cpu_op", "aten::addmm", 120, 480)
        .torch("cpu_op", "aten::add_", 650, 700)
        .push(
            (1, 2),
            "cpu_op",
            "autograd::engine::evaluate_function: AddmmBackward0",
            (450, 550),
            "",
        );
    let of = events.told();
    assert_eq!(us(&of.steps[0], Part::Eager), 450 + 50);
    assert_eq!(of.steps[0].bucket(Bucket::Host).0 / US, 500);
    // With a device the kernels run, and operators launch them.
    let of = events.push((0, 7), "kernel", "gemm", (700, 900), "").told();
    assert_eq!(us(&of.steps[0], Part::Eager), 200);
}

#[test]
fn older_names_of_categories_are_read() {
    let events = Events::default()
        .torch("Operator", "ProfilerStep#1", 0, 1000)
        .torch("Operator", "aten::mm", 50, 90)
        .torch("Runtime", "cudaLaunchKernel", 60, 70)
        .torch("Runtime", "cudaDeviceSynchronize", 500, 900)
        .push((0, 7), "Memcpy", "Memcpy HtoD", (100, 150), "")
        .push((0, 7), "Kernel", "gemm", (200, 600), "");
    let of = events.told();
    let step = &of.steps[0];
    assert_eq!(
        (us(step, Part::Eager), us(step, Part::Transfer), us(step, Part::Blocked)),
        (400, 50, 300)
    );
}

#[test]
fn the_whole_recording_ends_with_the_last_event_of_any_device() {
    let events = Events::default()
        .torch("cpu_op", "aten::mm", 0, 50)
        .torch("cuda_runtime", "cudaLaunchKernel", 10, 20)
        // A stream may begin with a wait of the device.
        .push((0, 7), "cuda_sync", "Stream Wait Event", (30, 40), "")
        .push((0, 7), "kernel", "gemm", (40, 240), "")
        .push((0, 7), "kernel", "gemm", (240, 412), "");
    let of = events.told();
    assert_eq!((of.steps_by, of.steps.len()), (StepsBy::WholeTrace, 1));
    assert_eq!(of.steps[0].duration_ns.0 / US, 412);
    assert_eq!(us(&of.steps[0], Part::Eager), 372);
}

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
    let of = events.told_with("\"record_shapes\": 1,", logs);
    let [only] = of.compilations.as_slice() else { panic!("{:?}", of.compilations) };
    (only.cause.kind, only.cause.text.clone())
}

#[test]
fn a_size_that_became_dynamic_is_the_argument_that_changed_and_not_their_number() {
    let before = r#""Input Dims":[[600],[32,600]],"Input type":["float","float"]"#;
    let after = r#""Input Dims":[[600],[],[48,600]],"Input type":["float","Scalar","float"]"#;
    let (kind, text) = why(before, after, None);
    assert_eq!(
        (kind, text.as_str()),
        (CauseKind::Shape, "argument 1: float[32,600] → float[48,600]")
    );
}

#[test]
fn another_number_of_tensors_is_no_cause_and_leaves_possibilities() {
    // A flag that is now on makes the code use one weight more; nobody passed it.
    let before = r#""Input Dims":[[600],[32,600]],"Input type":["float","float"]"#;
    let after = r#""Input Dims":[[600],[600,600],[32,600]],"Input type":["float","float","float"]"#;
    let (kind, text) = why(before, after, None);
    assert_eq!(kind, CauseKind::ArgumentCount);
    assert!(text.starts_with("the compiled program uses 3 arguments instead of 2; "), "{text}");
    assert!(text.contains("possible are an attribute") && text.contains("--record"), "{text}");
    assert!(!text.contains('→'), "positions shift, so no shape changed: {text}");
}

#[test]
fn a_changed_type_is_told_by_the_operators_where_no_function_has_inputs() {
    let mut events = Events::default();
    for (turn, from, of) in
        [(0, 0, "float"), (0, 200, "float"), (1, 400, "double"), (0, 700, "float")]
    {
        let args = format!(r#""Input Dims":[[6,6],[6,6]],"Input type":["{of}","{of}"]"#);
        let at = if turn > 0 { from + 105 } else { from + 5 };
        events = call(events, turn, from, if turn > 0 { 100 } else { 0 }).push(
            (1, 1),
            "cpu_op",
            "aten::mm",
            (at + 10, at + 80),
            &args,
        );
    }
    let of = events.told_with("\"record_shapes\": 1,", None);
    let cause = &of.compilations[0].cause;
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

#[test]
fn the_longest_operators_of_a_program_are_without_those_inside_them() {
    let events = Events::jax()
        .step(0, 0, 1000)
        .operator(2, "while.1", 7, 100, 900)
        .operator(2, "dot.1", 7, 150, 450)
        .operator(2, "dot.1", 7, 500, 800);
    let of = events.told();
    let [program] = of.programs.as_slice() else { panic!("{:?}", of.programs) };
    assert_eq!((program.module.as_str(), program.total_ns.0 / US), ("jit_step", 800));
    let rows: Vec<(&str, u64, u64)> = program
        .operators
        .iter()
        .map(|row| (row.name.as_str(), row.count, row.total_ns.0 / US))
        .collect();
    assert_eq!(rows, [("dot.1", 2, 600), ("while.1", 1, 200)]);
    assert!((program.operators[0].share - 0.75).abs() < 1e-9);
}

/// Module, then operators with count and microseconds.
type Programs = Vec<(String, Vec<(String, u64, u64)>)>;

fn programs(document: &TraceDocument) -> Programs {
    let operators = |program: &ProgramRow| {
        let rows = program.operators.iter();
        rows.map(|row| (row.name.clone(), row.count, row.total_ns.0 / US)).collect()
    };
    document.programs.iter().map(|program| (program.module.clone(), operators(program))).collect()
}

#[test]
fn operators_of_torch_are_listed_by_region_without_those_inside_them() {
    let events = Events::default()
        .torch("user_annotation", "ProfilerStep#1", 0, 2000)
        .torch("cpu_op", "aten::linear", 100, 500)
        .torch("cpu_op", "aten::addmm", 120, 480)
        .torch("cpu_op", "Torch-Compiled Region: 0/0", 600, 1000)
        .torch("cpu_op", "CompiledFunction", 610, 990)
        .torch("cpu_op", "aten::mm", 620, 920)
        .torch("cpu_op", "aten::copy_", 700, 720)
        // What the compiler runs is no execution of the program.
        .torch("cpu_op", "dynamo", 1200, 1500)
        .torch("cpu_op", "aten::mm", 1300, 1400);
    let row = |name: &str, count, us| (name.to_owned(), count, us);
    assert_eq!(
        programs(&events.told()),
        [
            ("eager".to_owned(), vec![row("aten::addmm", 1, 360), row("aten::linear", 1, 40)]),
            (
                "Torch-Compiled Region: 0/0".to_owned(),
                vec![row("aten::mm", 1, 280), row("aten::copy_", 1, 20)]
            ),
        ]
    );
}

#[test]
fn kernels_of_torch_are_listed_by_where_they_were_launched() {
    let launch = |events: Events, id: u32, at: u32| {
        let args = format!(r#""correlation":{id}"#);
        events.push((1, 1), "cuda_runtime", "cudaLaunchKernel", (at, at + 5), &args)
    };
    let kernel = |events: Events, id: u32, name: &str, from: u32, to: u32| {
        events.push((0, 7), "kernel", name, (from, to), &format!(r#""correlation":{id}"#))
    };
    let mut events = Events::default()
        .torch("user_annotation", "ProfilerStep#1", 0, 3000)
        .torch("cpu_op", "aten::mm", 100, 150)
        .torch("cpu_op", "Torch-Compiled Region: 0/1", 200, 300)
        .torch("cpu_op", "dynamo", 400, 500);
    for (id, at) in [(1, 110), (2, 210), (3, 220), (4, 410)] {
        events = launch(events, id, at);
    }
    // They run when nothing is open on the host any more, and one launch is not in the recording.
    for (id, name, from, to) in [
        (1, "gemm", 1000, 1100),
        (2, "triton_0", 1100, 1400),
        (3, "triton_0", 1400, 1600),
        (4, "candidate", 1600, 1700),
        (9, "stray", 1700, 1710),
    ] {
        events = kernel(events, id, name, from, to);
    }
    let row = |name: &str, count, us| vec![(name.to_owned(), count, us)];
    assert_eq!(
        programs(&events.told()),
        [
            ("Torch-Compiled Region: 0/1".to_owned(), row("triton_0", 2, 500)),
            ("eager".to_owned(), row("gemm", 1, 100)),
            ("launched from an unknown place".to_owned(), row("stray", 1, 10)),
        ]
    );
}

#[test]
fn devices_that_finish_apart_have_a_skew() {
    let operator = |events: Events, device: u32, from: u32, to: u32| {
        let args = format!(r#""hlo_module":"jit_step","run_id":"7","device_ordinal":"{device}""#);
        events.push((1, 2 + device), "", "dot.1", (from, to), &args)
    };
    let mut events = Events::jax();
    for number in 0..3 {
        let from = number * 1000;
        events = events.step(number, from, from + 1000);
        events = operator(events, 0, from + 100, from + 400);
        events = operator(events, 1, from + 150, from + 700);
    }
    let of = events.told();
    let skew = of.skew.as_ref().expect("two devices");
    assert!((skew.median.point - 300e3).abs() < 1.0);
    assert_eq!((skew.last.as_str(), skew.last_in), ("cpu:1", 3));
    assert_eq!(of.steps[0].devices[1].busy_ns.0 / US, 550);
    // One device has none.
    let alone = Events::jax().step(0, 0, 1000).operator(2, "dot.1", 7, 100, 200).told();
    assert!(alone.skew.is_none() && alone.steps[0].devices.is_empty());
}

#[test]
fn memory_has_its_peak_and_the_peaks_of_the_steps() {
    let mut events = Events::default();
    for (number, from) in [(1, 0), (2, 1000)] {
        events = events
            .torch("user_annotation", &format!("ProfilerStep#{number}"), from, from + 1000)
            .torch("cpu_op", "aten::mm", from + 10, from + 600);
    }
    for (at, bytes) in [(100, 40), (300, 90), (700, 20), (1500, 60)] {
        writeln!(
            events.0,
            r#"{{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":{at},"args":{{"Total Allocated":{bytes},"Device Type":0,"Device Id":-1}}}},"#
        )
        .unwrap();
    }
    let of = events.told();
    let [cpu] = of.memory.as_slice() else { panic!("{:?}", of.memory) };
    assert_eq!((cpu.allocator.as_str(), cpu.peak_bytes, cpu.peak_step), ("CPU", 90, Some(1)));
    assert_eq!(cpu.peak_at_ns.0 / US, 300);
    let peaks: Vec<Option<u64>> = of.steps.iter().map(|step| step.peak_bytes).collect();
    assert_eq!(peaks, [Some(90), Some(60)]);
}

#[test]
fn a_compiled_region_of_torch_has_the_most_memory_in_use_inside_it() {
    let mut events = Events::default().torch("user_annotation", "ProfilerStep#1", 0, 1000);
    for (from, id) in [(100, "0/0"), (400, "0/0"), (700, "1/0")] {
        let region = format!("Torch-Compiled Region: {id}");
        events = events.torch("cpu_op", &region, from, from + 200).torch(
            "cpu_op",
            "aten::mm",
            from + 10,
            from + 150,
        );
    }
    for (at, device, bytes) in [
        (50, 0, 40),
        (110, 0, 70),
        (320, 0, 500),
        (390, 0, 60),
        (450, 0, 90),
        (650, 0, 30),
        (800, 1, 99),
    ] {
        writeln!(
            events.0,
            r#"{{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":{at},"args":{{"Total Allocated":{bytes},"Device Type":{device},"Device Id":0}}}},"#
        )
        .unwrap();
    }
    let document = events.told();
    let peaks: Vec<(&str, Option<u64>)> = document
        .programs
        .iter()
        .map(|program| (program.module.as_str(), program.peak_bytes))
        .collect();
    // What another allocator or the code between two regions takes is not theirs.
    assert_eq!(
        peaks,
        [("Torch-Compiled Region: 0/0", Some(90)), ("Torch-Compiled Region: 1/0", Some(30))]
    );
}
