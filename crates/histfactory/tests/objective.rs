//! Compares objectives with differences of refitted models.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]
#![expect(clippy::float_cmp, reason = "the same computation gives the same bits")]

use histfactory::derivative::Convention;
use histfactory::inference::Dataset;
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::synthetic::Twin;
use histfactory::workspace::Effect;
use histfactory::{Model, ModelOptions, Workspace};

const EVERY_MODIFIER: &[u8] = include_bytes!("data/every_modifier.json");

fn every_modifier() -> Workspace {
    Workspace::from_slice(EVERY_MODIFIER).unwrap()
}

fn compile(workspace: &Workspace) -> Model {
    Model::new(workspace, &ModelOptions::default()).unwrap()
}

/// All inputs that a sample's numbers can be addressed by.
fn inputs(workspace: &Workspace, wanted: impl Fn(&str) -> bool) -> Vec<Input> {
    let mut inputs = Vec::new();
    for channel in &workspace.channels {
        for sample in channel.samples.iter().filter(|sample| wanted(&sample.name)) {
            let (channel, sample_name) = (channel.name.clone(), sample.name.clone());
            inputs.push(Input::Nominal { channel: channel.clone(), sample: sample_name.clone() });
            for modifier in &sample.modifiers {
                let place = (channel.clone(), sample_name.clone(), modifier.name.clone());
                let (channel, sample, modifier_name) = place;
                let (c, s, m) = (channel.clone(), sample.clone(), modifier_name.clone());
                match &modifier.effect {
                    Effect::Histosys { .. } => {
                        inputs.push(Input::High { channel, sample, modifier: modifier_name });
                        inputs.push(Input::Low { channel: c, sample: s, modifier: m });
                    }
                    Effect::Shapesys(_) | Effect::Staterror(_) => {
                        inputs.push(Input::Uncertainty {
                            channel,
                            sample,
                            modifier: modifier_name,
                        });
                    }
                    _ => {}
                }
            }
        }
    }
    inputs
}

/// The derivative in one input, by differences of fourth order.
fn difference(objective: &Objective, x: &[f64], index: usize, step: f64) -> f64 {
    let h = step * x[index].abs().max(0.1);
    let at = |steps: f64| {
        let mut moved = x.to_vec();
        moved[index] += steps * h;
        objective.evaluate(&moved, None).unwrap()
    };
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
}

fn check(objective: &Objective, tolerance: f64, step: f64, every: usize) {
    let x = objective.current();
    let mut gradient = vec![0.0; objective.len()];
    let value = objective.evaluate(&x, Some(&mut gradient)).unwrap();
    assert_eq!(value, objective.evaluate(&x, None).unwrap());
    for index in (0..x.len()).step_by(every).filter(|index| x[*index] > 0.0) {
        let theirs = difference(objective, &x, index, step);
        let error = (gradient[index] - theirs).abs() / (1.0 + theirs.abs());
        assert!(
            error < tolerance,
            "{:?} {index}: {} {theirs}",
            objective.quantity(),
            gradient[index]
        );
    }
}

fn quantities() -> [Quantity; 6] {
    let [asimov, profiled] = [Dataset::default(), Dataset::ProfiledAsimov { mu: 1.0 }];
    [
        Quantity::Nll,
        Quantity::Q0 { dataset: Dataset::Observed },
        Quantity::Q0 { dataset: asimov },
        Quantity::Q0 { dataset: profiled },
        Quantity::Significance { dataset: asimov, smooth: 0.0 },
        Quantity::Significance { dataset: Dataset::Observed, smooth: 0.25 },
    ]
}

#[test]
fn an_objective_depends_on_every_input() {
    let workspace = every_modifier();
    let model = compile(&workspace);
    let inputs = inputs(&workspace, |_| true);
    for quantity in quantities() {
        for convention in [Convention::TemplatesFixed, Convention::TemplatesRide] {
            let objective = Objective::new(&model, quantity, &inputs, convention).unwrap();
            check(&objective, 1e-8, 2e-4, 1);
        }
    }
}

#[test]
fn templates_move_along_unless_they_are_inputs() {
    let workspace = every_modifier();
    let model = compile(&workspace);
    let all = inputs(&workspace, |_| true);
    let nominal: Vec<Input> =
        all.into_iter().filter(|input| matches!(input, Input::Nominal { .. })).collect();
    let gradient = |convention| {
        let quantity = Quantity::Q0 { dataset: Dataset::Observed };
        let objective = Objective::new(&model, quantity, &nominal, convention).unwrap();
        check(&objective, 1e-8, 2e-4, 1);
        let mut gradient = vec![0.0; objective.len()];
        objective.evaluate(&objective.current(), Some(&mut gradient)).unwrap();
        gradient
    };
    assert_ne!(gradient(Convention::TemplatesFixed), gradient(Convention::TemplatesRide));
}

#[test]
fn parameters_and_counts_are_inputs_of_the_likelihood() {
    let workspace = every_modifier();
    let model = compile(&workspace);
    let channel = workspace.channels[0].name.clone();
    let inputs = [Input::Parameters, Input::Counts { channel }];
    let objective = Objective::new(&model, Quantity::Nll, &inputs, Convention::default()).unwrap();
    assert_eq!(objective.ranges().len(), 2);
    check(&objective, 1e-8, 2e-4, 1);
    let q0 = Quantity::Q0 { dataset: Dataset::Observed };
    let refused = Objective::new(&model, q0, &inputs, Convention::default()).unwrap_err();
    assert!(refused.to_string().contains("profiled"), "{refused}");
    let counts = [inputs[1].clone()];
    check(&Objective::new(&model, q0, &counts, Convention::default()).unwrap(), 1e-8, 2e-4, 1);
}

#[test]
fn gradients_hold_on_the_twins() {
    for (twin, tolerance, every) in [(Twin::Small, 1e-8, 1), (Twin::Combination, 1e-7, 101)] {
        let workspace = twin.workspace(1);
        let model = compile(&workspace);
        let inputs = inputs(&workspace, |_| true);
        for quantity in quantities() {
            let objective =
                Objective::new(&model, quantity, &inputs, Convention::default()).unwrap();
            check(&objective, tolerance, 2e-4, every);
        }
    }
}

#[test]
fn the_default_loss_depends_on_the_size_of_the_signal() {
    let workspace = Twin::Small.workspace(1);
    let model = compile(&workspace);
    let signal: Vec<Input> = inputs(&workspace, |name| name == "signal")
        .into_iter()
        .filter(|input| matches!(input, Input::Nominal { .. }))
        .collect();
    let objective = |dataset| {
        Objective::new(&model, Quantity::Q0 { dataset }, &signal, Convention::TemplatesRide)
            .unwrap()
    };
    let at = |objective: &Objective, factor: f64| {
        let x: Vec<f64> = objective.current().iter().map(|value| value * factor).collect();
        let mut gradient = vec![0.0; x.len()];
        let q0 = objective.evaluate(&x, Some(&mut gradient)).unwrap();
        let in_factor: f64 = gradient.iter().zip(&x).map(|(slope, x)| slope * x / factor).sum();
        (q0, in_factor)
    };
    let asimov = objective(Dataset::default());
    let factors = [0.5, 1.0, 2.0, 3.0];
    let values: Vec<f64> = factors.iter().map(|factor| at(&asimov, *factor).0).collect();
    assert!(values.windows(2).all(|pair| pair[1] > 1.5 * pair[0]), "{values:?}");
    for factor in factors {
        let h = 1e-3;
        let theirs = (at(&asimov, factor + h).0 - at(&asimov, factor - h).0) / (2.0 * h);
        let ours = at(&asimov, factor).1;
        assert!(ours > 0.0 && (ours - theirs).abs() < 1e-4 * (1.0 + theirs), "{ours} {theirs}");
    }
}

#[test]
fn an_unknown_or_repeated_input_is_an_error() {
    let model = compile(&every_modifier());
    let signal = Input::Nominal { channel: "nowhere".into(), sample: "signal".into() };
    let made = Objective::new(&model, Quantity::Nll, &[signal], Convention::default());
    assert!(made.unwrap_err().to_string().contains("nowhere"));
    let twice = [Input::Parameters, Input::Parameters];
    let made = Objective::new(&model, Quantity::Nll, &twice, Convention::default());
    assert!(made.unwrap_err().to_string().contains("twice"));
}
