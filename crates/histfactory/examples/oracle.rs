//! Prints the library's view of workspaces, for comparison with another implementation.
//!
//! `oracle any 100 7` makes a hundred arbitrary workspaces, the first from seed 7; `oracle read`
//! takes one from each line of its input. For each it prints a line of JSON: the workspace, its
//! layout, and value, gradient and expected data at points; or the error.

#![expect(clippy::print_stdout, reason = "it is all that this program does")]

use std::io::BufRead;

use histfactory::synthetic::{Limits, any};
use histfactory::{Interpolation, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

const MODES: [(&str, Interpolation); 2] = [
    (
        "code4_code4p",
        Interpolation {
            normsys: histfactory::interpolation::NormsysCode::Code4,
            histosys: histfactory::interpolation::HistosysCode::Code4p,
        },
    ),
    ("code1_code0", Interpolation::PIECEWISE),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["any", count, first] => {
            let (count, first): (u64, u64) = (count.parse()?, first.parse()?);
            for seed in first..first + count {
                let workspace = any(seed, Limits::default());
                println!("{}", answer(&workspace.to_json()));
            }
        }
        ["read"] => {
            for line in std::io::stdin().lock().lines() {
                println!("{}", answer(&line?));
            }
        }
        _ => return Err("oracle any COUNT FIRST-SEED, or oracle read".into()),
    }
    Ok(())
}

fn answer(text: &str) -> Value {
    match examined(text) {
        Ok(value) => value,
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn examined(text: &str) -> Result<Value, Box<dyn std::error::Error>> {
    let workspace: Workspace = text.parse()?;
    let mut points: Vec<Value> = Vec::new();
    let mut layout = json!({});
    for (mode, interpolation) in MODES {
        let options = ModelOptions { interpolation, ..ModelOptions::default() };
        let model = Model::new(&workspace, &options)?;
        layout = json!({
            "par_names": model.parameter_names(),
            "init": model.init(),
            "bounds": model.bounds(),
            "fixed": model.fixed(),
            "poi_index": model.poi(),
            "data": model.observed().as_slice(),
        });
        for (index, theta) in places(&model).into_iter().enumerate() {
            if points.len() <= index {
                points.push(json!({"pars": theta}));
            }
            points[index][mode] = match model.nll_and_gradient(&theta, model.observed()) {
                Ok((nll, gradient)) => json!({
                    "nll": nll,
                    "grad_nll": gradient,
                    "expected": model.expected_data(&theta)?,
                }),
                Err(error) => json!({"error": error.to_string()}),
            };
        }
    }
    Ok(
        json!({"workspace": serde_json::from_str::<Value>(text)?, "layout": layout, "points": points}),
    )
}

/// The start, and points on either side of it within the bounds; never at a kink.
fn places(model: &Model) -> Vec<Vec<f64>> {
    let place = |number: u32| -> Vec<f64> {
        let shift = |(index, parameter): (u32, histfactory::model::Parameter<'_>)| {
            if parameter.fixed || number == 0 {
                return parameter.init;
            }
            let wave = f64::from((index * 7 + number * 13) % 17) / 8.0 - 1.0;
            let size = if parameter.init.abs() < 0.6 { 1.7 } else { 0.3 };
            let [low, high] = parameter.bounds;
            (parameter.init + size * (wave + 0.03)).clamp(low, high)
        };
        (0u32..).zip(model.parameters()).map(shift).collect()
    };
    (0..4).map(place).collect()
}
