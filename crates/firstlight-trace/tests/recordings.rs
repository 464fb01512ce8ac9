//! Recordings with known answers: a planted recompilation each, and host times that were found by
//! other means. The fixtures are trimmed copies; the whole recordings are used where they are.

mod made;

use std::path::Path;

use firstlight_schema::trace::{
    Bucket, CauseKind, NoticeName, Served, Step, StepsBy, TraceDocument, TraceFormat, Turn,
};
use firstlight_schema::version::Build;
use firstlight_trace::{Limits, document, open};

fn read(path: &Path) -> TraceDocument {
    let opened = open(path, &Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    document(&opened.trace, "trace", None, Build::new("0", None))
}

#[expect(clippy::print_stdout, reason = "that less was looked at must be seen")]
/// Both copies of a recording: ours, and the whole one where it is there.
fn both(fixture: &str, recording: &str) -> Vec<TraceDocument> {
    let mut documents = vec![read(&made::fixtures().join(fixture))];
    match made::recordings() {
        Some(folder) => documents.push(read(&folder.join(recording))),
        None => println!("{recording} is not here; only its trimmed copy is looked at"),
    }
    documents
}

fn sums(of: &TraceDocument) {
    assert!(!of.steps.is_empty());
    for step in &of.steps {
        let sum: u64 = step.parts.iter().map(|row| row.ns.0).sum();
        assert_eq!(sum, step.duration_ns.0, "step {}", step.number);
    }
}

/// Milliseconds in which neither the program ran nor one of its calls was open.
fn outside(step: &Step) -> f64 {
    (step.bucket(Bucket::Host) + step.bucket(Bucket::Wait)).as_f64() / 1e6
}

fn near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= expected * share, "{value} is not near {expected}");
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[test]
fn filter_jit_on_a_processor() {
    for of in
        both("jax-cpu-filter-jit.xplane.pb.gz", "jax-cpu-filter-jit-recompile-step5.xplane.pb.gz")
    {
        sums(&of);
        assert_eq!((of.steps.len(), of.steps_by), (10, StepsBy::Annotation));
        let compiled: Vec<i64> =
            of.steps.iter().filter(|step| step.compiled).map(|step| step.number).collect();
        assert_eq!(compiled, [5]);
        let [one] = of.compilations.as_slice() else { panic!("{:?}", of.compilations) };
        assert_eq!((one.function.as_str(), one.step, one.turn), ("step", Some(5), Turn::Again));
        assert_eq!((one.served, one.cause.kind), (Served::Compiler, CauseKind::Shape));
        assert_eq!((one.program.as_deref(), one.previous.as_deref()), (Some("36"), Some("34")));
        let change = &one.cause.changes[0];
        assert_eq!(change.parameter, 433);
        assert_eq!((change.before.as_str(), change.after.as_str()), ("f32[64,128]", "f32[65,128]"));
        near(one.duration_ns.as_f64() / 1e6, 1_975.0, 0.01);
        let (low, high) = range(&of.steps[..5].iter().map(outside).collect::<Vec<_>>());
        near(low, 4.05, 0.01);
        near(high, 4.58, 0.01);
        let levels = of.recording.tracer.expect("the file tells its levels");
        assert_eq!((levels.host, levels.python, of.recording.python_traced), (2, 0, false));
        assert!(of.findings.is_empty());
    }
}

#[test]
fn a_manual_step_with_python_frames() {
    for of in both("jax-cpu-manual-python.xplane.pb.gz", "jax-cpu-manual-pytracer.xplane.pb.gz") {
        sums(&of);
        assert!(of.compilations.is_empty() && of.steps.iter().all(|step| !step.compiled));
        let (low, high) = range(&of.steps.iter().map(outside).collect::<Vec<_>>());
        near(high, 3.13, 0.01);
        // Step 9, which only the whole recording has, is the shortest.
        near(low, if of.steps.len() == 10 { 0.0874 } else { 0.226 }, 0.01);
        assert!(of.recording.python_traced);
        let finding = of.findings[0].finding.name();
        assert_eq!(finding, "tracer-inflated");
        assert!(of.frames.iter().any(|frame| frame.name.contains("block_until_ready")));
    }
}

#[test]
fn a_device_that_tries_kernels_while_it_compiles() {
    for of in both("jax-gpu.xplane.pb.gz", "jax-gpu-recompile.xplane.pb.gz") {
        sums(&of);
        assert_eq!(of.steps.len(), 8);
        let [one] = of.compilations.as_slice() else { panic!("{:?}", of.compilations) };
        assert_eq!((one.step, one.turn, one.served), (Some(5), Turn::Again, Served::Compiler));
        assert_eq!(one.cause.text, "argument 8 `x`: f32[512,1024] → f32[520,1024]");
        let steady: Vec<&Step> = of.steps.iter().filter(|step| !step.compiled).collect();
        let (low, high) = range(&steady.iter().map(|step| outside(step)).collect::<Vec<_>>());
        near(low, 0.26, 0.02);
        near(high, 2.41, 0.01);
        for step in steady {
            near(step.bucket(Bucket::Execute).as_f64(), 329e3, 0.01);
        }
        let planted = &of.steps[5];
        let autotune = planted.part(firstlight_schema::trace::Part::Autotune).as_f64() / 1e6;
        near(autotune, 31.0, 0.02);
        near(planted.bucket(Bucket::Execute).as_f64() / 1e6, 0.406, 0.01);
        near(one.duration_ns.as_f64() / 1e6, 2_515.0, 0.01);
        assert!(of.notices.iter().any(|notice| notice.name == NoticeName::CudaGraphs));
        assert_eq!(of.recording.devices, ["NVIDIA H200"]);
    }
}

#[test]
fn a_converted_json_tells_the_same_times_and_no_cause() {
    // Away from its xplane, which would be read instead.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("host.trace.json.gz");
    std::fs::copy(made::fixtures().join("jax-gpu.trace.json.gz"), &copy).unwrap();
    let (json, xplane) = (read(&copy), read(&made::fixtures().join("jax-gpu.xplane.pb.gz")));
    sums(&json);
    assert_eq!(json.recording.format, TraceFormat::JaxJson);
    assert_eq!(json.steps.len(), xplane.steps.len());
    for (one, other) in json.steps.iter().zip(&xplane.steps) {
        for bucket in Bucket::ALL {
            let apart = one.bucket(bucket).0.abs_diff(other.bucket(bucket).0);
            // The converter writes whole nanoseconds, rounded where the reader cuts.
            assert!(apart < 50, "step {}, {bucket}: {apart} ns", one.number);
        }
    }
    assert_eq!(json.compilations[0].cause.kind, CauseKind::Unknown);
    assert_eq!(json.compilations[0].step, Some(5));
}

#[test]
fn the_xplane_beside_a_converted_json_is_read_instead() {
    let opened = open(&made::fixtures().join("jax-gpu.trace.json.gz"), &Limits::default()).unwrap();
    assert_eq!(opened.trace.format, TraceFormat::Xplane);
    assert_eq!(opened.trace.notices[0].name, NoticeName::XplaneInstead);
}

#[test]
fn torch_on_a_device_with_its_backward_thread() {
    for of in both("torch-gpu.json.gz", "torch-gpu-recompile.json.gz") {
        sums(&of);
        let numbers: Vec<i64> = of.steps.iter().map(|step| step.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
        let [one] = of.compilations.as_slice() else { panic!("{:?}", of.compilations) };
        assert_eq!((one.step, one.turn, one.served), (Some(4), Turn::Again, Served::Compiler));
        assert_eq!(one.program.as_deref(), Some("0/1"));
        assert_eq!(one.cause.text, "argument 2: float[512,1024] → float[520,1024]");
        let third = &of.steps[2];
        near(third.duration_ns.as_f64() / 1e6, 3.673, 0.001);
        near(third.region_ns.as_f64() / 1e6, 2.031, 0.02);
        near(third.device_busy_ns.as_f64() / 1e6, 1.016, 0.01);
        near(of.steps[3].bucket(Bucket::Compile).as_f64() / 1e6, 2_028.1, 0.001);
        // Kernels that were tried out are no execution.
        assert!(of.steps[3].bucket(Bucket::Execute).as_f64() < 1.3e6);
    }
}

#[test]
fn torch_on_a_processor_is_served_by_the_disk_cache() {
    for of in both("torch-cpu.json.gz", "torch-cpu-recompile.json.gz") {
        sums(&of);
        let [one] = of.compilations.as_slice() else { panic!("{:?}", of.compilations) };
        assert_eq!((one.step, one.turn, one.served), (Some(4), Turn::Again, Served::DiskCache));
        assert_eq!(one.cause.text, "argument 2: float[64,128] → float[65,128]");
        let optimizer = of.frames.iter().find(|frame| frame.name.starts_with("Optimizer.step"));
        assert!(optimizer.is_some(), "{:?}", of.frames);
    }
}
