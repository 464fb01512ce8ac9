//! Recordings with known answers: a planted recompilation each, and times found by a prototype of the
//! attribution before this crate was written. The fixtures are trimmed copies; the complete recordings are
//! used where present.
//!
//! The prototype's "host outside" is everything except compiling, execution, transfers and calls: `wait` and
//! `host` together, the document's `host-outside-ns`.

mod made;

use std::path::Path;

use firstlight_schema::cache::Policy;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{
    Bucket, CauseKind, FrameKind, NoticeName, Part, Served, Step, StepsBy, TraceDocument,
    TraceFormat, Turn,
};
use firstlight_schema::version::Build;
use firstlight_trace::{Category, Events, Limits, Place, Trace, check_cache, document, open};

fn read(path: &Path) -> TraceDocument {
    let opened = open(path, &Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    document(&opened.trace, "trace", None, Build::new("0", None))
}

#[expect(clippy::print_stdout, reason = "that less was looked at must be seen")]
/// Both copies of a recording: the trimmed one, and the complete one if present.
fn both(fixture: &str, recording: &str) -> Vec<TraceDocument> {
    let mut documents = vec![read(&made::fixtures().join(fixture))];
    match made::recordings() {
        Some(folder) => documents.push(read(&folder.join(recording))),
        None => println!("{recording} is not here; only its trimmed copy is looked at"),
    }
    documents
}

fn sums(document: &TraceDocument) {
    assert!(!document.steps.is_empty());
    for step in &document.steps {
        let sum: u64 = step.parts.iter().map(|row| row.ns.0).sum();
        assert_eq!(sum, step.duration_ns.0, "step {}", step.number);
    }
}

/// Milliseconds in which neither the program ran nor one of its calls was open.
fn outside(step: &Step) -> f64 {
    assert_eq!(step.host_outside_ns, step.bucket(Bucket::Host) + step.bucket(Bucket::Wait));
    step.host_outside_ns.as_f64() / 1e6
}

/// A row of the prototype's printed results: the label, and the value in milliseconds.
struct Printed(&'static str, &'static str);

const FILTER_LEAST: Printed =
    Printed("filter_jit py=0 (steps 0-4): host-outside 4.05-4.58", "4.05");
const FILTER_MOST: Printed = Printed("filter_jit py=0 (steps 0-4): host-outside 4.05-4.58", "4.58");
const FILTER_COMPILE: Printed =
    Printed("filter_jit py=0: compile 1,523 + 452 before it is split", "1975");
// The recording of the row `filter_jit py=1`, 15.4-17.8, was not kept.
const MANUAL_LEAST: Printed = Printed("manual py=1: host-outside 0.1-3.1", "0.1");
const MANUAL_MOST: Printed = Printed("manual py=1: host-outside 0.1-3.1", "3.1");
const GPU_LEAST: Printed = Printed("GPU py=0: host-outside 0.26-2.4 of 0.95-3.4", "0.26");
const GPU_MOST: Printed = Printed("GPU py=0: host-outside 0.26-2.4 of 0.95-3.4", "2.4");
const GPU_LEAST_WALL: Printed = Printed("GPU py=0: host-outside 0.26-2.4 of 0.95-3.4", "0.95");
const GPU_MOST_WALL: Printed = Printed("GPU py=0: host-outside 0.26-2.4 of 0.95-3.4", "3.4");
const GPU_COMPILE: Printed = Printed("GPU py=0: compile 2,485 (+31 autotune kernels)", "2516");
const TORCH_WALL: Printed = Printed("H200 step 3: wall 3.673", "3.673");
const TORCH_REGION: Printed = Printed("H200 step 3: region 2.031", "2.031");
const TORCH_OPTIMIZER: Printed = Printed("H200 step 3: optimizer 0.986", "0.986");
const TORCH_GUARD: Printed = Printed("H200 step 3: guard 0.034", "0.034");
const TORCH_OUTSIDE: Printed = Printed("H200 step 3: optimizer 0.986 + other 0.623", "1.609");
const TORCH_BUSY: Printed = Printed("H200 step 3: gpu busy 1.016", "1.016");
const TORCH_COMPILE: Printed = Printed("H200 step 4: compile 2,028.1 of 2,048.9", "2028.1");

impl Printed {
    /// Within ten per cent of the printed value, plus half a digit of its rounding.
    fn matches(&self, ms: f64) {
        let value: f64 = self.1.parse().expect("a number");
        let digits = self.1.split('.').nth(1).map_or(0, str::len);
        let rounding = 0.5 / 10_f64.powi(i32::try_from(digits).expect("few digits"));
        let apart = (ms - value).abs();
        assert!(apart <= value * 0.1 + rounding, "{ms} ms; the prototype's row is `{}`", self.0);
    }
}

fn outsides(steps: &[Step]) -> (f64, f64) {
    let steady = steps.iter().filter(|step| !step.compiled);
    range(&steady.map(outside).collect::<Vec<f64>>())
}

/// Compares the printed figure with that of the steps.
fn headline(document: &TraceDocument) {
    let (least, most) = outsides(&document.steps);
    let reported = document.host_outside.as_ref().expect("some steps are steady");
    near(reported.least_ns.as_f64() / 1e6, least, 1e-9);
    near(reported.most_ns.as_f64() / 1e6, most, 1e-9);
    assert!(least <= reported.median.point / 1e6 && reported.median.point / 1e6 <= most);
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
    for document in
        both("jax-cpu-filter-jit.xplane.pb.gz", "jax-cpu-filter-jit-recompile-step5.xplane.pb.gz")
    {
        sums(&document);
        assert_eq!((document.steps.len(), document.steps_by), (10, StepsBy::Annotation));
        let compiled: Vec<i64> =
            document.steps.iter().filter(|step| step.compiled).map(|step| step.number).collect();
        assert_eq!(compiled, [5]);
        let [one] = document.compilations.as_slice() else { panic!("{:?}", document.compilations) };
        assert_eq!((one.function.as_str(), one.step, one.turn), ("step", Some(5), Turn::Again));
        assert_eq!((one.served, one.cause.kind), (Served::Compiler, CauseKind::Shape));
        assert_eq!((one.program.as_deref(), one.previous.as_deref()), (Some("36"), Some("34")));
        let change = &one.cause.changes[0];
        assert_eq!(change.parameter, 433);
        assert_eq!((change.before.as_str(), change.after.as_str()), ("f32[64,128]", "f32[65,128]"));
        FILTER_COMPILE.matches(one.duration_ns.as_f64() / 1e6);
        let (low, high) = outsides(&document.steps[..5]);
        FILTER_LEAST.matches(low);
        FILTER_MOST.matches(high);
        headline(&document);
        let levels = document.recording.tracer.expect("the file contains its levels");
        assert_eq!((levels.host, levels.python, document.recording.python_traced), (2, 0, false));
        assert!(document.findings.is_empty());
    }
}

#[test]
fn a_manual_step_with_python_frames() {
    for document in
        both("jax-cpu-manual-python.xplane.pb.gz", "jax-cpu-manual-pytracer.xplane.pb.gz")
    {
        sums(&document);
        assert!(
            document.compilations.is_empty() && document.steps.iter().all(|step| !step.compiled)
        );
        let (low, high) = outsides(&document.steps);
        MANUAL_MOST.matches(high);
        // Step 9, which only the complete recording has, is the shortest.
        if document.steps.len() == 10 {
            MANUAL_LEAST.matches(low);
        }
        headline(&document);
        assert!(document.recording.python_traced);
        let finding = document.findings[0].finding.name();
        assert_eq!(finding, "tracer-inflated");
        assert!(document.frames.iter().any(|frame| frame.kind == FrameKind::Python));
        // A frame that waits is a wait, not host work.
        assert!(!document.frames.iter().any(|frame| frame.name.ends_with(" block_until_ready")));
        assert!(document.steps.iter().any(|step| step.part(Part::Blocked) > Nanos::ZERO));
    }
}

#[test]
fn a_device_that_tries_kernels_while_it_compiles() {
    for document in both("jax-gpu.xplane.pb.gz", "jax-gpu-recompile.xplane.pb.gz") {
        sums(&document);
        assert_eq!(document.steps.len(), 8);
        let [one] = document.compilations.as_slice() else { panic!("{:?}", document.compilations) };
        assert_eq!((one.step, one.turn, one.served), (Some(5), Turn::Again, Served::Compiler));
        assert_eq!(one.cause.text, "argument 8 `x`: f32[512,1024] → f32[520,1024]");
        let steady: Vec<&Step> = document.steps.iter().filter(|step| !step.compiled).collect();
        let (low, high) = outsides(&document.steps);
        GPU_LEAST.matches(low);
        GPU_MOST.matches(high);
        let walls: Vec<f64> = steady.iter().map(|step| step.duration_ns.as_f64() / 1e6).collect();
        GPU_LEAST_WALL.matches(range(&walls).0);
        GPU_MOST_WALL.matches(range(&walls).1);
        headline(&document);
        for step in steady {
            near(step.bucket(Bucket::Execute).as_f64(), 329e3, 0.01);
        }
        let planted = &document.steps[5];
        let autotune = planted.part(Part::Autotune).as_f64() / 1e6;
        near(autotune, 31.0, 0.02);
        near(planted.bucket(Bucket::Execute).as_f64() / 1e6, 0.406, 0.01);
        GPU_COMPILE.matches(one.duration_ns.as_f64() / 1e6);
        assert!(document.notices.iter().any(|notice| notice.name == NoticeName::CudaGraphs));
        assert_eq!(document.recording.devices, ["NVIDIA H200"]);
    }
}

/// The time during which any of several intervals is open, computed from their sorted ends.
fn covered(mut spans: Vec<(i64, i64)>) -> i64 {
    let mut edges: Vec<(i64, i32)> = Vec::new();
    for (start, duration) in spans.drain(..) {
        edges.extend([(start, 1), (start + duration, -1)]);
    }
    edges.sort_unstable();
    let (mut open, mut since, mut total) = (0, 0, 0);
    for (at, by) in edges {
        if open > 0 {
            total += at - since;
        }
        (open, since) = (open + by, at);
    }
    total
}

/// Every kernel of a device, whatever launched it, cut to a step.
fn kernels_within(trace: &Trace, step: &Step) -> Vec<(i64, i64)> {
    let from = i64::try_from(step.start_ns.0).expect("a time");
    let to = from + i64::try_from(step.duration_ns.0).expect("a time");
    let moves = |name: &str| name.starts_with("Memcpy") || name.starts_with("Memset");
    let mut all = Vec::new();
    for line in trace.lines.iter().filter(|line| line.place == Place::Device) {
        for index in 0..line.events.len() {
            let (start, name) = (line.events.start[index], line.events.name[index]);
            let end = (start + line.events.duration[index]).min(to);
            let runs = matches!(trace.names.category(name), Category::None | Category::Kernel);
            if runs && !moves(trace.names.text(name)) && start.max(from) < end {
                all.push((start.max(from), end - start.max(from)));
            }
        }
    }
    all
}

#[test]
fn a_device_is_busy_while_any_of_its_kernels_runs() {
    for fixture in ["jax-gpu.xplane.pb.gz", "torch-gpu.json.gz"] {
        let path = made::fixtures().join(fixture);
        let (document, trace) = (read(&path), open(&path, &Limits::default()).unwrap().trace);
        for step in &document.steps {
            let kernels = kernels_within(&trace, step);
            assert!(!kernels.is_empty(), "{fixture}, step {}", step.number);
            let busy = i64::try_from(step.device_busy_ns.0).unwrap();
            assert_eq!(busy, covered(kernels), "{fixture}, step {}", step.number);
        }
    }
}

#[test]
fn the_memory_of_a_device_has_the_peaks_that_its_allocator_reports() {
    for document in both("jax-gpu.xplane.pb.gz", "jax-gpu-recompile.xplane.pb.gz") {
        let device = &document.memory[0];
        assert_eq!(
            (device.allocator.as_str(), device.peak_bytes, device.peak_step),
            ("GPU_0_bfc", 180_388_608, Some(5))
        );
        for step in &document.steps {
            let peak = if step.number == 5 { 180_388_608 } else { 130_026_496 };
            assert_eq!(step.peak_bytes, Some(peak), "step {}", step.number);
        }
        let highest = device.timeline.iter().map(|point| point.bytes).max();
        assert_eq!(highest, Some(device.peak_bytes));
        // The sizes of the buffers in the program, which the batch of 520 makes larger.
        let programs: Vec<(&str, u64, u64, u64)> = document
            .programs
            .iter()
            .filter(|program| program.module == "jit_step")
            .map(|program| {
                let memory = program.memory.expect("the program is in the recording");
                let id = program.program.as_deref().unwrap_or_default();
                (id, memory.arguments_bytes, memory.outputs_bytes, memory.temporaries_bytes)
            })
            .collect();
        assert_eq!(
            programs,
            [
                ("4640", 35_651_584, 33_554_508, 56_624_912),
                ("86661", 35_684_352, 33_554_508, 39_948_048)
            ]
        );
    }
}

#[test]
fn a_converted_json_gives_the_same_times_and_no_cause() {
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
            // The converter writes whole nanoseconds, rounded where the reader truncates.
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

/// Start and duration of the host's events of a name.
fn spans(trace: &Trace, name: &str) -> Vec<(i64, i64)> {
    let host = trace.lines.iter().filter(|line| line.place == Place::Host);
    let matching = |events: &Events| -> Vec<(i64, i64)> {
        let all = (0..events.len()).filter(|&i| trace.names.text(events.name[i]) == name);
        all.map(|i| (events.start[i], events.duration[i])).collect()
    };
    host.flat_map(|line| matching(&line.events)).collect()
}

#[test]
fn torch_on_a_device_with_its_backward_thread() {
    let trace =
        open(&made::fixtures().join("torch-gpu.json.gz"), &Limits::default()).unwrap().trace;
    let (start, long) = spans(&trace, "ProfilerStep#3")[0];
    let optimizer = spans(&trace, "Optimizer.step#Adam.step");
    let [(_, long)] = optimizer
        .iter()
        .filter(|(at, _)| (start..start + long).contains(at))
        .collect::<Vec<_>>()[..]
    else {
        panic!("one step of the optimizer in a step: {optimizer:?}")
    };
    TORCH_OPTIMIZER.matches(Nanos(long.unsigned_abs()).as_f64() / 1e6);
    for document in both("torch-gpu.json.gz", "torch-gpu-recompile.json.gz") {
        sums(&document);
        let numbers: Vec<i64> = document.steps.iter().map(|step| step.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
        let [one] = document.compilations.as_slice() else { panic!("{:?}", document.compilations) };
        assert_eq!((one.step, one.turn, one.served), (Some(4), Turn::Again, Served::Compiler));
        assert_eq!(one.program.as_deref(), Some("0/1"));
        assert_eq!(one.cause.text, "argument 2: float[512,1024] → float[520,1024]");
        let third = &document.steps[2];
        let ms = |ns: Nanos| ns.as_f64() / 1e6;
        TORCH_WALL.matches(ms(third.duration_ns));
        TORCH_REGION.matches(ms(third.region_ns));
        TORCH_GUARD.matches(ms(third.part(Part::Guards)));
        TORCH_BUSY.matches(ms(third.device_busy_ns));
        TORCH_COMPILE.matches(ms(document.steps[3].bucket(Bucket::Compile)));
        // For torch, the prototype ignored the device's activity.
        TORCH_OUTSIDE.matches(ms(third.host_outside_ns + third.overlapped_host_ns));
        TORCH_OUTSIDE
            .matches(ms(third.duration_ns) - ms(third.region_ns) - ms(third.part(Part::Guards)));
        headline(&document);
        // Kernels that were tried are not executions.
        assert!(document.steps[3].bucket(Bucket::Execute).as_f64() < 1.3e6);
    }
}

#[test]
fn torch_on_a_processor_is_served_by_the_disk_cache() {
    for document in both("torch-cpu.json.gz", "torch-cpu-recompile.json.gz") {
        sums(&document);
        let [one] = document.compilations.as_slice() else { panic!("{:?}", document.compilations) };
        assert_eq!((one.step, one.turn, one.served), (Some(4), Turn::Again, Served::DiskCache));
        assert_eq!(one.cause.text, "argument 2: float[64,128] → float[65,128]");
        let optimizer =
            document.frames.iter().find(|frame| frame.name.starts_with("Optimizer.step"));
        assert!(optimizer.is_some(), "{:?}", document.frames);
    }
}

#[test]
fn a_declared_cache_policy_is_checked() {
    let findings = |fixture: &str, policy: Policy| {
        let mut document = read(&made::fixtures().join(fixture));
        document.findings.clear();
        check_cache(&mut document, policy);
        document.findings.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    // A disk cache served the one program here, and it was compiled there.
    let (cached, compiled) = ("torch-cpu.json.gz", "jax-gpu.xplane.pb.gz");
    let text = "cache-not-clean: declared clean, and 1 of 1 programs served by a disk cache: \
                `frame 0` in step 4";
    assert_eq!(findings(cached, Policy::Clean), [text]);
    assert_eq!(findings(cached, Policy::Disabled), [text.replace("clean, and", "disabled, and")]);
    let text = "cache-never-hit: declared primed, and 1 of 1 programs compiled and not served by a \
                disk cache: `step` in step 5";
    assert_eq!(findings(compiled, Policy::Primed), [text]);
    for (fixture, policy) in [
        (cached, Policy::Primed),
        (cached, Policy::AsFound),
        (compiled, Policy::Clean),
        (compiled, Policy::AsFound),
    ] {
        assert!(findings(fixture, policy).is_empty(), "{fixture}, {policy}");
    }
}

#[test]
fn the_phases_of_filter_jit_are_those_of_its_frames() {
    let path = made::fixtures().join("jax-cpu-jit-overhead-python.xplane.pb.gz");
    let (document, trace) = (read(&path), open(&path, &Limits::default()).unwrap().trace);
    sums(&document);
    assert_eq!((document.steps.len(), document.steps_by), (5, StepsBy::Annotation));
    assert_eq!(document.findings[0].finding.name(), "tracer-inflated");
    let [wrapper] = document.wrappers.as_slice() else { panic!("{:?}", document.wrappers) };
    assert_eq!(wrapper.name, "equinox.filter_jit");
    let phases: Vec<(&str, Option<&str>)> =
        wrapper.phases.iter().map(|phase| (phase.name.as_str(), phase.within.as_deref())).collect();
    let expected = [
        ("preprocess", None),
        ("partition", Some("preprocess")),
        ("postprocess", None),
        ("combine", Some("postprocess")),
    ];
    assert_eq!(phases, expected);
    for phase in &wrapper.phases {
        // Nothing runs meanwhile, so their host time is their duration.
        let long: i64 = spans(&trace, &phase.frame).iter().map(|(_, duration)| duration).sum();
        near(phase.host_ns * 5.0, Nanos(long.unsigned_abs()).as_f64(), 0.01);
        near(phase.share_of_wrapper, phase.host_ns / wrapper.host_ns, 1e-9);
    }
    let own: f64 = wrapper
        .phases
        .iter()
        .filter(|phase| phase.within.is_none())
        .map(|phase| phase.share_of_wrapper)
        .sum();
    assert!((0.8..1.0).contains(&own), "{own}");
}
