//! Objectives where a signal is tiny or a bin is empty.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::derivative::Convention;
use histfactory::inference::Dataset;
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::{Model, ModelOptions, Workspace};
use serde_json::json;

fn model(background: [f64; 3]) -> Model {
    let document = json!({
        "channels": [{"name": "c", "samples": [
            {"name": "signal", "data": [1.0, 2.0, 3.0], "modifiers": [
                {"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": background, "modifiers": [
                {"name": "n", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}}]},
        ]}],
        "observations": [{"name": "c", "data": background}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    });
    Model::new(&Workspace::from_value(&document).unwrap(), &ModelOptions::default()).unwrap()
}

fn input() -> Input {
    Input::Nominal { channel: "c".into(), sample: "signal".into() }
}

#[test]
fn a_tiny_signal_has_finite_slopes() {
    let model = model([50.0, 40.0, 30.0]);
    let (with, without) = (Dataset::Asimov { mu: 1.0 }, Dataset::Asimov { mu: 0.0 });
    let quantities = [
        Quantity::Q0 { dataset: with },
        Quantity::Significance { dataset: with, smooth: 0.0 },
        Quantity::Significance { dataset: with, smooth: 1e-6 },
        Quantity::Width { dataset: with },
        Quantity::UpperLimit { dataset: without, level: 0.05 },
    ];
    for quantity in quantities {
        let objective =
            Objective::new(&model, quantity, &[input()], Convention::default()).unwrap();
        // The limit is inversely proportional to the signal, and is not searched beyond 1e9.
        let powers = if matches!(quantity, Quantity::UpperLimit { .. }) { 8 } else { 12 };
        for power in 0..powers {
            let size = 10_f64.powi(-power);
            let x = [size, 2.0 * size, 3.0 * size];
            let mut gradient = [0.0; 3];
            match objective.evaluate(&x, Some(&mut gradient)) {
                Ok(value) => {
                    let finite = gradient.iter().all(|slope| slope.is_finite());
                    assert!(
                        value.is_finite() && finite,
                        "{quantity:?} {size}: {value} {gradient:?}"
                    );
                }
                Err(error) => panic!("{quantity:?} {size}: {error}"),
            }
        }
    }
}

/// A bin with an expectation of zero contributes nothing, whatever the other bins do.
#[test]
fn an_empty_bin_has_no_slope() {
    let model = model([50.0, 40.0, 0.0]);
    let quantity = Quantity::Significance { dataset: Dataset::Asimov { mu: 1.0 }, smooth: 0.0 };
    let background = Input::Nominal { channel: "c".into(), sample: "background".into() };
    let inputs = [input(), background];
    let objective = Objective::new(&model, quantity, &inputs, Convention::default()).unwrap();
    let slopes = |yields: [f64; 6]| {
        let mut gradient = [0.0; 6];
        objective.evaluate(&yields, Some(&mut gradient)).unwrap();
        gradient
    };
    let empty = slopes([5.0, 2.0, 0.0, 50.0, 40.0, 0.0]);
    assert!(empty[2].abs() + empty[5].abs() < 1e-15, "{empty:?}");
    // The other slopes equal those of a model with almost nothing in that bin.
    let almost = slopes([5.0, 2.0, 0.0, 50.0, 40.0, 1e-12]);
    for index in [0, 1, 3, 4] {
        assert!((empty[index] - almost[index]).abs() < 1e-9, "{empty:?} {almost:?}");
    }
}
