//! The cost of the hooks in a cold JAX process: interleaved with processes without hooks, and counted in
//! instructions, which other processes do not disturb.
//!
//! The wall time of a cold JAX process scatters by 10 % on a shared machine, so no affordable number of pairs
//! resolves a few milliseconds. Instructions do: the share that the hooks add, times the processor time of
//! the process without them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use firstlight_schema::estimate::Estimate;
use firstlight_schema::message::{Edge, Message};
use firstlight_schema::reading::RawSample;

use super::{Workshop, judge, judge_interval, median};
use xtask::shell::{Result, install, output, root};

const MOST_NS: f64 = 5e6;
const MOST_SHARE: f64 = 0.01;
const COUNTS: usize = 2;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let python = workshop.python.display().to_string();
    let step = Workshop::script("step.py");
    println!("── bench hooks: an empty Python program, 200 interleaved pairs");
    price(workshop, "200", &[&python, "-c", "pass"], false)?;
    println!("── bench hooks: one MLP training step in JAX, 60 interleaved pairs");
    let processor_ns = price(workshop, "60", &[&python, &step], true)?;
    println!("── bench hooks: the same step in instructions, {COUNTS} interleaved pairs");
    if !install("valgrind", "valgrind") {
        println!("   not counted: valgrind is not here");
        return Ok(());
    }
    instructions(workshop, processor_ns, &[&python, &step])
}

/// The verdict of the interleaved control; a limit on the share only applies to a JAX process. Returns the
/// processor time of a process without hooks.
fn price(workshop: &Workshop, pairs: &str, command: &[&str], share: bool) -> Result<f64> {
    let options = ["--runs", pairs, "--control", "--bytecode", "primed", "--timeout", "60s"];
    let document = workshop.cold(&options, command)?;
    let control = document.hooks.ok_or("there is no control")?;
    let base = control.wall.ok_or("no valid pair")?.point;
    for (what, price) in [("wall time", control.price_wall), ("CPU time", control.price_cpu)] {
        let price = price.ok_or("no valid pair")?;
        let limit = if share { MOST_NS.min(MOST_SHARE * base) } else { MOST_NS };
        let wanted = if share { "at most 5 ms and 1 %" } else { "at most 5 ms" };
        let bounds = price.interval.map_or((f64::MIN, f64::MAX), |i| (i.low, i.high));
        judge_interval(what, &figure(&price, base), wanted, bounds, limit);
    }
    let processor = |sample: &RawSample| (sample.usage.user_ns + sample.usage.system_ns).as_f64();
    Ok(median(&control.samples.iter().map(processor).collect::<Vec<_>>()))
}

fn figure(price: &Estimate, base: f64) -> String {
    let (low, high) = price.interval.map_or((f64::NAN, f64::NAN), |i| (i.low, i.high));
    format!(
        "{:+.2} ms ({:+.2} to {:+.2}, 95 %), {:+.2} % of {:.0} ms",
        price.point / 1e6,
        low / 1e6,
        high / 1e6,
        price.point / base * 100.0,
        base / 1e6
    )
}

/// The command under callgrind, with and without hooks.
///
/// Threads of the compiler execute a varying number of instructions, in XLA and in the C and C++ libraries.
/// The hooks are Python, so the interpreter's own instructions are counted, which repeat to a few thousandths
/// of a per cent. The C library's work for the hooks adds at most a tenth (shown by an empty program, where
/// nothing varies). System calls are not instructions of the process, and are counted separately.
fn instructions(workshop: &Workshop, processor_ns: f64, command: &[&str]) -> Result {
    let folder = workshop.folder.path().join("callgrind");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = format!("--callgrind-out-file={}/%p", folder.display());
    // valgrind does not support the newest vector instructions. Spinning threads execute as many instructions
    // as the scheduler allows. Addresses and hashes affect collisions.
    let flags = "XLA_FLAGS=--xla_cpu_max_isa=AVX2 --xla_cpu_parallel_codegen_split_count=1 \
                 --xla_cpu_multi_thread_eigen=false";
    let same = ["env", flags, "OPENBLAS_NUM_THREADS=1", "PYTHONHASHSEED=0", "setarch", "-R"];
    let valgrind = ["taskset", "-c", "0", "valgrind", "--tool=callgrind", &file];
    let whole: Vec<&str> = same.iter().chain(&valgrind).chain(command).copied().collect();
    let runs = COUNTS.to_string();
    let options = ["--runs", &runs, "--control", "--bytecode", "primed", "--timeout", "30m"];
    let document = workshop.cold(&options, &whole)?;
    let with = counted(&folder, document.samples.iter().map(|sample| &sample.raw))?;
    let without = counted(&folder, document.hooks.iter().flat_map(|c| &c.samples))?;
    let million = |counts: &[Counts]| {
        let text =
            |count: &Counts| format!("{:.1} of {:.0}", count.interpreter / 1e6, count.all / 1e6);
        counts.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    println!("   million instructions of the interpreter with hooks: {}", million(&with));
    println!("   without: {}", million(&without));
    let select = |counts: &[Counts], which: fn(&Counts) -> f64| {
        median(&counts.iter().map(which).collect::<Vec<_>>())
    };
    let more =
        select(&with, |count| count.interpreter) - select(&without, |count| count.interpreter);
    let share = more / select(&without, |count| count.all);
    let kernel_ns = kernel(workshop, &document.samples[0].raw)?;
    let price_ns = share * processor_ns + kernel_ns;
    let figure = format!(
        "{:+.1} million, {:+.2} % of all; of {:.0} ms of processor time that is {:+.2} ms, and \
         {:.2} ms of system calls: {:+.2} ms, {:.2} %",
        more / 1e6,
        share * 100.0,
        processor_ns / 1e6,
        share * processor_ns / 1e6,
        kernel_ns / 1e6,
        price_ns / 1e6,
        price_ns / processor_ns * 100.0
    );
    let met = price_ns <= MOST_SHARE * processor_ns && price_ns <= MOST_NS;
    judge("instructions", &figure, "at most 5 ms and 1 %", met);
    Ok(())
}

/// The kernel's time for the phases of a process.
fn kernel(workshop: &Workshop, sample: &RawSample) -> Result<f64> {
    let begins =
        |message: &&Message| matches!(message, Message::Phase(edge) if edge.edge == Edge::Begin);
    let phases = sample.messages.iter().filter(begins).count();
    let script = Workshop::script("phases.py");
    let package = root().join("python");
    let text = output(Command::new(&workshop.python).arg(script).arg(package))?;
    let each: f64 = text.trim().parse().map_err(|error| format!("{text}: {error}"))?;
    println!("   {phases} phases of {:.1} µs in the kernel", each / 1e3);
    #[expect(clippy::cast_precision_loss, reason = "some dozens")]
    Ok(each * phases as f64)
}

/// Instructions of one process: all of them, and those of the interpreter.
struct Counts {
    all: f64,
    interpreter: f64,
}

/// The callgrind counts of each process.
fn counted<'a>(folder: &Path, samples: impl Iterator<Item = &'a RawSample>) -> Result<Vec<Counts>> {
    let pid = |sample: &RawSample| {
        let mut tail = sample.streams.stderr_tail.lines();
        let line = tail.find(|line| line.contains("Collected : "))?;
        Some(line.split("==").nth(1)?.to_owned())
    };
    samples
        .map(|sample| {
            let path = folder.join(pid(sample).ok_or("callgrind counted nothing")?);
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            Ok(by_object(&text))
        })
        .collect()
}

/// Sums the cost lines of a callgrind profile, without those of calls, which repeat the callee's.
fn by_object(profile: &str) -> Counts {
    let mut counts = Counts { all: 0.0, interpreter: 0.0 };
    let mut names: HashMap<&str, bool> = HashMap::new();
    let (mut interpreter, mut repeated) = (false, false);
    for line in profile.lines() {
        // An object is named at its first appearance, which may be as the target of a call.
        let called = line.strip_prefix("cob=");
        if let Some(object) = called.or_else(|| line.strip_prefix("ob=")) {
            let (id, name) = object.split_once(' ').unwrap_or((object, ""));
            let one = names.entry(id);
            let one = *one.or_insert_with(|| {
                let file = name.rsplit('/').next().unwrap_or_default();
                file.starts_with("libpython") || file.starts_with("python")
            });
            interpreter = if called.is_some() { interpreter } else { one };
        } else if line.starts_with("calls=") {
            repeated = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost: f64 =
                line.rsplit(' ').next().and_then(|cost| cost.parse().ok()).unwrap_or(0.0);
            if !repeated {
                counts.all += cost;
                counts.interpreter += if interpreter { cost } else { 0.0 };
            }
            repeated = false;
        }
    }
    counts
}
