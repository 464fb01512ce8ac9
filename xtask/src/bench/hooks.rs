//! What the hooks cost a cold JAX process: interleaved with processes that have none, and counted
//! in instructions, which no other process disturbs.
//!
//! The wall time of a cold JAX process scatters by a tenth of itself on a shared machine, so that no
//! affordable number of pairs shows a few milliseconds. Instructions show them: the share that the
//! hooks add, times the processor time that the process takes without them.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::reading::RawSample;

use super::{Workshop, judge, judge_interval, median};
use crate::shell::{Result, install};

const MOST_NS: f64 = 5e6;
const MOST_SHARE: f64 = 0.01;
const COUNTS: usize = 3;

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

/// The interleaved control's verdict; a share of the whole is asked only of a JAX process. Returns
/// the processor time of a process without hooks.
fn price(workshop: &Workshop, pairs: &str, command: &[&str], share: bool) -> Result<f64> {
    let options = ["--runs", pairs, "--control", "--bytecode", "primed", "--timeout", "60s"];
    let document = workshop.cold(&options, command)?;
    let control = document.control.ok_or("there is no control")?;
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
fn instructions(workshop: &Workshop, processor_ns: f64, command: &[&str]) -> Result {
    // valgrind does not know the newest vector instructions, and threads that spin while they wait
    // execute as many as the scheduler lets them.
    let known = ["XLA_FLAGS=--xla_cpu_max_isa=AVX2", "OPENBLAS_NUM_THREADS=1"];
    let valgrind = [
        "env",
        known[0],
        known[1],
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
    ];
    let whole: Vec<&str> = valgrind.iter().chain(command).copied().collect();
    let runs = COUNTS.to_string();
    let options = ["--runs", &runs, "--control", "--bytecode", "primed", "--timeout", "9m"];
    let document = workshop.cold(&options, &whole)?;
    let with = counted(document.samples.iter().map(|sample| &sample.raw))?;
    let without = counted(document.control.iter().flat_map(|control| &control.samples))?;
    let share = (median(&with) - median(&without)) / median(&without);
    let price_ns = share * processor_ns;
    let million = |counts: &[f64]| {
        counts.iter().map(|count| format!("{:.0}", count / 1e6)).collect::<Vec<_>>().join(", ")
    };
    println!(
        "   million instructions with hooks {}; without {}",
        million(&with),
        million(&without)
    );
    let figure = format!(
        "{:+.2} % of the instructions; of {:.0} ms of processor time {:+.2} ms",
        share * 100.0,
        processor_ns / 1e6,
        price_ns / 1e6
    );
    let met = share <= MOST_SHARE && price_ns <= MOST_NS;
    judge("instructions", &figure, "at most 5 ms and 1 %", met);
    Ok(())
}

/// What callgrind counted in each process.
fn counted<'a>(samples: impl Iterator<Item = &'a RawSample>) -> Result<Vec<f64>> {
    let count = |sample: &RawSample| {
        let mut tail = sample.streams.stderr_tail.lines();
        tail.find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
    };
    samples.map(|sample| count(sample).ok_or("callgrind counted nothing".to_owned())).collect()
}
