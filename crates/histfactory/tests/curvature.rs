//! Compares second derivatives of objectives with differences of first ones, and quantities found by the
//! implicit function theorem with the results of inference.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]
#![expect(clippy::float_cmp, reason = "the same computation gives the same bits")]

use histfactory::derivative::Convention;
use histfactory::inference::{Dataset, LimitOptions};
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::synthetic::Twin;
use histfactory::workspace::Effect;
use histfactory::{FitOptions, Model, ModelOptions, Workspace};

const EVERY_MODIFIER: &[u8] = include_bytes!("data/every_modifier.json");
const TWO_BINS: &[u8] = include_bytes!("data/two_bins.json");

const OBSERVED: Dataset = Dataset::Observed;
const ASIMOV: Dataset = Dataset::Asimov { mu: 1.0 };
const PROFILED: Dataset = Dataset::ProfiledAsimov { mu: 1.0 };
const BACKGROUND: Dataset = Dataset::Asimov { mu: 0.0 };
const PROFILED_BACKGROUND: Dataset = Dataset::ProfiledAsimov { mu: 0.0 };

fn compile(workspace: &Workspace) -> Model {
    Model::new(workspace, &ModelOptions::default()).unwrap()
}

/// All yields, templates and uncertainties.
fn inputs(workspace: &Workspace) -> Vec<Input> {
    let mut inputs = Vec::new();
    for channel in &workspace.channels {
        for sample in &channel.samples {
            let place = || (channel.name.clone(), sample.name.clone());
            let (c, s) = place();
            inputs.push(Input::Nominal { channel: c, sample: s });
            for modifier in &sample.modifiers {
                let ((channel, sample), modifier_name) = (place(), modifier.name.clone());
                match &modifier.effect {
                    Effect::Histosys { .. } => {
                        let (c, s) = place();
                        let modifier = modifier_name.clone();
                        inputs.push(Input::High { channel: c, sample: s, modifier });
                        inputs.push(Input::Low { channel, sample, modifier: modifier_name });
                    }
                    Effect::Shapesys(_) | Effect::Staterror(_) => {
                        let modifier = modifier_name;
                        inputs.push(Input::Uncertainty { channel, sample, modifier });
                    }
                    _ => {}
                }
            }
        }
    }
    inputs
}

fn gradient_at(objective: &Objective, x: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; x.len()];
    let value = objective.evaluate(x, Some(&mut gradient)).unwrap();
    (value, gradient)
}

/// A direction that moves every input by a different fraction of its size.
fn direction(x: &[f64]) -> Vec<f64> {
    let share = |index: u32| f64::from((index * 37 + 11) % 17) / 17.0 - 0.4;
    x.iter().zip(0_u32..).map(|(x, index)| share(index) * x).collect()
}

/// Differences of fourth order along a direction.
fn difference(step: f64, mut at: impl FnMut(f64) -> Vec<f64>) -> Vec<f64> {
    let [one, back, two, twice_back] = [1.0, -1.0, 2.0, -2.0].map(|steps| at(steps * step));
    (0..one.len())
        .map(|i| (8.0 * (one[i] - back[i]) - (two[i] - twice_back[i])) / (12.0 * step))
        .collect()
}

fn check(objective: &Objective, tolerance: f64, step: f64) {
    let x = objective.current();
    let along = direction(&x);
    let moved = |steps: f64| -> Vec<f64> {
        x.iter().zip(&along).map(|(x, along)| x + steps * along).collect()
    };
    let (mut gradient, mut change) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let value = objective.evaluate_along(&x, &along, &mut gradient, &mut change).unwrap();
    let (again, first) = gradient_at(objective, &x);
    let what = objective.quantity();
    assert_eq!(value, again, "{what:?}");
    let size = first.iter().fold(1.0_f64, |size, slope| size.max(slope.abs()));
    for (one, two) in gradient.iter().zip(&first) {
        assert!((one - two).abs() <= 1e-12 * size, "{what:?}: {one} {two}");
    }
    let theirs = difference(step, |steps| vec![gradient_at(objective, &moved(steps)).0]);
    let ours: f64 = first.iter().zip(&along).map(|(slope, along)| slope * along).sum();
    let error = (ours - theirs[0]).abs() / (1.0 + theirs[0].abs());
    assert!(error < tolerance, "{what:?} first: {ours} {}", theirs[0]);
    let theirs = difference(step, |steps| gradient_at(objective, &moved(steps)).1);
    let size = theirs.iter().fold(1.0_f64, |size, slope| size.max(slope.abs()));
    for (index, (ours, theirs)) in change.iter().zip(&theirs).enumerate() {
        let error = (ours - theirs).abs() / size;
        assert!(error < tolerance, "{what:?} second, {index}: {ours} {theirs}");
    }
}

fn quantities() -> Vec<Quantity> {
    let mut all = vec![
        Quantity::Nll,
        Quantity::Significance { dataset: ASIMOV, smooth: 0.0 },
        Quantity::Significance { dataset: OBSERVED, smooth: 0.1 },
    ];
    for dataset in [OBSERVED, ASIMOV, PROFILED] {
        all.push(Quantity::Q0 { dataset });
        all.push(Quantity::Width { dataset });
    }
    for dataset in [OBSERVED, BACKGROUND, PROFILED_BACKGROUND] {
        all.push(Quantity::UpperLimit { dataset, level: 0.05 });
    }
    all
}

#[test]
fn second_derivatives_match_differences_of_the_first() {
    let workspace = Workspace::from_slice(EVERY_MODIFIER).unwrap();
    let model = compile(&workspace);
    let inputs = inputs(&workspace);
    for quantity in quantities() {
        for convention in [Convention::TemplatesFixed, Convention::TemplatesRide] {
            let objective = Objective::new(&model, quantity, &inputs, convention).unwrap();
            check(&objective, 1e-7, 1e-3);
        }
    }
}

#[test]
fn second_derivatives_hold_on_the_twins() {
    for (twin, tolerance) in [(Twin::Small, 1e-7), (Twin::Combination, 1e-6)] {
        let workspace = twin.workspace(1);
        let model = compile(&workspace);
        let inputs = inputs(&workspace);
        for quantity in quantities() {
            let objective =
                Objective::new(&model, quantity, &inputs, Convention::default()).unwrap();
            check(&objective, tolerance, 1e-4);
        }
    }
}

#[test]
fn parameters_have_second_derivatives_too() {
    let workspace = Workspace::from_slice(EVERY_MODIFIER).unwrap();
    let model = compile(&workspace);
    let mut all = inputs(&workspace);
    all.push(Input::Parameters);
    all.push(Input::Counts { channel: workspace.channels[0].name.clone() });
    let objective = Objective::new(&model, Quantity::Nll, &all, Convention::default()).unwrap();
    check(&objective, 1e-7, 1e-3);
}

#[test]
fn a_limit_as_an_objective_equals_that_of_inference() {
    for json in [EVERY_MODIFIER, TWO_BINS] {
        let workspace = Workspace::from_slice(json).unwrap();
        let model = compile(&workspace);
        let inputs = inputs(&workspace);
        let limit = |dataset| {
            let quantity = Quantity::UpperLimit { dataset, level: 0.05 };
            let objective =
                Objective::new(&model, quantity, &inputs, Convention::default()).unwrap();
            objective.evaluate(&objective.current(), None).unwrap()
        };
        let options = LimitOptions { tolerance: 1e-11, ..LimitOptions::default() };
        let found = model.upper_limit(model.observed(), &options).unwrap();
        assert!((limit(OBSERVED) / found.observed - 1.0).abs() < 1e-9);
        assert!((limit(PROFILED_BACKGROUND) / found.expected[2] - 1.0).abs() < 1e-9);
        let mut theta = model.init().to_vec();
        theta[model.poi().unwrap()] = 0.0;
        let asimov = model.asimov(&theta).unwrap();
        let of_asimov = model.upper_limit(&asimov, &options).unwrap();
        assert!((limit(BACKGROUND) / of_asimov.expected[2] - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_width_as_an_objective_equals_that_of_the_fit() {
    let workspace = Workspace::from_slice(EVERY_MODIFIER).unwrap();
    let model = compile(&workspace);
    let poi = model.poi().unwrap();
    let quantity = Quantity::Width { dataset: OBSERVED };
    let inputs = inputs(&workspace);
    let objective = Objective::new(&model, quantity, &inputs, Convention::default()).unwrap();
    let width = objective.evaluate(&objective.current(), None).unwrap();
    let fit = model.fit(model.observed(), &FitOptions::default().with_covariance()).unwrap();
    assert!((width / fit.covariance.unwrap().sigma(poi) - 1.0).abs() < 1e-10);
}

#[test]
fn an_expected_limit_requires_background_alone() {
    let workspace = Workspace::from_slice(TWO_BINS).unwrap();
    let model = compile(&workspace);
    let quantity = Quantity::UpperLimit { dataset: ASIMOV, level: 0.05 };
    let objective =
        Objective::new(&model, quantity, &inputs(&workspace), Convention::default()).unwrap();
    let refused = objective.evaluate(&objective.current(), None).unwrap_err();
    assert!(refused.to_string().contains("expected limit"), "{refused}");
}
