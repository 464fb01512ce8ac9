//! What the hooks cost a cold JAX process: interleaved with processes that have none, and counted
//! in instructions, which no other process disturbs.

use firstlight_schema::estimate::Estimate;

use super::{Workshop, judge};
use crate::shell::{Result, install};

const PAIRS: &str = "150";
const MOST_NS: f64 = 5e6;
const MOST_SHARE: f64 = 0.01;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let python = workshop.python.display().to_string();
    let step = Workshop::script("step.py");
    println!("── bench hooks: one MLP training step in JAX, {PAIRS} interleaved pairs");
    let options = ["--runs", PAIRS, "--control", "--bytecode", "primed", "--timeout", "60s"];
    let document = workshop.cold(&options, &[&python, &step, "mlp"])?;
    let control = document.control.ok_or("there is no control")?;
    let base = control.wall.ok_or("no valid pair")?.point;
    for (what, price) in [("wall time", control.price_wall), ("CPU time", control.price_cpu)] {
        let price = price.ok_or("no valid pair")?;
        let met = price.point <= MOST_NS && price.point <= MOST_SHARE * base;
        judge(what, &figure(&price, base), "at most 5 ms and 1 %", met);
    }
    instructions(workshop, &python)
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

/// `import jax` under callgrind, with and without hooks.
fn instructions(workshop: &Workshop, python: &str) -> Result {
    if !install("valgrind", "valgrind") {
        println!("   instructions: not counted, valgrind is not here");
        return Ok(());
    }
    let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let mut command = valgrind.to_vec();
    command.extend([python, "-c", "import jax"]);
    let options = ["--runs", "1", "--control", "--bytecode", "primed", "--timeout", "9m"];
    let document = workshop.cold(&options, &command)?;
    let counted = |tail: &str| -> Option<f64> {
        tail.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
    };
    let with = counted(&document.samples[0].raw.streams.stderr_tail);
    let without =
        document.control.and_then(|control| counted(&control.samples.first()?.streams.stderr_tail));
    let (Some(with), Some(without)) = (with, without) else {
        return Err("callgrind counted nothing".to_owned());
    };
    let share = (with - without) / without;
    let figure = format!(
        "{:.1} million on top of {:.0} million, {:+.2} %",
        (with - without) / 1e6,
        without / 1e6,
        share * 100.0
    );
    judge("instructions of `import jax`", &figure, "at most 1 %", share <= MOST_SHARE);
    Ok(())
}
