//! Small recordings written by hand: programs by operators and memory, and several devices.

mod made;

use std::fmt::Write as _;

use firstlight_schema::trace::{ProgramRow, TraceDocument};
use made::chrome::{Events, US};

#[test]
fn the_longest_operators_of_a_program_exclude_those_inside_them() {
    let events = Events::jax()
        .step(0, 0, 1000)
        .operator(2, "while.1", 7, 100, 900)
        .operator(2, "dot.1", 7, 150, 450)
        .operator(2, "dot.1", 7, 500, 800);
    let document = events.attributed();
    let [program] = document.programs.as_slice() else { panic!("{:?}", document.programs) };
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
fn operators_of_torch_are_listed_by_region_excluding_those_inside_them() {
    let events = Events::default()
        .torch("user_annotation", "ProfilerStep#1", 0, 2000)
        .torch("cpu_op", "aten::linear", 100, 500)
        .torch("cpu_op", "aten::addmm", 120, 480)
        .torch("cpu_op", "Torch-Compiled Region: 0/0", 600, 1000)
        .torch("cpu_op", "CompiledFunction", 610, 990)
        .torch("cpu_op", "aten::mm", 620, 920)
        .torch("cpu_op", "aten::copy_", 700, 720)
        // Operators run by the compiler are not executions of the program.
        .torch("cpu_op", "dynamo", 1200, 1500)
        .torch("cpu_op", "aten::mm", 1300, 1400);
    let row = |name: &str, count, us| (name.to_owned(), count, us);
    assert_eq!(
        programs(&events.attributed()),
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
fn kernels_of_torch_are_listed_by_their_launches() {
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
        programs(&events.attributed()),
        [
            ("Torch-Compiled Region: 0/1".to_owned(), row("triton_0", 2, 500)),
            ("eager".to_owned(), row("gemm", 1, 100)),
            ("launched from an unknown place".to_owned(), row("stray", 1, 10)),
        ]
    );
}

#[test]
fn devices_that_finish_at_different_times_have_a_skew() {
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
    let document = events.attributed();
    let skew = document.skew.as_ref().expect("two devices");
    assert!((skew.median.point - 300e3).abs() < 1.0);
    assert_eq!((skew.last.as_str(), skew.last_in), ("cpu:1", 3));
    assert_eq!(document.steps[0].devices[1].busy_ns.0 / US, 550);
    // One device has none.
    let alone = Events::jax().step(0, 0, 1000).operator(2, "dot.1", 7, 100, 200).attributed();
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
    let document = events.attributed();
    let [cpu] = document.memory.as_slice() else { panic!("{:?}", document.memory) };
    assert_eq!((cpu.allocator.as_str(), cpu.peak_bytes, cpu.peak_step), ("CPU", 90, Some(1)));
    assert_eq!(cpu.peak_at_ns.0 / US, 300);
    let peaks: Vec<Option<u64>> = document.steps.iter().map(|step| step.peak_bytes).collect();
    assert_eq!(peaks, [Some(90), Some(60)]);
}

#[test]
fn a_compiled_region_of_torch_has_the_peak_memory_inside_it() {
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
    let document = events.attributed();
    let peaks: Vec<(&str, Option<u64>)> = document
        .programs
        .iter()
        .map(|program| (program.module.as_str(), program.peak_bytes))
        .collect();
    // Memory of another allocator, or of the code between two regions, is excluded.
    assert_eq!(
        peaks,
        [("Torch-Compiled Region: 0/0", Some(90)), ("Torch-Compiled Region: 1/0", Some(30))]
    );
}
