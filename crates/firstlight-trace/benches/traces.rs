//! The speed of reading and attributing traces on one core, and the memory they need. `make FOLDER` writes
//! the files that `cargo xtask bench trace` also gives to other tools; `read FILE` measures one.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../tests/made/mod.rs"]
mod made;

use std::path::Path;

use firstlight_schema::version::Build;
use firstlight_trace::{Limits, document, open};

const TIMES: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["make", folder] => make(Path::new(folder)),
        ["read", file] => read(Path::new(file)),
        _ => println!("make FOLDER | read FILE"),
    }
}

fn make(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("the folder can be written");
        println!("{name}: {} bytes", bytes.len());
    };
    let python = made::fixture("jax-cpu-manual-python.xplane.pb.gz");
    write("frames.xplane.pb", &made::longer_xplane(&python, 45_000_000));
    let gpu = made::fixture("jax-gpu.xplane.pb.gz");
    write("gpu.xplane.pb", &made::longer_xplane(&gpu, 30_000_000));
    let kineto = made::fixture("torch-gpu.json.gz");
    write("gpu.pt.trace.json", &made::longer_kineto(&kineto, 100_000_000));
    write("stacks.pt.trace.json", &made::kineto_with_stacks(105_000_000));
}

/// Seconds that this thread was running on a core; on a busy machine the elapsed time includes other
/// programs.
fn seconds_on_a_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    ns.expect("Linux reports the run time of a thread") / 1e9
}

/// Seconds to read and to attribute, the best of a few; then the peak of the process.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn read(file: &Path) {
    let (mut reading, mut attributing) = (f64::MAX, f64::MAX);
    let (mut events, mut steps, mut bytes) = (0, 0, 0);
    for _ in 0..TIMES {
        let start = seconds_on_a_core();
        let opened = open(file, &Limits::default()).expect("the file is a trace");
        reading = reading.min(seconds_on_a_core() - start);
        let start = seconds_on_a_core();
        let document = document(&opened.trace, "bench", None, Build::new("0", None));
        attributing = attributing.min(seconds_on_a_core() - start);
        (events, steps, bytes) = (opened.trace.events(), document.steps.len(), opened.trace.bytes);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or(0.0, |rest| {
        rest.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) * 1024.0
    });
    println!(
        "{{\"bytes\":{bytes},\"events\":{events},\"steps\":{steps},\"read-s\":{reading},\
         \"attribute-s\":{attributing},\"megabytes-per-s\":{},\"peak-bytes\":{peak}}}",
        bytes as f64 / 1e6 / reading
    );
}
