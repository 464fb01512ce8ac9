//! Recordings larger than the budget are read in pieces, with the same result to the last nanosecond.

mod made;

use firstlight_schema::trace::{NoticeName, StepsBy, TraceDocument};
use firstlight_schema::version::Build;
use firstlight_trace::{Limits, Problem, document, open, open_bytes, read_bytes};
use made::{XEvent, XLine, XPlane, XSpace, named};
use prost::Message;

fn build() -> Build {
    Build::new("0", None)
}

fn whole(bytes: &[u8]) -> TraceDocument {
    let trace = read_bytes(bytes, &Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    document(&trace, "trace", None, build())
}

/// Reads in pieces with this much memory; `None` if it is enough for all of it at once.
fn in_pieces(bytes: &[u8], memory: u64) -> Result<Option<(TraceDocument, u64)>, Problem> {
    let limits = Limits { memory, ..Limits::default() };
    let mut opened = open_bytes(bytes.to_vec(), &limits)?;
    let Some(needs) = opened.in_pieces() else { return Ok(None) };
    let document = opened.document("trace", None, build()).map_err(|error| error.problem)?;
    Ok(Some((document, needs)))
}

/// With at most 1/32 more than the smallest sufficient memory: the document, that memory, and the memory
/// needed at once.
fn with_least(bytes: &[u8]) -> (TraceDocument, u64, u64) {
    let mut memory = (bytes.len() as u64 / 60).max(64);
    let (mut too_little, mut enough) = (0, u64::MAX);
    let mut found = None;
    loop {
        match in_pieces(bytes, memory) {
            Ok(read) => {
                enough = memory;
                found = read.map(|(document, needs)| (document, memory, needs)).or(found);
            }
            Err(Problem::TooLarge { .. }) => too_little = memory,
            Err(Problem::StepTooLarge { needs, limit, .. }) => {
                assert!(needs > limit, "{needs} of {limit}");
                too_little = memory;
            }
            Err(error) => panic!("{error}"),
        }
        if enough == u64::MAX {
            memory *= 2;
        } else if enough - too_little > enough / 32 {
            memory = too_little.midpoint(enough);
        } else {
            return found.expect("less memory than all of it needs");
        }
    }
}

/// Compares a recording read at once and in pieces, with the least memory and with more.
fn same(bytes: &[u8]) -> (u64, u64) {
    let expected = whole(bytes);
    let (document, least, needs) = with_least(bytes);
    assert_eq!(document, expected);
    for share in [3, 2] {
        let memory = least + (needs - least) * (share - 1) / share;
        let read = in_pieces(bytes, memory).unwrap_or_else(|error| panic!("{error}"));
        let (document, _) = read.expect("less memory than all of it needs");
        assert_eq!(document, expected);
    }
    (least, needs)
}

const XPLANES: [&str; 4] = [
    "jax-cpu-filter-jit.xplane.pb.gz",
    "jax-cpu-jit-overhead-python.xplane.pb.gz",
    "jax-cpu-manual-python.xplane.pb.gz",
    "jax-gpu.xplane.pb.gz",
];
#[test]
fn xplanes_give_the_same_in_pieces() {
    for fixture in XPLANES {
        let (least, needs) = same(&made::fixture(fixture));
        assert!(least < needs, "{fixture}: {least} of {needs}");
    }
}

/// Repeated three times, because one step compiles and has nearly all of the events.
fn three_times(fixture: &str) -> Vec<u8> {
    let bytes = made::fixture(fixture);
    made::longer_kineto(&bytes, bytes.len() * 5 / 2)
}

#[test]
fn jsons_give_the_same_in_pieces() {
    let jsons = [
        three_times("torch-cpu.json.gz"),
        three_times("torch-gpu.json.gz"),
        made::fixture("jax-gpu.trace.json.gz"),
    ];
    for (index, json) in jsons.iter().enumerate() {
        let (least, needs) = same(json);
        assert!(least < needs, "{index}: {least} of {needs}");
    }
}

#[test]
fn whole_recordings_give_the_same_in_pieces() {
    let Some(folder) = made::recordings() else { return };
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let mut bytes = made::unpacked(&path);
        if path.display().to_string().contains("torch") {
            bytes = made::longer_kineto(&bytes, bytes.len() * 5 / 2);
        }
        let (document, least, needs) = with_least(&bytes);
        assert_eq!(document, whole(&bytes));
        assert!(least < needs, "{least} of {needs}");
    }
}

#[test]
fn many_steps_need_a_small_part_of_the_memory() {
    let long = [
        made::kineto_with_stacks(4_000_000),
        made::longer_kineto(&made::fixture("torch-cpu.json.gz"), 3_000_000),
    ];
    for bytes in long {
        let (document, least, needs) = with_least(&bytes);
        assert_eq!(document, whole(&bytes));
        assert!(least < needs / 4, "{least} of {needs}");
    }
}

#[test]
fn steps_without_annotations_are_found_in_pieces() {
    let unmarked = |bytes: Vec<u8>, mark: &[u8], other: &[u8]| {
        let mut bytes = bytes;
        assert_eq!(mark.len(), other.len());
        while let Some(at) = bytes.windows(mark.len()).position(|window| window == mark) {
            bytes[at..at + mark.len()].copy_from_slice(other);
        }
        bytes
    };
    let jax = unmarked(made::fixture("jax-cpu-filter-jit.xplane.pb.gz"), b"step_num", b"stop_num");
    let gpu = unmarked(made::fixture("jax-gpu.xplane.pb.gz"), b"PjitFunction(", b"PjotFunction(");
    let gpu = unmarked(gpu, b"step_num", b"stop_num");
    let torch = unmarked(three_times("torch-gpu.json.gz"), b"ProfilerStep#", b"ProfilerStop#");
    let by = [StepsBy::RepeatedCall, StepsBy::RepeatedModule, StepsBy::RepeatedCall];
    for (bytes, by) in [jax, gpu, torch].iter().zip(by) {
        assert_eq!(whole(bytes).steps_by, by);
        same(bytes);
    }
}

/// Calls of two nanoseconds in steps of ten, the last of them first, and one event a century away.
fn odd() -> Vec<u8> {
    let event = |metadata_id: i64, at: i64, long: i64, step: Option<u8>| XEvent {
        metadata_id,
        offset_ps: at * 1_000,
        duration_ps: long * 1_000,
        stats: step.map(|step| vec![0x08, 1, 0x20, step]).into_iter().collect(),
    };
    let mut events = Vec::new();
    for step in 0..100_u8 {
        let at = i64::from(step) * 12;
        events.push(event(1, at, 10, Some(step)));
        events.extend((0..4).map(|call| event(2, at + call * 2, 2, None)));
    }
    // Events that began long before, and one beyond all other times.
    events.push(event(3, 5, 900, None));
    events.push(event(3, i64::MAX / 1_000, 7, None));
    events.reverse();
    let line = |id: i64, events: Vec<XEvent>| XLine {
        id,
        name: format!("line {id}"),
        timestamp_ns: 1_000 * id,
        events,
        ..XLine::default()
    };
    let names = [named(1, "train"), named(2, "PjitFunction(f)"), named(3, "around")];
    let plane = XPlane {
        name: "/host:CPU".to_owned(),
        lines: vec![line(1, events.clone()), line(2, events[..90].to_vec()), line(1, Vec::new())],
        event_metadata: names.to_vec(),
        stat_metadata: vec![named(1, "step_num")],
        ..XPlane::default()
    };
    XSpace { planes: vec![plane], ..XSpace::default() }.encode_to_vec()
}

#[test]
fn unusual_times_are_handled_in_pieces_too() {
    let bytes = odd();
    let document = whole(&bytes);
    assert_eq!(document.steps.len(), 100);
    let names: Vec<NoticeName> = document.notices.iter().map(|notice| notice.name).collect();
    assert!(names.contains(&NoticeName::NoTime) && names.contains(&NoticeName::OtherThreads));
    let (least, needs) = same(&bytes);
    assert!(least < needs / 2, "{least} of {needs}");
}

#[test]
fn a_time_after_the_events_is_used_for_them() {
    // Two events, the first of five picoseconds at ten nanoseconds, and then the line's time.
    let line: Vec<u8> = [
        &[0x12, 1, b'p'][..],
        &[0x22, 7, 0x08, 1, 0x10, 0x90, 0x4e, 0x18, 0x05],
        &[0x22, 4, 0x08, 1, 0x10, 0x01],
        &[0x18, 0x64],
    ]
    .concat();
    let wrap = |tag: u8, bytes: &[u8]| {
        let mut out = vec![tag];
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        out.extend(bytes);
        out
    };
    let mut plane = wrap(0x12, b"/host:CPU");
    plane.extend(wrap(0x1a, &line));
    plane.extend(wrap(0x1a, &[0x12, 1, b'q', 0x18, 0x05, 0x22, 2, 0x08, 1]));
    let bytes = wrap(0x0a, &plane);
    assert_eq!(whole(&bytes).recording.events, 3);
    same(&bytes);
}

#[test]
fn a_step_that_does_not_fit_is_reported_with_its_memory() {
    let bytes = made::kineto_with_stacks(1_000_000);
    let mut memory = with_least(&bytes).1;
    let (error, needs) = loop {
        memory -= memory / 16;
        match in_pieces(&bytes, memory) {
            Ok(_) => {}
            Err(error) => {
                let Problem::StepTooLarge { ref what, needs, limit } = error else {
                    panic!("{error}")
                };
                assert!(what.starts_with("step ") && limit == memory, "{error}");
                break (error, needs);
            }
        }
    };
    assert!(error.hint().expect("the error has a hint").contains("--memory"));
    in_pieces(&bytes, needs).expect("the hint has the memory");
    let error = in_pieces(&bytes, needs - 1).expect_err("a byte less is not");
    assert!(
        matches!(error, Problem::StepTooLarge { needs: document, .. } if document == needs),
        "{error}"
    );
}

#[test]
fn a_compressed_file_is_unpacked_once_and_read_again() {
    let bytes = made::kineto_with_stacks(1_000_000);
    let memory = with_least(&bytes).1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json.zst");
    std::fs::write(&path, zstd::encode_all(bytes.as_slice(), 3).unwrap()).unwrap();
    // It is unpacked to a temporary file, because it is larger than the memory.
    let mut opened = open(&path, &Limits { memory, ..Limits::default() }).unwrap();
    assert!(opened.in_pieces().is_some());
    assert_eq!(opened.document("trace", None, build()).unwrap(), whole(&bytes));
}
