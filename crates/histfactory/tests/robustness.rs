//! For arbitrary workspaces: no panic, no NaN as a result, and laws that must hold.

use std::collections::BTreeMap;

use histfactory::inference::{InferenceError, LimitOptions, MissingLimit, WhyNoLimit};
use histfactory::synthetic::{Limits, any};
use histfactory::workspace::{Join, Pruning, Renaming};
use histfactory::{Data, FitOptions, Interpolation, Model, ModelOptions, Workspace};
use proptest::prelude::*;

fn workspaces() -> impl Strategy<Value = Workspace> {
    let limits = (1usize..4, 1usize..5, 1usize..4, 0usize..8, any_bool());
    (0u64..1_000_000, limits).prop_map(|(seed, (channels, bins, samples, modifiers, odd))| {
        any(seed, Limits { channels, bins, samples, modifiers, odd })
    })
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop_oneof![Just(false), Just(true)]
}

fn model(workspace: &Workspace) -> Model {
    Model::new(workspace, &ModelOptions::default()).expect("arbitrary workspaces compile")
}

/// A point inside the bounds, away from the start.
fn inside(model: &Model, wave: f64) -> Vec<f64> {
    let mut phase = wave;
    let shift = |parameter: histfactory::model::Parameter<'_>| {
        phase = (phase * 1.7 + 0.37) % 1.0;
        let [low, high] = parameter.bounds;
        let size = if parameter.init.abs() < 0.6 { 1.2 } else { 0.2 };
        let value = parameter.init + size * (phase - 0.47);
        if parameter.fixed { parameter.init } else { value.clamp(low, high) }
    };
    model.parameters().map(shift).collect()
}

/// To rounding; both may be infinite.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-12 * a.abs().max(1.0)
}

/// Two free factors of one product whose minimum is at zero have no separate curvature there, only a mixed
/// one.
#[test]
fn two_factors_of_a_product_can_vanish_together() {
    for (seed, mu) in [(40, 2.0), (49, 1.0), (49, 2.0), (58, 2.6), (114, 5.0)] {
        let model = model(&any(seed, Limits::default()));
        let poi = model.poi().unwrap();
        let held = |mu: f64| FitOptions::default().fixing(poi, mu);
        let background = model.fit(model.observed(), &held(0.0)).unwrap();
        let asimov = Data::new(&model, model.expected_data(&background.theta).unwrap()).unwrap();
        let free = model.fit(&asimov, &FitOptions::default()).unwrap();
        let starts = [model.init().to_vec(), free.theta, background.theta];
        for (data, start) in
            starts.iter().flat_map(|start| [(model.observed(), start), (&asimov, start)])
        {
            let fit = model.fit(data, &held(mu).from(start)).unwrap();
            assert!(fit.converged(), "{seed} at {mu}: {:?}, {:e}", fit.outcome, fit.kkt);
        }
    }
}

/// At large values of the parameter of interest, slopes are differences of large numbers, and no step reduces
/// them below their rounding. Such a point is a minimum, and bands that CLs does not reach have no limit.
#[test]
fn an_absorbed_signal_has_no_limit_and_its_fits_do_not_fail() {
    for seed in [32, 39, 54, 62, 101, 134] {
        let model = model(&any(seed, Limits::default()));
        match model.upper_limit(model.observed(), &LimitOptions::default()) {
            Err(InferenceError::NoLimit { .. }) => {}
            Ok(limit) => {
                assert!(!limit.missing.is_empty(), "seed {seed}");
                let levels_off =
                    |missing: &MissingLimit| matches!(missing.why, WhyNoLimit::LevelsOff { .. });
                assert!(limit.missing.iter().all(levels_off), "seed {seed}: {:?}", limit.missing);
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_workspace_survives_writing_and_reading(workspace in workspaces()) {
        prop_assert!(workspace.validate().is_ok());
        prop_assert_eq!(&workspace.to_json().parse::<Workspace>().unwrap(), &workspace);
    }

    #[test]
    fn the_likelihood_does_not_depend_on_the_order_of_the_file(workspace in workspaces(), wave in 0.0..1.0) {
        let (one, two) = (model(&workspace), model(&workspace.sorted()));
        prop_assert_eq!(one.parameter_names(), two.parameter_names());
        let theta = inside(&one, wave);
        let (a, b) = (one.nll(&theta, one.observed()), two.nll(&theta, two.observed()));
        prop_assert_eq!(a.is_ok(), b.is_ok());
        if let (Ok(a), Ok(b)) = (a, b) {
            prop_assert!(same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn the_gradient_matches_differences_of_the_value(workspace in workspaces(), wave in 0.0..1.0) {
        for interpolation in [Interpolation::default(), Interpolation::PIECEWISE] {
            let options = ModelOptions { interpolation, ..ModelOptions::default() };
            let model = Model::new(&workspace, &options).unwrap();
            let theta = inside(&model, wave);
            let Ok((value, gradient)) = model.nll_and_gradient(&theta, model.observed()) else { continue };
            prop_assert!(!value.is_nan());
            if !value.is_finite() { continue }
            for index in 0..theta.len() {
                // A step across a kink of an interpolation is skipped, because no derivative exists there.
                if theta[index].abs() < 1e-3 || (theta[index].abs() - 1.0).abs() < 1e-3 { continue }
                let at = |step: f64| {
                    let mut moved = theta.clone();
                    moved[index] += step;
                    model.nll(&moved, model.observed())
                };
                let h = 1e-5 * theta[index].abs().max(0.1);
                let (Ok(up), Ok(down)) = (at(h), at(-h)) else { continue };
                if !(up.is_finite() && down.is_finite()) { continue }
                let slope = (up - down) / (2.0 * h);
                let error = (slope - gradient[index]).abs();
                let scale = 1.0 + slope.abs() + value.abs() * 1e-2;
                prop_assert!(error <= 2e-5 * scale, "{}: {slope} {}", model.parameter_names()[index], gradient[index]);
            }
        }
    }

    #[test]
    fn a_fit_ends_with_numbers_and_reports_whether_it_converged(workspace in workspaces()) {
        let model = model(&workspace);
        let Ok(fit) = model.fit(model.observed(), &FitOptions::default().with_covariance()) else { return Ok(()) };
        prop_assert!(fit.nll.is_finite());
        prop_assert!(fit.theta.iter().all(|value| value.is_finite()));
        for (value, [low, high]) in fit.theta.iter().zip(model.bounds()) {
            prop_assert!((low..=high).contains(&value));
        }
        prop_assert!(!fit.kkt.is_nan() && !fit.edm.is_nan());
        prop_assert_eq!(fit.converged(), fit.outcome.complaint().is_none());
        if let Ok(start) = model.nll(model.init(), model.observed()) {
            prop_assert!(fit.nll <= start + 1e-9 * start.abs().max(1.0));
        }
    }

    #[test]
    fn renaming_forth_and_back_changes_nothing(workspace in workspaces()) {
        let channels = |from: &str, to: &str| -> BTreeMap<String, String> {
            let names = workspace.channels.iter().map(|channel| channel.name.clone());
            names.map(|name| (format!("{from}{name}"), format!("{to}{name}"))).collect()
        };
        let forth = Renaming { channels: channels("", "new_"), ..Renaming::default() };
        let back = Renaming { channels: channels("new_", ""), ..Renaming::default() };
        prop_assert_eq!(workspace.rename(&forth).unwrap().rename(&back).unwrap(), workspace);
    }

    #[test]
    fn combining_pruned_parts_gives_the_same_likelihood(workspace in workspaces(), wave in 0.0..1.0) {
        let names: Vec<String> = workspace.channels.iter().map(|channel| channel.name.clone()).collect();
        if names.len() < 2 { return Ok(()) }
        let without = |channels: &[String]| {
            workspace.prune(&Pruning { channels: channels.to_vec(), ..Pruning::default() })
        };
        let (Ok(first), Ok(rest)) = (without(&names[1..]), without(&names[..1])) else { return Ok(()) };
        let both = Workspace::combine(&first, &rest, Join::Outer, false).unwrap();
        let (one, two) = (model(&workspace), model(&both));
        let theta = inside(&one, wave);
        if let (Ok(a), Ok(b)) = (one.nll(&theta, one.observed()), two.nll(&theta, two.observed())) {
            prop_assert!(same(a, b), "{a} {b}");
        }
    }
}
