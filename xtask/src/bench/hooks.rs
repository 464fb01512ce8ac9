//! What the hooks cost a cold JAX process: interleaved with processes that have none, and counted
//! in instructions, which no other process disturbs.

use firstlight_schema::estimate::Estimate;

use super::{Workshop, judge, judge_interval};
use crate::shell::{Result, install};

const MOST_NS: f64 = 5e6;
const MOST_SHARE: f64 = 0.01;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let python = workshop.python.display().to_string();
    let step = Workshop::script("step.py");
    println!("── bench hooks: an empty Python program, 200 interleaved pairs");
    price(workshop, "200", &[&python, "-c", "pass"], false)?;
    println!("── bench hooks: one MLP training step in JAX, 150 interleaved pairs");
    price(workshop, "150", &[&python, &step], true)?;
    println!("── bench hooks: instructions, which no other process disturbs");
    if !install("valgrind", "valgrind") {
        println!("   not counted: valgrind is not here");
        return Ok(());
    }
    instructions(workshop, "import jax", &[&python, "-c", "import jax"])
}

/// The interleaved control's verdict; a share of the whole is asked only of a JAX process.
fn price(workshop: &Workshop, pairs: &str, command: &[&str], share: bool) -> Result {
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
    Ok(())
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
fn instructions(workshop: &Workshop, what: &str, command: &[&str]) -> Result {
    // valgrind does not know the newest vector instructions.
    let known = "XLA_FLAGS=--xla_cpu_max_isa=AVX2";
    let valgrind = ["env", known, "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let whole: Vec<&str> = valgrind.iter().chain(command).copied().collect();
    let options = ["--runs", "1", "--control", "--bytecode", "primed", "--timeout", "9m"];
    let document = workshop.cold(&options, &whole)?;
    let counted = |tail: &str| -> Option<f64> {
        tail.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
    };
    let with = document.samples.first().and_then(|s| counted(&s.raw.streams.stderr_tail));
    let without =
        document.control.and_then(|control| counted(&control.samples.first()?.streams.stderr_tail));
    let (Some(with), Some(without)) = (with, without) else {
        return Err("callgrind counted nothing".to_owned());
    };
    let share = (with - without) / without;
    let figure = format!(
        "{:+.1} million on top of {:.0} million, {:+.2} %",
        (with - without) / 1e6,
        without / 1e6,
        share * 100.0
    );
    judge(what, &figure, "at most 1 %", share <= MOST_SHARE);
    Ok(())
}
