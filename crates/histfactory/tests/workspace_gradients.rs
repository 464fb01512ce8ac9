//! Compares derivatives in the numbers of a workspace with differences of refitted, recompiled models.

#![expect(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails where it stands")]

use histfactory::derivative::{Convention, Following};
use histfactory::inference::Dataset;
use histfactory::model::YieldChange;
use histfactory::workspace::Effect;
use histfactory::{Model, ModelOptions, Workspace};

const EVERY_MODIFIER: &[u8] = include_bytes!("data/every_modifier.json");

fn workspace() -> Workspace {
    Workspace::from_slice(EVERY_MODIFIER).unwrap()
}

fn compile(workspace: &Workspace) -> Model {
    Model::new(workspace, &ModelOptions::default()).unwrap()
}

/// The derivative of a function of one number of the workspace, by differences of fourth order.
fn difference(value: f64, mut function: impl FnMut(f64) -> f64) -> f64 {
    let h = 2e-4 * value.abs().max(0.1);
    let mut at = |steps: f64| function(value + steps * h);
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
}

const DATASETS: [Dataset; 3] =
    [Dataset::Observed, Dataset::Asimov { mu: 1.0 }, Dataset::ProfiledAsimov { mu: 1.0 }];

/// q₀ of a workspace after one change.
fn q0(dataset: Dataset, change: impl FnOnce(&mut Workspace)) -> f64 {
    let mut workspace = workspace();
    change(&mut workspace);
    compile(&workspace).significance(dataset).unwrap().q0
}

#[test]
fn q0_depends_on_every_number_of_the_workspace() {
    let original = workspace();
    let model = compile(&original);
    for dataset in DATASETS {
        let found = model.significance_with_gradient(dataset, Convention::TemplatesFixed).unwrap();
        assert!(found.q0 > 0.5);
        let gradient = found.gradient.unwrap();
        assert!(gradient.error < 1e-8, "{}", gradient.error);
        let check = |place: String, ours: f64, value: f64, set: &dyn Fn(&mut Workspace, f64)| {
            let theirs = difference(value, |value| q0(dataset, |workspace| set(workspace, value)));
            let error = (ours - theirs).abs() / (1.0 + theirs.abs());
            assert!(error < 1e-8, "{dataset:?} {place}: {ours} {theirs}");
        };
        for (c, channel) in original.channels.iter().enumerate() {
            for (s, sample) in channel.samples.iter().enumerate() {
                let place = format!("{} {}", channel.name, sample.name);
                let nominal = gradient.q0.nominal(&channel.name, &sample.name).unwrap();
                for (bin, value) in
                    sample.data.iter().enumerate().filter(|(_, value)| **value > 0.0)
                {
                    check(format!("{place} {bin}"), nominal[bin], *value, &|workspace, value| {
                        workspace.channels[c].samples[s].data[bin] = value;
                    });
                }
                for (m, modifier) in sample.modifiers.iter().enumerate() {
                    let place = format!("{place} {}", modifier.name);
                    match &modifier.effect {
                        Effect::Histosys { hi, lo } => {
                            let [of_hi, of_lo] = gradient
                                .q0
                                .histosys(&channel.name, &sample.name, &modifier.name)
                                .unwrap();
                            for bin in 0..hi.len() {
                                check(place.clone(), of_hi[bin], hi[bin], &|workspace, value| {
                                    let effect =
                                        &mut workspace.channels[c].samples[s].modifiers[m].effect;
                                    if let Effect::Histosys { hi, .. } = effect {
                                        hi[bin] = value;
                                    }
                                });
                                check(place.clone(), of_lo[bin], lo[bin], &|workspace, value| {
                                    let effect =
                                        &mut workspace.channels[c].samples[s].modifiers[m].effect;
                                    if let Effect::Histosys { lo, .. } = effect {
                                        lo[bin] = value;
                                    }
                                });
                            }
                        }
                        Effect::Normsys { hi, lo } => {
                            let [of_hi, of_lo] = gradient
                                .q0
                                .normsys(&channel.name, &sample.name, &modifier.name)
                                .unwrap();
                            check(place.clone(), of_hi, *hi, &|workspace, value| {
                                let effect =
                                    &mut workspace.channels[c].samples[s].modifiers[m].effect;
                                if let Effect::Normsys { hi, .. } = effect {
                                    *hi = value;
                                }
                            });
                            check(place.clone(), of_lo, *lo, &|workspace, value| {
                                let effect =
                                    &mut workspace.channels[c].samples[s].modifiers[m].effect;
                                if let Effect::Normsys { lo, .. } = effect {
                                    *lo = value;
                                }
                            });
                        }
                        Effect::Shapesys(values) | Effect::Staterror(values) => {
                            let ours = gradient
                                .q0
                                .uncertainties(&channel.name, &sample.name, &modifier.name)
                                .unwrap();
                            for (bin, value) in values.iter().enumerate() {
                                check(place.clone(), ours[bin], *value, &|workspace, value| {
                                    let effect =
                                        &mut workspace.channels[c].samples[s].modifiers[m].effect;
                                    if let Effect::Shapesys(values) | Effect::Staterror(values) =
                                        effect
                                    {
                                        values[bin] = value;
                                    }
                                });
                            }
                        }
                        Effect::Lumi | Effect::Normfactor | Effect::Shapefactor => {}
                    }
                }
            }
        }
    }
}

#[test]
fn templates_move_along_if_requested() {
    let original = workspace();
    let model = compile(&original);
    let found =
        model.significance_with_gradient(Dataset::Observed, Convention::TemplatesRide).unwrap();
    let gradient = found.gradient.unwrap();
    let ours = gradient.q0.nominal("SR", "ttbar").unwrap();
    for bin in 0..3 {
        let theirs = difference(original.channels[0].samples[1].data[bin], |value| {
            q0(Dataset::Observed, |workspace| {
                let sample = &mut workspace.channels[0].samples[1];
                let shift = value - sample.data[bin];
                sample.data[bin] = value;
                for modifier in &mut sample.modifiers {
                    if let Effect::Histosys { hi, lo } = &mut modifier.effect {
                        hi[bin] += shift;
                        lo[bin] += shift;
                    }
                }
            })
        });
        assert!((ours[bin] - theirs).abs() < 1e-8, "{bin}: {} {theirs}", ours[bin]);
    }
}

#[test]
fn other_yields_equal_the_model_of_a_changed_workspace() {
    let mut changed = workspace();
    let model = compile(&changed);
    let sample = &mut changed.channels[0].samples[1];
    sample.data = vec![50.0, 44.0, 20.0];
    for modifier in &mut sample.modifiers {
        match &mut modifier.effect {
            Effect::Staterror(values) => *values = vec![3.0, 3.3, 2.0],
            Effect::Histosys { hi, lo } => {
                *hi = vec![57.0, 45.0, 19.0];
                *lo = vec![47.0, 43.0, 21.0];
            }
            _ => {}
        }
    }
    changed.channels[0].samples[2].data = vec![10.0, 0.0, 2.0];
    let rebuilt = compile(&changed);
    let edits = [
        YieldChange {
            channel: "SR".into(),
            sample: "ttbar".into(),
            nominal: Some(vec![50.0, 44.0, 20.0]),
            templates: vec![("ttbar_shape".into(), vec![57.0, 45.0, 19.0], vec![47.0, 43.0, 21.0])],
            uncertainties: vec![("stat_SR".into(), vec![3.0, 3.3, 2.0])],
        },
        YieldChange {
            channel: "SR".into(),
            sample: "fakes".into(),
            nominal: Some(vec![10.0, 0.0, 2.0]),
            ..YieldChange::default()
        },
    ];
    let moved = model.with_yields(&edits).unwrap();
    assert_eq!(moved.fixed(), rebuilt.fixed());
    assert_eq!(moved.observed(), rebuilt.observed());
    let theta: Vec<f64> = moved.init().iter().map(|value| value + 0.1).collect();
    let (ours, gradient) = moved.nll_and_gradient(&theta, moved.observed()).unwrap();
    let (theirs, expected) = rebuilt.nll_and_gradient(&theta, rebuilt.observed()).unwrap();
    assert_eq!(ours, theirs);
    assert_eq!(gradient, expected);
    let again = [YieldChange { sample: "nothing".into(), ..edits[0].clone() }];
    let error = model.with_yields(&again).unwrap_err().to_string();
    assert_eq!(error, "there is no sample `nothing`");
}

#[test]
fn the_fast_yield_gradient_equals_the_full_one() {
    let model = compile(&workspace());
    let theta: Vec<f64> = model
        .init()
        .iter()
        .enumerate()
        .map(|(index, value)| value + 0.3 * f64::from(u8::try_from(index % 5).unwrap()) - 0.5)
        .collect();
    for convention in [Convention::TemplatesFixed, Convention::TemplatesRide] {
        let full = model
            .workspace_gradient(&theta, model.observed(), convention, Following::Nothing)
            .unwrap();
        let mut yields = Vec::new();
        let mut evaluator = model.evaluator(model.observed());
        evaluator.nll_and_yield_gradient(&theta, convention, &mut yields).unwrap();
        for (fast, slow) in yields.iter().zip(full.yields()) {
            assert!((fast - slow).abs() < 1e-12 * (1.0 + slow.abs()), "{fast} {slow}");
        }
        assert_eq!(yields.len(), full.yields().len());
    }
}

/// Compares second derivatives in a parameter and a yield with differences of first ones.
#[test]
fn mixed_derivatives_match_differences_of_gradients() {
    let model = compile(&workspace());
    let theta: Vec<f64> = model.init().iter().map(|value| value + 0.07).collect();
    let count = model.parameter_count();
    let direction: Vec<f64> =
        (0..count).map(|index| 1.0 - 0.1 * f64::from(u8::try_from(index).unwrap())).collect();
    let at = |step: f64| {
        let theta: Vec<f64> =
            theta.iter().zip(&direction).map(|(value, along)| value + step * along).collect();
        model
            .workspace_gradient(
                &theta,
                model.observed(),
                Convention::TemplatesFixed,
                Following::Auxiliary,
            )
            .unwrap()
    };
    let h = 1e-5;
    let mut slope = at(h).scaled(0.5 / h);
    slope.add_scaled(-0.5 / h, &at(-h));
    let mut along = model
        .workspace_gradient_along(
            &theta,
            &direction,
            model.observed(),
            Convention::TemplatesFixed,
            Following::Auxiliary,
        )
        .unwrap();
    let size = along.largest();
    assert!(size > 0.1);
    along.add_scaled(-1.0, &slope);
    assert!(along.largest() < 1e-7 * size, "{}", along.largest());
}
