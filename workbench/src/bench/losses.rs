//! Losses in Python: PyTorch's overhead over the core, training, import; compared with nextstat.

use std::process::Command;

use serde_json::Value;

use super::{Workshop, judge};
use xtask::shell::{Result, output};
use xtask::wheel;

/// A figure, its name in the script's answer, and its limit in microseconds.
const WANTED: [(&str, &str, f64); 3] = [
    ("SignificanceLoss forward and backward, 8 parameters, beyond the core", "beyond_core", 100.0),
    ("a step of a 20-step training loop, 8 bins", "training_step", 1_000.0),
    ("import histfactory beyond NumPy", "import", 20_000.0),
];

pub(super) fn bench(_: &Workshop) -> Result {
    println!("── bench losses");
    let python = wheel::torch()?;
    let built = wheel::build(wheel::Product::Histfactory, "release")?;
    wheel::install(&python, &built)?;
    if !wheel::add(&python, "nextstat==0.10.1") {
        println!("   nextstat cannot be installed: ours stand alone");
    }
    let script = Workshop::script("histfactory_losses.py");
    let text = output(Command::new(&python).arg(&script).env("CUDA_VISIBLE_DEVICES", ""))?;
    let figures: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    for (what, key, limit) in WANTED {
        let figure = figures[key].as_f64().ok_or_else(|| format!("no figure for {key}"))?;
        judge(what, &micros(figure), &format!("at most {}", micros(limit)), figure <= limit);
    }
    let others = figures["others"].as_object();
    for (what, figure) in others.into_iter().flatten() {
        match figure.as_f64() {
            Some(figure) => println!("   {what}: {}", micros(figure)),
            None => println!("   {what}: {}", figure.as_str().unwrap_or_default()),
        }
    }
    Ok(())
}

fn micros(figure: f64) -> String {
    if figure < 1_000.0 { format!("{figure:.1} µs") } else { format!("{:.2} ms", figure / 1e3) }
}
