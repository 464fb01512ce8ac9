//! Small recordings written by hand with known answers: executions, waits, and steps.

mod made;

use firstlight_schema::finding::Finding;
use firstlight_schema::trace::{
    Bucket, LeftOut, NoticeName, Part, Step, StepsBy, TraceDocument, Turn,
};
use made::chrome::{Events, US, call, us};

#[test]
fn operators_on_a_thread_of_the_processor_are_execution() {
    // Only its operators show that the program ran, and the gap between them is part of the run.
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
    let document = events.attributed();
    assert_eq!(us(&document.steps[0], Part::Compiled), 800 + 50);
    assert_eq!(us(&document.steps[0], Part::Call), 40);
    assert_eq!(document.steps[0].bucket(Bucket::Host).0 / US, 10 + 50 + 50);
    assert!(document.findings.is_empty());
}

#[test]
fn a_program_that_was_called_and_never_ran_is_a_finding() {
    let called = Events::jax().step(0, 0, 1000).main("PjitFunction(step)", 10, 60);
    let finding = |document: &TraceDocument| {
        document.findings.iter().any(|one| one.finding == Finding::ExecutionNotRecorded)
    };
    assert!(finding(&called.attributed()));
    assert!(!finding(&called.operator(2, "dot.1", 7, 50, 400).attributed()));
    // Nothing was called, so nothing is missing.
    assert!(!finding(&Events::jax().step(0, 0, 1000).attributed()));
    // Kernels were launched, and the device was not recorded: the graph on the host is not an execution.
    let launched = Events::default()
        .torch("user_annotation", "ProfilerStep#1", 0, 1000)
        .torch("cpu_op", "Torch-Compiled Region: 0/0", 100, 900)
        .torch("user_annotation", "## Call CompiledFxGraph f ##", 150, 800)
        .torch("cuda_runtime", "cudaLaunchKernel", 200, 210);
    assert!(finding(&launched.attributed()));
}

#[test]
fn host_code_called_back_by_a_program_is_neither_execution_nor_dispatch() {
    // Inside a loop of the program, on the calling thread itself, with another program inside.
    let events = Events::jax()
        .step(0, 0, 1000)
        .main("PjitFunction(step)", 10, 900)
        .operator(1, "while.1", 7, 50, 850)
        .operator(1, "dot.1", 7, 60, 200)
        .operator(1, "pure_callback.1", 7, 210, 600)
        .operator(2, "sin.1", 9, 300, 400)
        .operator(1, "dot.2", 7, 610, 850);
    let document = events.attributed();
    let step = &document.steps[0];
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
        let document = events.attributed();
        assert_eq!(us(&document.steps[0], Part::Blocked), 250 + 100, "{name}");
        assert_eq!(us(&document.steps[0], Part::Call), 90 + 80, "{name}");
    }
    for name in ["hipEventSynchronize", "hipDeviceSynchronize", "cudaStreamSynchronize"] {
        let events = Events::default()
            .torch("user_annotation", "ProfilerStep#1", 0, 1000)
            .torch("cuda_runtime", name, 100, 400)
            .push((0, 7), "kernel", "gemm", (200, 300), "");
        assert_eq!(us(&events.attributed().steps[0], Part::Blocked), 200, "{name}");
    }
}

#[test]
fn a_recompiled_function_still_defines_steps() {
    let mut events = Events::default();
    for (number, from) in [(0, 100), (1, 300), (2, 500), (3, 700), (4, 1900)] {
        let turn = u32::from(number >= 3);
        events = call(events, turn, from, if number == 3 { 1000 } else { 0 });
    }
    let document = events.torch("cpu_op", "aten::ones", 2100, 2110).attributed();
    assert_eq!(document.steps_by, StepsBy::RepeatedCall);
    let starts: Vec<u64> = document.steps.iter().map(|step| step.start_ns.0 / US).collect();
    assert_eq!(starts, [0, 200, 400, 600, 1800]);
    // A compilation belongs entirely to the step that caused it.
    let compiled: Vec<bool> = document.steps.iter().map(|step| step.compiled).collect();
    assert_eq!(compiled, [false, false, false, true, false]);
    assert_eq!(document.steps[3].bucket(Bucket::Compile).0 / US, 1000);
    assert_eq!(
        (document.compilations[0].step, document.compilations[0].turn),
        (Some(3), Turn::Again)
    );
    // The last step extends to the recording's end, and is excluded from medians.
    assert_eq!(document.steps[4].duration_ns.0 / US, 2110 - 1900);
    assert_eq!(document.steps[4].left_out, Some(LeftOut::Unended));
    assert_eq!(document.steady[0].median.n, 3);
}

#[test]
fn guessed_steps_of_jax_begin_with_the_first_call() {
    let mut events = Events::jax();
    for (index, from) in (0..4).map(|index| (index, index * 1000)) {
        events = events
            .main("PjitFunction(load)", from, from + 10)
            .main("PjitFunction(step)", from + 500, from + 600)
            .operator(2, "dot.1", index, from + 550, from + 900);
    }
    let document = events.operator(3, "copy.1", 99, 3950, 5000).attributed();
    let spans: Vec<(u64, u64)> =
        document.steps.iter().map(|step| (step.start_ns.0 / US, step.duration_ns.0 / US)).collect();
    assert_eq!(spans, [(0, 1000), (1000, 1000), (2000, 1000), (3000, 2000)]);
    assert!(document.notices.iter().any(|notice| notice.name == NoticeName::StepsGuessed));
}

#[test]
fn an_empty_last_step_is_excluded_from_medians() {
    let mut events = Events::default();
    for (number, from) in [(0, 0), (1, 1000), (2, 2000), (3, 3000)] {
        let to = if number == 3 { from + 20 } else { from + 1000 };
        events = events.torch("user_annotation", &format!("ProfilerStep#{number}"), from, to);
        if number != 3 {
            events = events.torch("cpu_op", "aten::mm", from + 10, from + 600);
        }
    }
    let document = events.attributed();
    let left_out: Vec<Option<LeftOut>> = document.steps.iter().map(|step| step.left_out).collect();
    assert_eq!(left_out, [None, None, None, Some(LeftOut::Empty)]);
    assert_eq!(document.steady[0].median.n, 3);
    assert!((document.steady[0].median.point - 590e3).abs() < 1.0);
}

#[test]
fn empty_steps_between_others_are_excluded_from_medians() {
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
    let document = events.attributed();
    let empty: Vec<i64> = document
        .steps
        .iter()
        .filter(|step| step.left_out == Some(LeftOut::Empty))
        .map(|step| step.number)
        .collect();
    assert_eq!((empty, document.steady[0].median.n), (vec![0, 3], 4));
    assert!((document.steady[0].median.point - 590e3).abs() < 1.0);
    // Host work covers the same steps: 410 of each 1000.
    let host: f64 = document.frames.iter().map(|frame| frame.exclusive_ns).sum();
    assert!((host - 410e3).abs() < 1.0, "{host}");
    // If no step works, none is excluded.
    let mut idle = Events::default();
    for number in 0..3 {
        let (from, name) = (number * 1000, format!("ProfilerStep#{number}"));
        idle = idle.torch("user_annotation", &name, from, from + 1000);
    }
    assert!(idle.attributed().steps.iter().all(Step::is_steady));
}

#[test]
fn a_compilation_before_a_run_belongs_to_that_runs_step() {
    // No call is recorded: steps go from one run of the program to the next.
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
    let document = events.attributed();
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
    let document = events.attributed();
    assert_eq!(us(&document.steps[0], Part::Eager), 450 + 50);
    assert_eq!(document.steps[0].bucket(Bucket::Host).0 / US, 500);
    // With a device the kernels run, and operators launch them.
    let document = events.push((0, 7), "kernel", "gemm", (700, 900), "").attributed();
    assert_eq!(us(&document.steps[0], Part::Eager), 200);
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
    let document = events.attributed();
    let step = &document.steps[0];
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
    let document = events.attributed();
    assert_eq!((document.steps_by, document.steps.len()), (StepsBy::WholeTrace, 1));
    assert_eq!(document.steps[0].duration_ns.0 / US, 412);
    assert_eq!(us(&document.steps[0], Part::Eager), 372);
}
