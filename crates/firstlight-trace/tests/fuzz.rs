//! A seeded fuzzer that needs no nightly compiler: recordings are cut, flipped, doubled and joined, and each
//! must give a trace or an error. The test fails on a panic, a step whose parts do not sum to it, an exceeded
//! budget, or a different result when read in pieces, and names the seed and the round.
//!
//! In CI it runs a few hundred rounds; `FIRSTLIGHT_FUZZ_SECONDS=600 cargo test --release --package
//! firstlight-trace --test fuzz` gives each reader ten minutes, and `FIRSTLIGHT_FUZZ_SEED` repeats a run.
//! `cargo xtask fuzz` runs all fuzzers.

mod made;

use std::io::Write as _;
use std::time::{Duration, Instant};

use firstlight_schema::trace::{CauseKind, TraceDocument};
use firstlight_schema::version::Build;
use firstlight_trace::{
    JaxLog, Limits, Logs, Problem, TorchTrace, Trace, document, open, open_bytes, read_bytes,
    speedscope,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ROUNDS: u32 = 150;
/// Reading in pieces takes many passes, so it is tried less often.
const PIECES_EVERY: u32 = 8;
/// Long enough for every kind of field, and short enough for many rounds.
const LONGEST: usize = 60_000;

/// The seeds of the readers: recordings, and small texts near their decisions.
fn corpus(reader: &str) -> Vec<Vec<u8>> {
    let head = |name: &str| {
        let mut bytes = made::fixture(name);
        bytes.truncate(LONGEST);
        bytes
    };
    match reader {
        "xplane" => vec![
            made::fixture("jax-cpu-filter-jit.xplane.pb.gz"),
            made::fixture("jax-gpu.xplane.pb.gz"),
            vec![0x0a, 0x02, 0x12, 0x00],
        ],
        "kineto" => vec![
            head("torch-cpu.json.gz"),
            head("torch-gpu.json.gz"),
            br#"{"record_shapes":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"Torch-Compiled Region: 0/0","pid":1,"tid":1,"ts":1,"dur":9},{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":2,"dur":5,"args":{"Input Dims":[[6,6],[]],"Input type":["float","Scalar"]}},{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":3,"args":{"Total Allocated":40,"Device Type":1,"Device Id":0}},{"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":7,"ts":4,"dur":2},{"ph":"X","cat":"Kernel","name":"k","pid":1,"tid":8,"ts":4,"dur":3}]}"#.to_vec(),
            br#"{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1.5,"dur":2,"args":{"correlation":1}}]}"#.to_vec(),
        ],
        "packed" => {
            let short = b"\x0a\x02\x12\x00".repeat(64);
            let mut gz = GzEncoder::new(Vec::new(), Compression::default());
            gz.write_all(&short).expect("memory takes everything");
            vec![
                std::fs::read(made::fixtures().join("jax-cpu-filter-jit.xplane.pb.gz"))
                    .expect("a fixture"),
                gz.finish().expect("memory takes everything"),
                zstd::encode_all(made::fixture("jax-gpu.xplane.pb.gz").as_slice(), 3)
                    .expect("memory takes everything"),
            ]
        }
        "log" => vec![
            b"V1 9 guards.py:1] {\"artifact\": {\"name\": \"recompile_reasons\"}, \"frame_id\": 0, \
              \"frame_compile_id\": 1}\n\t[\n\t\"0/0: size mismatch\"\n\t]\n"
                .to_vec(),
            b"V1 9 utils.py:1] {\"compilation_metrics\": {\"co_name\": \"f\", \"recompile_reason\": \
              \"x\"}, \"frame_id\": 0, \"frame_compile_id\": 1}\n] {broken\n"
                .to_vec(),
        ],
        "explanations" => explanations(),
        _ => vec![
            head("jax-gpu.trace.json.gz"),
            br#"[{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},{"ph":"X","pid":701,"tid":1,"ts":1,"dur":2,"name":"train","args":{"step_num":"0"}},{}]"#.to_vec(),
            br#"[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},{"ph":"X","pid":1,"tid":1,"ts":0,"dur":90,"name":"train","args":{"step_num":"0"}},{"ph":"X","pid":1,"tid":2,"ts":10,"dur":50,"name":"while.1","args":{"hlo_module":"jit_f","run_id":"7","device_ordinal":"0"}},{"ph":"X","pid":1,"tid":2,"ts":20,"dur":20,"name":"pure_callback.1","args":{"hlo_module":"jit_f","run_id":"7","device_ordinal":"0"}},{"ph":"X","pid":1,"tid":3,"ts":25,"dur":10,"name":"dot.1","args":{"hlo_module":"jit_f","run_id":"7","device_ordinal":"1"}},{}]"#.to_vec(),
        ],
    }
}

/// A recording with a recompilation, whose log is read.
const COMPILING: &str = "jax-cpu-filter-jit.xplane.pb.gz";

/// JAX's messages about the function that is compiled in the recording, at the time of its compilation.
fn explanations() -> Vec<Vec<u8>> {
    let trace = read_bytes(&made::fixture(COMPILING), &Limits::default()).expect("a fixture");
    let began = trace.facts.began.expect("the recording has its time");
    let compiled = document(&trace, "fuzz", None, Build::new("0", None)).compilations.remove(0);
    let time = began + i64::try_from(compiled.start_ns.0).expect("a time") + 1_000;
    let known = "TRACING CACHE MISS at train.py:8:14 (<module>):\n  for step defined at train.py:6\n  all \
                 previously seen cache keys differ. For the closest previous key:\n";
    let messages = [
        format!("{known}  * at x, now f32[5,5] and before f32[4,4]"),
        format!("{known}  * at s, now f32[]{{weak_type=True}} and before f32[]{{weak_type=False}}"),
        format!(
            "{known}  * at input path [1]['n'], now Static(val=3) and before Static(val=2), so it differs"
        ),
        format!("{known}  * jax_default_matmul_precision differs: now float32 and before None"),
        "TRACING CACHE MISS at a.py:1:1 (f):\n  never seen function:\n    step id=13 defined at a.py:9"
            .to_owned(),
    ];
    let line = |at: i64, text: Option<&String>| {
        let line = serde_json::json!({ "time-ns": at, "text": text });
        format!("{line}\n")
    };
    // The caches were cleared before that.
    let cleared = line(time - 2_000, None);
    messages.iter().map(|text| (cleared.clone() + &line(time, Some(text))).into_bytes()).collect()
}

#[expect(clippy::print_stdout, reason = "how far it came is for whoever let it run for an hour")]
fn fuzz(reader: &str) {
    let seed = number("FIRSTLIGHT_FUZZ_SEED").unwrap_or(1);
    let until = number("FIRSTLIGHT_FUZZ_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let corpus = corpus(reader);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut round = 0;
    while until.map_or(round < ROUNDS, |until| Instant::now() < until) {
        let input = mutated(&corpus, &mut random);
        let result = std::panic::catch_unwind(|| check(reader, &input, round % PIECES_EVERY == 0));
        if result.is_err() {
            let path =
                std::env::temp_dir().join(format!("firstlight-fuzz-{reader}-{seed}-{round}"));
            let _ = std::fs::write(&path, &input);
            panic!("{reader}: seed {seed}, round {round}; the input is {}", path.display());
        }
        round += 1;
    }
    println!("{reader}: {round} rounds from seed {seed}");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn check(reader: &str, input: &[u8], pieces: bool) {
    let limits = Limits { memory: 64 << 20, ..Limits::default() };
    match reader {
        "log" => drop(TorchTrace::parse(&String::from_utf8_lossy(input))),
        "explanations" => {
            let jax = JaxLog::parse(&String::from_utf8_lossy(input));
            let logs = Logs { jax, ..Logs::default() };
            COMPILED.with(|trace| {
                let document = document(trace, "fuzz", Some(&logs), Build::new("0", None));
                serde_json::to_string(&document).expect("every document is JSON");
            });
        }
        "packed" => {
            let file = tempfile::NamedTempFile::new().expect("a temporary file");
            std::fs::write(file.path(), input).expect("a temporary file");
            if let Ok(opened) = open(file.path(), &limits) {
                document_of(&opened.trace);
            }
        }
        _ => match read_bytes(input, &limits) {
            Ok(trace) => {
                let document = document_of(&trace);
                if pieces {
                    tells_in_pieces(input, &document);
                }
            }
            Err(_) if pieces => drop(in_pieces(input, input.len() as u64)),
            Err(_) => {}
        },
    }
}

thread_local! {
    static COMPILED: Trace =
        read_bytes(&made::fixture(COMPILING), &Limits::default()).expect("a fixture");
}

/// A valid trace can be attributed, written and exported, and every step is the sum of its parts.
fn document_of(trace: &Trace) -> TraceDocument {
    let document = document(trace, "fuzz", None, Build::new("0", None));
    for step in &document.steps {
        let sum: u64 = step.parts.iter().map(|row| row.ns.0).sum();
        assert_eq!(sum, step.duration_ns.0, "step {}", step.number);
    }
    serde_json::to_string(&document).expect("every document is JSON");
    speedscope(trace, "fuzz", std::io::sink()).expect("nothing is written to nowhere");
    document
}

/// With increasing memory until it is enough: an error names the missing memory, otherwise the document is
/// the same.
fn tells_in_pieces(input: &[u8], expected: &TraceDocument) {
    let mut memory = (input.len() as u64 / 60).max(64);
    loop {
        match in_pieces(input, memory) {
            Ok(document) => {
                assert_eq!(&document, expected, "with {memory} bytes");
                return;
            }
            Err(Problem::TooLarge { .. }) => memory += memory / 4,
            Err(Problem::StepTooLarge { needs, limit, .. }) => {
                assert!(limit < needs, "{needs} bytes are more than {limit}");
                memory = needs.max(memory + memory / 4);
            }
            Err(error) => panic!("in pieces it is {error}"),
        }
    }
}

fn in_pieces(input: &[u8], memory: u64) -> Result<TraceDocument, Problem> {
    let limits = Limits { memory, ..Limits::default() };
    let mut opened = open_bytes(input.to_vec(), &limits)?;
    let document = opened.document("fuzz", None, Build::new("0", None));
    document.map_err(|error| error.problem)
}

fn mutated(corpus: &[Vec<u8>], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = corpus[random.random_range(0..corpus.len())].clone();
    for _ in 0..random.random_range(1..12) {
        if bytes.is_empty() {
            break;
        }
        let at = random.random_range(0..bytes.len());
        let to = (at + random.random_range(1..64)).min(bytes.len());
        match random.random_range(0..8) {
            0 => bytes[at] ^= 1 << random.random_range(0..8),
            1 => {
                let special = [0x00, 0x7f, 0x80, 0xff, b'"', b'{', b'}', b'\n'];
                bytes[at] = special[random.random_range(0..special.len())];
            }
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => bytes[at..to].fill(0xff),
            6 => {
                let other = &corpus[random.random_range(0..corpus.len())];
                let from = random.random_range(0..other.len());
                let end = (from + random.random_range(1..2_000)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let number = random.random::<u64>().to_string();
                bytes.splice(at..at, number.bytes());
            }
        }
    }
    bytes
}

#[test]
fn the_xplane_reader_survives() {
    fuzz("xplane");
}

#[test]
fn the_kineto_reader_survives() {
    fuzz("kineto");
}

#[test]
fn the_reader_of_converted_json_survives() {
    fuzz("chrome");
}

#[test]
fn unpacking_survives() {
    fuzz("packed");
}

#[test]
fn the_reader_of_explanations_of_jax_survives() {
    let kind = |seed: &Vec<u8>| {
        let jax = JaxLog::parse(&String::from_utf8_lossy(seed));
        let logs = Logs { jax, ..Logs::default() };
        let build = Build::new("0", None);
        COMPILED
            .with(|trace| document(trace, "fuzz", Some(&logs), build).compilations[0].cause.kind)
    };
    // Every seed is recognised; information from the program itself is kept.
    assert_eq!(
        corpus("explanations").iter().map(kind).collect::<Vec<CauseKind>>(),
        [
            CauseKind::Shape,
            CauseKind::WeakType,
            CauseKind::StaticArgument,
            CauseKind::Setting,
            CauseKind::ClearedCache
        ]
    );
    fuzz("explanations");
}

#[test]
fn the_reader_of_torchs_log_survives() {
    fuzz("log");
}
