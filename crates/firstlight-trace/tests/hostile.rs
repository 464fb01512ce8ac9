//! Files that are not traces, broken or malicious: a clear error with the offset, never a panic, never more
//! memory than allowed.

mod made;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use firstlight_schema::trace::NoticeName;
use firstlight_schema::version::Build;
use firstlight_trace::{Limits, Problem, document, open, read_bytes};
use flate2::Compression;
use flate2::write::GzEncoder;
use made::{Entry, Named, Stat, XEvent, XLine, XPlane, XSpace, named};
use prost::Message;

fn problem(bytes: &[u8]) -> Problem {
    read_bytes(bytes, &Limits::default()).expect_err("this is not a trace")
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a temporary folder can be written");
    path
}

/// A plane with one line.
fn space(events: Vec<XEvent>) -> XSpace {
    let line = XLine { id: 1, name: "python".to_owned(), events, ..XLine::default() };
    let plane = XPlane {
        name: "/host:CPU".to_owned(),
        lines: vec![line],
        event_metadata: vec![named(1, "train"), named(2, "PjitFunction(f)")],
        stat_metadata: vec![named(1, "step_num")],
        ..XPlane::default()
    };
    XSpace { planes: vec![plane], ..XSpace::default() }
}

fn event(metadata_id: i64, offset_ps: i64, duration_ps: i64) -> XEvent {
    XEvent { metadata_id, offset_ps, duration_ps, stats: Vec::new() }
}

#[test]
fn an_empty_file_is_reported_as_a_failed_recording_above_two_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "host.xplane.pb", b"");
    let error = open(&path, &Limits::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Empty), "{error}");
    assert!(error.problem.hint().unwrap().contains("2 GB"));
}

#[test]
fn a_file_that_is_not_a_trace_is_named_by_its_beginning() {
    for text in ["hello, world", "%PDF-1.7 ...", "\x7fELF\x02\x01\x01", "PK\x03\x04", "\u{0}\u{0}"]
    {
        let error = problem(text.as_bytes());
        assert!(matches!(error, Problem::Unknown { .. }), "{text:?}: {error}");
    }
    let error = problem(b"{\"a\": 1}").to_string();
    assert!(error.contains("no event"), "{error}");
    let error = problem(b"[]");
    assert!(matches!(error, Problem::NoEvents), "{error}");
}

#[test]
fn a_truncated_xplane_reports_where_it_ends() {
    let whole = made::fixture("jax-cpu-filter-jit.xplane.pb.gz");
    for share in [10, 100, 1_000, 50_000, whole.len() - 1] {
        let error = problem(&whole[..share]);
        let text = error.to_string();
        assert!(
            matches!(error, Problem::Truncated { .. } | Problem::Corrupt { .. }),
            "{share}: {text}"
        );
        assert!(text.contains("byte"), "{text}");
    }
}

#[test]
fn a_truncated_json_keeps_its_complete_events() {
    let whole = made::fixture("torch-cpu.json.gz");
    let trace = read_bytes(&whole[..whole.len() / 2], &Limits::default()).unwrap();
    let names: Vec<NoticeName> = trace.notices.iter().map(|notice| notice.name).collect();
    assert!(names.contains(&NoticeName::Truncated), "{:?}", trace.notices);
    assert!(trace.events() > 300);
    let error = problem(&whole[..200]);
    assert!(matches!(error, Problem::Truncated { .. }), "{error}");
}

#[test]
fn a_missing_bracket_at_the_end_is_accepted() {
    let text = "{\"traceEvents\": [\n  {\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}";
    let trace = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!((trace.events(), trace.notices[0].name), (1, NoticeName::Truncated));
}

#[test]
fn invalid_events_are_repaired_or_skipped_and_counted() {
    let event = |name: &str| {
        format!(
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 1,\n    \
             \"ts\": 1.000, \"dur\": 2.000,\n    \"args\": {{}}\n  }}"
        )
    };
    // A raw control character can be repaired, an unescaped quote cannot.
    let events =
        [event("good"), event("tab\there"), event("a\"b"), event("bell\u{7}"), event("end")];
    let text = format!("{{\"traceEvents\": [\n{}\n  ]}}\n", events.join(",\n"));
    let trace = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(trace.events(), 4);
    let notice = &trace.notices[0];
    assert_eq!(notice.name, NoticeName::InvalidJson);
    assert!(notice.text.contains("2 events were repaired, 1 skipped"), "{}", notice.text);
}

/// Windows end inside events and inside characters, and contain invalid events.
#[test]
fn a_file_of_many_windows_is_read_like_a_short_one() {
    const EVENTS: u64 = 60_000;
    let mut text = b"{\"traceEvents\":[\n".to_vec();
    let (mut repaired, mut skipped, mut durations) = (0, 0, 0);
    for index in 0..EVENTS {
        let mark: &[u8] = match index {
            _ if index % 9_001 == 5 => b"\x01",
            _ if index % 7_001 == 6 => b"\xff",
            _ => "é".as_bytes(),
        };
        repaired += u64::from(mark.len() == 1);
        let comma = if index % 10_007 == 7 { ",," } else { "," };
        skipped += u64::from(comma == ",,");
        if comma == "," {
            durations += index;
        }
        text.extend_from_slice(b"{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"a");
        text.extend_from_slice(mark);
        let rest = format!("\"{comma}\"ts\":{index},\"dur\":{index}}},\n");
        text.extend_from_slice(rest.as_bytes());
    }
    text.extend_from_slice(b"{}]}");
    let trace = read_bytes(&text, &Limits::default()).unwrap();
    assert_eq!(trace.events() as u64, EVENTS - skipped);
    let own: i64 = trace.lines[0].events.duration.iter().sum();
    assert_eq!(own.unsigned_abs(), durations * 1_000);
    let notice = trace.notices.iter().find(|one| one.name == NoticeName::InvalidJson).unwrap();
    let expected = format!("{repaired} events were repaired, {skipped} skipped");
    assert!(notice.text.contains(&expected), "{}, expected {expected}", notice.text);
}

#[test]
fn a_corrupt_varint_is_reported_with_its_offset() {
    // An event whose metadata id never ends, in a line, in a plane.
    let mut bytes = vec![0x0a, 0x11, 0x1a, 0x0f, 0x22, 0x0d, 0x08];
    bytes.extend([0xff; 12]);
    let error = problem(&bytes);
    assert!(matches!(error, Problem::Corrupt { at: 7, .. }), "{error}");
    assert!(error.to_string().contains("varint"), "{error}");
}

#[test]
fn a_length_larger_than_memory_allocates_nothing() {
    // A plane, a line, an event: each claims to be exabytes long.
    for prefix in [&[0x0a][..], &[0x0a, 0x20, 0x1a], &[0x0a, 0x20, 0x1a, 0x18, 0x22]] {
        let mut bytes = prefix.to_vec();
        bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        bytes.resize(64, 1);
        let error = problem(&bytes);
        assert!(matches!(error, Problem::Truncated { .. } | Problem::Corrupt { .. }), "{error}");
    }
}

#[test]
fn negative_and_unlimited_times_are_cut_and_reported() {
    let events = vec![
        event(1, 0, -5_000),
        event(1, i64::MAX, i64::MAX),
        event(1, i64::MIN, 1_000),
        event(99, 1_000, 1_000),
    ];
    let trace = read_bytes(&space(events).encode_to_vec(), &Limits::default()).unwrap();
    assert_eq!(trace.events(), 4);
    assert!(trace.notices.iter().any(|notice| notice.name == NoticeName::NegativeDuration));
    let own = document(&trace, "trace", None, Build::new("0", None));
    for step in &own.steps {
        assert_eq!(step.parts.iter().map(|row| row.ns.0).sum::<u64>(), step.duration_ns.0);
    }
    let text = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":-3},
        {"ph":"X","name":"b","pid":1,"tid":1,"ts":9e18,"dur":9e18},
        {"ph":"X","name":"c","pid":1,"tid":1,"ts":"x"}]"#;
    let trace = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(trace.events(), 1);
    assert_eq!(trace.notices.len(), 2, "{:?}", trace.notices);
}

#[test]
fn circular_references_are_not_followed() {
    // A stat whose text refers to itself, and an HLO with deeply nested tuples.
    let mut file = space(vec![event(1, 0, 5_000)]);
    let mut nested = Vec::new();
    for _ in 0..10_000 {
        let mut outer = vec![0x22];
        prost::encoding::encode_varint(nested.len() as u64, &mut outer);
        outer.extend(nested);
        nested = outer;
    }
    let wrap = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2];
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        out.extend(bytes);
        out
    };
    let proto = wrap(1, &wrap(4, &wrap(1, &nested)));
    let stat = Stat { metadata_id: 2, bytes: Some(proto), ..Stat::default() }.encode_to_vec();
    let plane = &mut file.planes[0];
    plane.stat_metadata.push(named(2, "Hlo Proto"));
    plane.stat_metadata.push(named(3, "hlo_module"));
    let mut value = Named { id: 7, name: "jit_f(1)".to_owned() }.encode_to_vec();
    value.extend(wrap(5, &stat));
    plane.event_metadata.push(Entry { key: 7, value });
    // hlo_module refers to stat 3, which refers to itself.
    plane.lines[0].events[0].stats.push(vec![0x08, 3, 0x38, 3]);
    let trace = read_bytes(&file.encode_to_vec(), &Limits::default()).unwrap();
    assert_eq!(trace.events(), 1);
}

#[test]
fn a_gzip_bomb_is_stopped_before_it_is_large() {
    let folder = tempfile::tempdir().unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"{\"traceEvents\": [").unwrap();
    let blank = vec![b' '; 1 << 20];
    for _ in 0..100 {
        encoder.write_all(&blank).unwrap();
    }
    let packed = encoder.finish().unwrap();
    let path = file(folder.path(), "bomb.json.gz", &packed);
    let error = open(&path, &Limits::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Bomb { .. }), "{error}");
    let zeros = zstd::encode_all(std::io::repeat(0).take_bytes(100 << 20), 3).unwrap();
    let path = file(folder.path(), "bomb.zst", &zeros);
    let error = open(&path, &Limits::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Bomb { .. }), "{error}");
}

trait TakeBytes: std::io::Read + Sized {
    fn take_bytes(self, bytes: u64) -> std::io::Take<Self> {
        self.take(bytes)
    }
}

impl TakeBytes for std::io::Repeat {}

#[test]
fn broken_compression_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let packed = std::fs::read(made::fixtures().join("torch-cpu.json.gz")).unwrap();
    let path = file(folder.path(), "half.json.gz", &packed[..packed.len() / 2]);
    let error = open(&path, &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("compressed data"), "{error}");
}

#[test]
fn zstandard_and_a_temporary_file_give_the_same_trace() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = made::fixture("jax-gpu.xplane.pb.gz");
    let packed = zstd::encode_all(bytes.as_slice(), 3).unwrap();
    let path = file(folder.path(), "host.xplane.pb.zst", &packed);
    let spooled = Limits { in_memory: 1_000, ..Limits::default() };
    let count = |limits| open(&path, &limits).unwrap().trace.events();
    assert_eq!(count(spooled), count(Limits::default()));
    assert_eq!(count(spooled), read_bytes(&bytes, &Limits::default()).unwrap().events());
}

#[test]
fn a_memory_budget_is_kept() {
    let bytes = made::longer_xplane(&made::fixture("jax-gpu.xplane.pb.gz"), 3_000_000);
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let error = read_bytes(&bytes, &limits).unwrap_err();
    assert!(matches!(error, Problem::TooLarge { events: 1.., .. }), "{error}");
    let json = made::longer_kineto(&made::fixture("torch-cpu.json.gz"), 3_000_000);
    let error = read_bytes(&json, &Limits { memory: 100_000, ..limits }).unwrap_err();
    assert!(matches!(error, Problem::TooLarge { .. }), "{error}");
}

#[test]
fn ten_million_events_are_read() {
    // Ten million events of four bytes: a hostile file of forty megabytes.
    let events = 10_000_000_u64;
    let mut line = vec![0x12, 1, b'p'];
    for _ in 0..events {
        line.extend([0x22, 2, 0x08, 1]);
    }
    let wrap = |tag: u8, bytes: &[u8]| {
        let mut out = vec![tag];
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        out.extend(bytes);
        out
    };
    let mut plane = wrap(0x12, b"/host:CPU");
    plane.extend(wrap(0x1a, &line));
    let bytes = wrap(0x0a, &plane);
    let trace = read_bytes(&bytes, &Limits::default()).unwrap();
    assert_eq!(trace.events() as u64, events);
    let document = document(&trace, "trace", None, Build::new("0", None));
    assert_eq!(document.steps.len(), 1);
}

#[test]
fn errors_and_warnings_inside_the_file_are_shown() {
    let mut file = space(vec![event(1, 0, 1_000)]);
    file.errors.push("CUPTI could not be loaded".to_owned());
    file.warnings.push("dropped 7 events".to_owned());
    let trace = read_bytes(&file.encode_to_vec(), &Limits::default()).unwrap();
    let texts: Vec<&str> = trace.notices.iter().map(|notice| notice.text.as_str()).collect();
    assert_eq!(texts, ["CUPTI could not be loaded", "dropped 7 events"]);
}

#[test]
fn a_profile_folder_gives_its_newest_run_and_a_missing_run_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(folder.path(), &Limits::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::NoTrace), "{error}");
    let fixture = std::fs::read(made::fixtures().join("jax-gpu.xplane.pb.gz")).unwrap();
    for time in ["2026_01_01_00_00_00", "2026_02_01_00_00_00"] {
        let run = folder.path().join("plugins/profile").join(time);
        std::fs::create_dir_all(&run).unwrap();
        file(&run, "host.xplane.pb.gz", &fixture);
        file(&run, "host.trace.json.gz", b"not read");
    }
    let opened = open(folder.path(), &Limits::default()).unwrap();
    assert!(opened.path.display().to_string().contains("2026_02_01"));
    assert_eq!(opened.trace.notices[0].name, NoticeName::OtherRuns);
    let run = folder.path().join("plugins/profile/2026_02_01_00_00_00");
    file(&run, "other.xplane.pb.gz", &fixture);
    let error = open(folder.path(), &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("host.xplane.pb.gz, other.xplane.pb.gz"), "{error}");
}

#[test]
fn a_foreign_trace_is_one_step_and_has_a_notice() {
    let text = r#"{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}]}"#;
    let trace = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
    let own = document(&trace, "trace", None, Build::new("0", None));
    assert_eq!((own.steps.len(), own.steps[0].duration_ns.0), (1, 10_000));
    let text = text.replace("\"dur\":10", "\"dur\":0");
    let nothing = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
    let nothing = document(&nothing, "trace", None, Build::new("0", None));
    assert_eq!(nothing.host_outside.map(|outside| outside.share), Some(0.0));
    assert!(own.notices.iter().any(|notice| notice.name == NoticeName::StepsGuessed));
}

#[test]
fn the_converters_cap_is_noticed() {
    let mut text = String::from(
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[{\"ph\":\"M\",\"pid\":701,\"name\":\
         \"process_name\",\"args\":{\"name\":\"/host:CPU\"}}",
    );
    for index in 0..1_000_000 {
        write!(
            text,
            ",{{\"ph\":\"X\",\"pid\":701,\"tid\":1,\"ts\":{index},\"dur\":1,\"name\":\"a\"}}"
        )
        .expect("a string");
    }
    text.push_str(",{}]}");
    let trace = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
    assert!(trace.notices.iter().any(|notice| notice.name == NoticeName::EventCap));
}
